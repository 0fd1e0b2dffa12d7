"""Start-up times: runs on a tiny input, on a large one, and again with nothing new, compared with bare Spark and tshark.

All in turn, so that other load on the machine affects all; medians. A capture is read once before, so that it is in memory for all.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.generate import generate
from benchmarks.measure import run
from benchmarks.sessions import DATA

if TYPE_CHECKING:
    from rich.console import Console

SMALL = DATA / "rabbitmq_dialogue.pcap"
STOMPCAP = Path(sys.executable).with_name("stompcap")
FIELDS = ("tcp.stream", "frame.time_epoch", "tcp.payload")


@dataclass
class Input:
    """An input, and the seconds measured on it: of a run, a repeated run, other tools; and the errors of the reported times."""

    name: str
    path: Path
    captures: list[Path]
    against_tshark: bool
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)

    def take(self, what: str, command: list[str]) -> None:
        """Run and time a command; for a run, also note how much the reported time differs from the real one."""
        done = run(command, keep_output=True)
        self.seconds.setdefault(what, []).append(done.seconds)
        if what.startswith("run"):
            self.errors.append(abs(done.seconds - json.loads(done.output)["seconds"]))

    def median(self, what: str) -> float | None:
        """The median seconds; None if not measured."""
        return median(self.seconds[what]) if what in self.seconds else None


def compare(megabytes: list[int], repeats: int, scratch: Path, console: Console) -> None:
    """Measure everything `repeats` times and print the table."""
    inputs = [Input("small", SMALL, [SMALL], False), Input("data/", DATA, sorted(DATA.glob("*.pcap*")), False)]
    for size in megabytes:
        path = generate(scratch / f"start-{size}.pcap", size).path
        inputs.append(Input(f"{size} MB", path, [path], True))
    bare = Input("bare", SMALL, [], False)
    for repeat in range(repeats):
        console.print(f"  {repeat + 1}/{repeats}  starts", style="dim", highlight=False)
        bare.take("bare", [sys.executable, "-m", "benchmarks.bare"])
        for one in inputs:
            lake = scratch / "lake-of-starts"
            shutil.rmtree(lake, ignore_errors=True)
            one.take("sha256sum", ["sha256sum", *map(str, one.captures)])
            command = [str(STOMPCAP), "run", str(one.path), "--lake", str(lake), "--json"]
            one.take("run", command)
            one.take("run, nothing new", command)
            if one.against_tshark:
                one.take("tshark", ["tshark", "-r", str(one.path), "-T", "fields", *(word for name in FIELDS for word in ("-e", name))])
    console.print(table(bare.median("bare") or 0.0, inputs))


def table(bare: float, inputs: list[Input]) -> Table:
    """Seconds, and their ratios."""
    shown = Table(caption=f"medians; a bare script with the same session and one Python job: {bare:.1f} s")
    shown.add_column("stompcap run")
    for column in ("s", "to bare", "to tshark", "nothing new, s", "beyond sha256sum, s", "reported minus clock, s"):
        shown.add_column(column, justify="right")
    for one in inputs:
        first, again, digest = one.median("run") or 0.0, one.median("run, nothing new") or 0.0, one.median("sha256sum") or 0.0
        tshark = one.median("tshark")
        ratio = f"{first / tshark:.2f} of {tshark:.1f} s" if tshark else ""
        cells = (f"{first:.1f}", f"{first / bare:.2f}", ratio, f"{again:.1f}", f"{again - digest:.1f}", f"{max(one.errors):.2f}")
        shown.add_row(one.name, *cells)
    return shown
