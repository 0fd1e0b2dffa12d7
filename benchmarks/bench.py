"""One table, from one run on one machine: this pipeline compared with tshark, tcpflow, scapy and Spark's own floor.

Every tool reads the same captures of two sizes, in turn, so that other load on the machine affects all. The slope
between the sizes is the speed beyond fixed costs: starting Spark, a session, creating twenty tables.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks import cold
from benchmarks.generate import PROFILES, Made, generate
from benchmarks.measure import CommandFailedError, Run, run, slope

SCAPY_MEGABYTES = 14
MEGA = 1_000_000


@dataclass
class Tool:
    """One row of the table: how to run it on a capture, and the seconds and peaks measured, by capture size."""

    name: str
    measure: Callable[[Made, Path], Run]
    largest: int | None = None
    seconds: dict[int, list[float]] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    failure: str = ""

    def take(self, size: int, made: Made, scratch: Path) -> None:
        """Run once and keep the outcome; a failure is kept as text and excludes the tool from further runs."""
        if self.failure:
            return
        folder = scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            done = self.measure(made, folder)
        except (CommandFailedError, FileNotFoundError) as error:
            self.failure = str(error).splitlines()[-1]
            return
        self.seconds.setdefault(size, []).append(done.seconds)
        self.peaks[size] = max(self.peaks.get(size, 0), done.peak_octets)


def tshark(made: Made, folder: Path) -> Run:
    """Every segment's stream, time and payload, as text, to /dev/null."""
    return run(cold.tshark(made.path))


def tcpflow(made: Made, folder: Path) -> Run:
    """Both directions of every connection, each into a file of its own."""
    return run(["tcpflow", "-q", "-r", str(made.path), "-o", str(folder)])


def scapy(made: Made, folder: Path) -> Run:
    """Reassembly by scapy's TCPSession."""
    return run([sys.executable, "-m", "benchmarks.scapy_sessions", str(made.path)])


def floor(made: Made, folder: Path) -> Run:
    """Spark moves the payload octets into Delta; the seconds are those of the third write of one session."""
    row = str(max(1, made.payload_octets // made.packets))
    command = [sys.executable, "-m", "benchmarks.floor", str(made.path), str(folder)]
    done = run([*command, "--octets", str(made.payload_octets), "--row-octets", row], keep_output=True)
    return Run(json.loads(done.output.splitlines()[-1])["seconds"], done.cpu_seconds, done.peak_octets, "")


class Pipeline:
    """`stompcap run` into a new lake, as a user starts it; keeps the stages of its summary."""

    def __init__(self) -> None:
        self.stages: dict[str, list[dict[str, float]]] = {}

    def __call__(self, made: Made, folder: Path) -> Run:
        """Run it once, from the start of Python to its end."""
        program = Path(sys.executable).with_name("stompcap")
        done = run([str(program), "run", str(made.path), "--lake", str(folder / "lake"), "--json"], keep_output=True)
        summary = json.loads(done.output)
        worked = {s["name"]: s["seconds"] for s in summary["stages"] if s["name"] != "start"}
        self.stages.setdefault(made.path.name, []).append(worked)
        return done

    def inside(self, made: Made, stage: str | None = None) -> float:
        """Median seconds within the stages (or one of them): the run without the start of Python and Spark."""
        runs = self.stages.get(made.path.name, [])
        return median([sum(r.values()) if stage is None else r.get(stage, 0.0) for r in runs]) if runs else 0.0


def compare(sizes: list[int], repeats: int, profile: str, scratch: Path, console: Console) -> None:
    """Make the captures, run every tool on each, print the table."""
    made = {size: generate(scratch / f"{size}.pcap", size, profile) for size in sizes}
    for capture in made.values():
        console.print(
            f"{capture.path.name}: {capture.octets / MEGA:.0f} MB, {capture.packets:,} packets, "
            f"{capture.frames:,} frames, {capture.payload_octets / MEGA:.0f} MB of payload",
            highlight=False,
        )
    pipeline = Pipeline()
    tools = [
        Tool("stompcap run, from start to end", pipeline),
        Tool("floor: Spark writes the payload to Delta, warm", floor),
        Tool("tshark -T fields, stream, time, payload", tshark),
        Tool("tcpflow to files", tcpflow),
    ]
    for repeat in range(repeats):
        for size in sizes:
            for tool in tools:
                console.print(
                    f"  {repeat + 1}/{repeats}  {made[size].path.name}  {tool.name}", style="dim", highlight=False
                )
                tool.take(size, made[size], scratch)
    part = generate(scratch / "part.pcap", SCAPY_MEGABYTES, profile)
    slow = Tool("scapy TCPSession", scapy)
    console.print(f"  1/1  {part.octets / MEGA:.0f} MB  {slow.name}", style="dim", highlight=False)
    slow.take(0, part, scratch)
    console.print(table(tools, slow, part, pipeline, made))
    for tool in [*tools, slow]:
        if tool.failure:
            console.print(f"{tool.name}: not measured: {tool.failure}", highlight=False)


def table(tools: list[Tool], slow: Tool, part: Made, pipeline: Pipeline, made: dict[int, Made]) -> Table:
    """The table of all measurements."""
    octets = {size: capture.octets for size, capture in made.items()}
    medians = {tool.name: {size: median(all_) for size, all_ in tool.seconds.items()} for tool in tools}
    rows: list[tuple[str, dict[int, float], dict[int, int]]] = []
    for tool in tools:
        rows.append((tool.name, medians[tool.name], tool.peaks))
        if isinstance(tool.measure, Pipeline):
            stages = next(iter(pipeline.stages.values()), [{}])[0]
            if not stages:
                continue
            rows.append(("  its stages, Spark's start apart", {s: pipeline.inside(m) for s, m in made.items()}, {}))
            rows += [(f"    {stage}", {s: pipeline.inside(m, stage) for s, m in made.items()}, {}) for stage in stages]
    reference = slope(medians[next(tool.name for tool in tools if tool.measure is tshark)], octets)
    shown = Table(caption=f"medians; {os.cpu_count()} cores; slope = octets per second beyond fixed costs")
    shown.add_column("")
    for capture in made.values():
        shown.add_column(f"{capture.octets / MEGA:.0f} MB, s", justify="right")
        shown.add_column("peak, GB", justify="right")
    shown.add_column("slope, MB/s", justify="right")
    shown.add_column("to tshark's", justify="right")
    for name, seconds, peaks in rows:
        cells = []
        for size in made:
            cells += [
                f"{seconds[size]:.1f}" if size in seconds else "-",
                f"{peaks[size] / 1e9:.1f}" if size in peaks else "",
            ]
        speed = slope(seconds, octets)
        cells.append(f"{speed / MEGA:.0f}" if speed else "-")
        cells.append(f"{speed / reference:.1f}" if speed and reference else "-")
        shown.add_row(name, *cells)
    if slow.seconds:
        per_octet = median(slow.seconds[0]) / part.octets
        cells = [cell for capture in made.values() for cell in (f"({per_octet * capture.octets:.0f})", "")]
        ratio = f"{1 / per_octet / reference:.2f}" if reference else "-"
        note = f"{slow.name}, scaled from {part.octets / MEGA:.0f} MB"
        shown.add_row(note, *cells, f"{1 / per_octet / MEGA:.1f}", ratio)
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=main.__doc__)
    parser.add_argument("--sizes", default=os.environ.get("BENCH_SIZES", "100,350"), help="megabytes, comma-separated")
    parser.add_argument("--recorded", default="350,1400", help="megabytes of recorded traffic for whole runs, comma-separated")
    parser.add_argument("--short", type=int, default=150, help="megabytes of short connections for whole runs; 0 for none")
    parser.add_argument("--deliveries", type=int, default=310_000, help="deliveries of one connection for whole runs; 0 for none")
    parser.add_argument("--repeats", type=int, default=int(os.environ.get("BENCH_REPEATS", "3")))
    parser.add_argument("--profile", choices=PROFILES, default="mixed")
    parser.add_argument("--scratch", type=Path, help="a folder for captures and lakes; default: a temporary one")
    wanted = parser.parse_args()
    sizes, recorded = (sorted({int(size) for size in given.split(",") if size}) for given in (wanted.sizes, wanted.recorded))
    console = Console(width=max(150, Console().width))
    with tempfile.TemporaryDirectory(dir=wanted.scratch, prefix="stompcap-bench-") as scratch:
        if sizes:
            compare(sizes, wanted.repeats, wanted.profile, Path(scratch), console)
        cold.compare(cold.Sizes(recorded, wanted.short, wanted.deliveries), wanted.repeats, Path(scratch), console)


if __name__ == "__main__":
    main()
