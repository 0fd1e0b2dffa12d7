"""What adding one small capture costs as a lake grows, run by run, in one process with one warm Spark session.

The captures are clones of a recorded dialogue, ten minutes apart, as a capture that is rotated brings them. The seconds are those of
whole runs (extract to validate) by the clock, and of all processor time of this process and its children; Spark's start is in none.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.measure import tree
from benchmarks.sessions import recorded
from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.generate.group import FILE_HEADER, Group
from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.report import overview
from stompcap.spark.session import get_session

APART_NS = 600 * 10**9
REPEATS = 5


@dataclass
class Cost:
    """What runs took at one size of the lake."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)


class Lakes:
    """Captures that follow each other, and runs that add them to lakes."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._group = Group(recorded("dialogue")[-1:])
        self._clones = -(-APART_NS // int(self._group.ns[-1]))
        self._spark = get_session("local[*]")

    def add(self, lake: Path, number: int, cost: Cost) -> None:
        """Add the capture of that number to a lake, and note what it took."""
        path = self._scratch / f"{number}.pcap"
        path.write_bytes(FILE_HEADER + bytes(self._group.clone(number * self._clones)))
        lakes.create(str(lake))
        processor, began = _processor(), time.monotonic()
        with open_tables.keep_open(str(lake)):  # as the command `run`
            result = execute(Job(lambda: self._spark, str(lake), Options()), STAGES, [str(path)])
            overview(str(lake), lambda: self._spark)
        cost.seconds.append(time.monotonic() - began)
        cost.processor.append(_processor() - processor)
        for stage in result.stages:
            cost.stages.setdefault(str(stage["name"]), []).append(float(stage["seconds"]))
        if result.status != "done" or result.failed_expectations:
            raise SystemExit(f"{path}: the run ended as {result.status}: {result.warnings}")
        path.unlink()


def _processor() -> float:
    """Processor seconds of this process and its children so far."""
    ticks = 0
    for process in tree(os.getpid()):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # user, system and those of children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(sizes: list[int], scratch: Path, console: Console) -> dict[int, Cost]:
    """The cost of a run in lakes that `sizes` runs were made in, 0 among them."""
    runs, costs = Lakes(scratch), {size: Cost() for size in (0, *sizes)}
    lake, empty, number, spare = scratch / "lake", scratch / "empty", 0, Cost()
    for _ in range(3):
        runs.add(empty, 0, spare)
        shutil.rmtree(empty)
    for size in sizes:
        while number < size:
            runs.add(lake, number, spare)
            number += 1
            if number % 50 == 0:
                console.print(f"  {number} runs", style="dim", highlight=False)
        for _ in range(REPEATS):  # one after the other, for the JVM still gets faster and other programs come and go
            runs.add(empty, number, costs[0])
            shutil.rmtree(empty)
            runs.add(lake, number, costs[size])
            number += 1
    return costs


def table(costs: dict[int, Cost]) -> Table:
    """Medians by size of the lake."""
    shown = Table(caption=f"medians of {REPEATS} runs, each of which adds one small capture")
    stages = list(dict.fromkeys(stage for cost in costs.values() for stage in cost.stages))
    for column in ("runs before", "s", "to the empty lake", "processor s", *stages):
        shown.add_column(column, justify="right")
    empty = median(costs[0].seconds)
    for size, cost in costs.items():
        seconds = median(cost.seconds)
        parts = (f"{median(cost.stages.get(stage, [0.0])):.2f}" for stage in stages)
        shown.add_row(f"{size:,}", f"{seconds:.2f}", f"{seconds / empty:.2f}", f"{median(cost.processor):.2f}", *parts)
    return shown


def main() -> None:
    """Measure and print the table: python -m benchmarks.growth --sizes 1,10,100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,10,100", help="runs that the lake has before, comma-separated, ascending")
    wanted = parser.parse_args()
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as scratch:
        Console(width=160).print(table(measure([int(size) for size in wanted.sizes.split(",")], Path(scratch), console)))


if __name__ == "__main__":
    main()
