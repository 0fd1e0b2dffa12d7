"""What a run takes of a machine or a cluster, by the size of its capture: the rates that docs/sizing.md reckons with.

Each capture is run whole, into a new lake, with each master named; what two sizes differ by is the cost of a gigabyte, what is left of the
smaller one is fixed. CPU seconds, memory and the shuffle are those of all processes together.

    python -m benchmarks.sizing --master local[1] --master local[2] SMALL.pcap LARGE.pcap
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import CommandFailedError, run

GIGA = 1_000_000_000


@dataclass(frozen=True)
class Taken:
    """What one run took: seconds by the clock, in all and in stage extract, else octets where no unit is named."""

    captured: int
    frames: int
    seconds: float
    extract_seconds: float
    cpu_seconds: float
    memory: int
    """The most anonymous memory of all processes at one time; a page that several share counts once."""
    shuffled: int
    spilled: int
    lake: int
    files: int
    """Data files of the lake, after one run."""
    tables: Mapping[str, int]


def taken(capture: Path, master: str) -> Taken:
    """Run a capture into a new lake."""
    with tempfile.TemporaryDirectory() as scratch:
        lake, events = Path(scratch) / "lake", Path(scratch) / "events"
        events.mkdir()
        command = [sys.executable, "-m", "stompcap", "run", str(capture), "--lake", str(lake), "--master", master, "--json"]
        conf = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), "spark.eventLog.compress": "false"}
        words = (word for name, value in conf.items() for word in ("--conf", f"{name}={value}"))
        done = run([*command, *words], keep_output=True)
        summary = json.loads(done.output)
        tables = sizes(lake)
        tasks = list(finished(events))
        return Taken(
            capture.stat().st_size, summary["rows"].get("frames", 0), done.seconds,
            sum(one["seconds"] for one in summary["stages"] if one["name"] == "extract"), done.cpu_seconds, done.peak_octets,
            sum(int(one["Shuffle Write Metrics"]["Shuffle Bytes Written"]) for one in tasks),
            sum(int(one["Disk Bytes Spilled"]) for one in tasks),
            sum(size for size, _ in tables.values()), sum(files for _, files in tables.values()),
            {name: size for name, (size, _) in tables.items()},
        )  # fmt: skip


def sizes(lake: Path) -> dict[str, tuple[int, int]]:
    """Octets and number of the data files of each table; everything else of the lake is under its own folder's name."""
    octets, files = Counter[str](), Counter[str]()
    for path in lake.rglob("*"):
        if path.is_file():
            parts = path.relative_to(lake).parts
            name = parts[0] if "_delta_log" not in parts else "_delta_log"
            octets[name] += path.stat().st_size
            files[name] += name == parts[0] and path.suffix == ".parquet"
    return {name: (octets[name], files[name]) for name in octets}


def finished(events: Path) -> Iterator[dict[str, Any]]:
    """The metrics of all tasks, from Spark's event logs."""
    for path in (*events.rglob("events_*"), *events.glob("app-*"), *events.glob("local-*")):
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                    yield event["Task Metrics"]


ROWS = {
    "seconds": "s", "extract_seconds": "s", "cpu_seconds": "s", "memory": "MB", "shuffled": "MB", "spilled": "MB", "lake": "MB",
    "files": "",
}  # fmt: skip


def shown(master: str, runs: Sequence[Taken]) -> Table:
    """The runs of one master, and what a gigabyte costs between two sizes."""
    table = Table(title=f"{master}: captures of {', '.join(f'{one.captured / 1e6:,.0f} MB, {one.frames:,} frames' for one in runs)}")
    for column in ("", *(f"{one.captured / 1e6:,.0f} MB" for one in runs), *(["a further GB"] * (len(runs) - 1))):
        table.add_column(column, justify="right")
    for name, unit in ROWS.items():
        scale = 1e6 if unit == "MB" else 1
        values = [getattr(one, name) / scale for one in runs]
        slopes = [
            (two - one) / (second.captured - first.captured) * GIGA
            for (one, two), (first, second) in zip(pairwise(values), pairwise(runs), strict=True)
        ]
        table.add_row(f"{name} {unit}".replace("_", " "), *(f"{value:,.1f}" for value in (*values, *slopes)))
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="+", help="of one mix, in order of size")
    parser.add_argument("--master", action="append", help="of Spark; repeatable (default: local[*])")
    parser.add_argument("--json", type=Path, help="write what was measured there as well")
    wanted = parser.parse_args()
    console, found = Console(width=130), dict[str, list[Taken]]()
    for master in wanted.master or ["local[*]"]:
        try:
            runs = found[master] = [taken(capture, master) for capture in wanted.captures]
        except CommandFailedError as error:
            raise SystemExit(str(error)) from None
        console.print(shown(master, runs))
        largest = sorted(runs[-1].tables.items(), key=lambda one: -one[1])[:12]
        console.print("MB of the lake: " + ", ".join(f"{name} {size / 1e6:,.1f}" for name, size in largest))
    if wanted.json:
        wanted.json.write_text(json.dumps({master: [vars(one) for one in runs] for master, runs in found.items()}, indent=1))


if __name__ == "__main__":
    main()
