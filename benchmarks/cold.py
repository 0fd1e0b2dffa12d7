"""Whole runs from a cold start, as a user waits for them, and again with nothing new, beside bare Spark, tshark and sha256sum.

Inputs: one small capture, those of data/, recorded traffic of two sizes, many short connections, one connection alone. All in turn, so that
other load on the machine affects all; medians. A capture is read once before, so that it is in memory for all.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks import one_connection
from benchmarks.generate import generate
from benchmarks.measure import Run, run, slope
from benchmarks.sessions import DATA

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.generate import Made

SMALL = DATA / "rabbitmq_dialogue.pcap"
STOMPCAP = Path(sys.executable).with_name("stompcap")
FIELDS = ("tcp.stream", "frame.time_epoch", "tcp.payload")
RUN, AGAIN, ALONE, TSHARK, DIGEST = "run", "run, nothing new", "run, one core", "tshark", "sha256sum"
BODY_OCTETS = 720


@dataclass
class Input:
    """An input, and what was measured on it, by what ran; `frames` where it is compared with tshark, and the errors of reported times."""

    name: str
    path: Path
    captures: list[Path]
    frames: int = 0
    runs: dict[str, list[Run]] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)

    def take(self, what: str, command: list[str]) -> None:
        """Run and measure a command; for a run, also note how much the reported time differs from the real one."""
        done = run(command, keep_output=what != TSHARK)
        self.runs.setdefault(what, []).append(done)
        if what.startswith(RUN):
            self.errors.append(abs(done.seconds - json.loads(done.output)["seconds"]))

    def median(self, what: str, of: str = "seconds") -> float:
        """The median of what runs took; 0 if not measured."""
        return median(getattr(one, of) for one in self.runs[what]) if what in self.runs else 0.0


@dataclass(frozen=True)
class Sizes:
    """How large the inputs are: megabytes of recorded traffic and of short connections, deliveries of one connection; 0 leaves one out."""

    recorded: Sequence[int] = (350, 1400)
    short: int = 150
    deliveries: int = 310_000

    def inputs(self, scratch: Path) -> tuple[list[Input], list[Input]]:
        """Make the captures: the small inputs and those of recorded traffic, and the others."""
        few = [Input("one dialogue", SMALL, [SMALL]), Input("data/", DATA, sorted(DATA.glob("*.pcap*")))]
        recorded = [generate(scratch / f"recorded-{size}.pcap", size, "recorded") for size in self.recorded]
        others = [_input("short connections", generate(scratch / "short.pcap", self.short, "small"))] if self.short else []
        if self.deliveries:
            others.append(_input("one connection", one_connection.generate(scratch / "one.pcap", self.deliveries, BODY_OCTETS)))
        return few + [_input("recorded traffic", made) for made in recorded], others


def _input(name: str, made: Made) -> Input:
    return Input(f"{name}, {made.octets / 1e6:,.0f} MB", made.path, [made.path], made.frames)


def compare(sizes: Sizes, repeats: int, scratch: Path, console: Console) -> None:
    """Measure everything `repeats` times and print the table."""
    first, others = sizes.inputs(scratch)
    recorded, inputs = [one for one in first if one.frames], [*first, *others]
    bare = Input("bare", SMALL, [])
    for repeat in range(repeats):
        console.print(f"  {repeat + 1}/{repeats}  bare Spark", style="dim", highlight=False)
        bare.take("bare", [sys.executable, "-m", "benchmarks.bare"])
        for one in inputs:
            console.print(f"  {repeat + 1}/{repeats}  {one.name}", style="dim", highlight=False)
            _take(one, scratch / "lake-of-runs", alone=one in recorded[:1])
    console.print(table(bare.median("bare"), inputs))
    for line in (*beyond_fixed_costs(recorded), *of_two_cores(recorded[:1])):
        console.print(line, highlight=False)


def tshark(capture: Path) -> list[str]:
    """The command that prints every segment's stream, time and payload."""
    return ["tshark", "-r", str(capture), "-T", "fields", *(word for name in FIELDS for word in ("-e", name))]


def _take(one: Input, lake: Path, *, alone: bool) -> None:
    """Measure what runs on an input, once each; `alone`: on one core too."""
    one.take(DIGEST, ["sha256sum", *map(str, one.captures)])
    if one.frames:
        one.take(TSHARK, tshark(one.path))
    command = [str(STOMPCAP), "run", str(one.path), "--lake", str(lake), "--json"]
    for what, before, behind in ((RUN, (), ()), (AGAIN, (), ()), (ALONE, ("taskset", "--cpu-list", "0"), ("--master", "local[1]"))):
        if what != AGAIN:
            shutil.rmtree(lake, ignore_errors=True)
        if what != ALONE or alone:
            one.take(what, [*before, *command, *behind])


def table(bare: float, inputs: list[Input]) -> Table:
    """Seconds, their ratios, and what runs took of processors and memory."""
    shown = Table(caption=f"medians; {os.cpu_count()} cores; a bare script with the same session and one Python job: {bare:.1f} s")
    shown.add_column("stompcap run", no_wrap=True)
    ran, again = ("s", "to bare", "tshark, s", "to tshark", "CPU, s", "frames/s/core", "memory, GB"), ("nothing new, s", "sha256sum, s")
    for column in (*ran, *again, "reported off by, s"):
        shown.add_column(column, justify="right")
    for one in inputs:
        first, cpu, other = one.median(RUN), one.median(RUN, "cpu_seconds"), one.median(TSHARK)
        against = (f"{other:.1f}", f"{first / other:.2f}") if other else ("", "")
        a_core = f"{one.frames / cpu:,.0f}" if one.frames else ""
        memory = f"{one.median(RUN, 'peak_octets') / 1e9:.2f}"
        behind = (f"{one.median(AGAIN):.1f}", f"{one.median(DIGEST):.1f}", f"{max(one.errors):.2f}")
        shown.add_row(one.name, f"{first:.1f}", f"{first / bare:.2f}", *against, f"{cpu:.1f}", a_core, memory, *behind)
    return shown


def beyond_fixed_costs(recorded: Sequence[Input]) -> list[str]:
    """What recorded traffic costs between the sizes, which start and end do not touch."""
    octets = {number: one.path.stat().st_size for number, one in enumerate(recorded)}
    frames = {number: one.frames for number, one in enumerate(recorded)}
    ours, theirs, cpu = (
        {number: one.median(what, of) for number, one in enumerate(recorded)}
        for what, of in ((RUN, "seconds"), (TSHARK, "seconds"), (RUN, "cpu_seconds"))
    )
    speed, reference, a_core, framed = slope(ours, octets), slope(theirs, octets), slope(cpu, octets), slope(cpu, frames)
    if not (speed and reference and a_core and framed):
        return []
    return [
        f"beyond fixed costs: {speed / 1e6:.1f} MB/s, {speed / reference:.2f} times tshark's {reference / 1e6:.1f}; "
        f"{1e9 / a_core:.1f} processor seconds a GB, {framed:,.0f} frames a second and core"
    ]


def of_two_cores(recorded: Sequence[Input]) -> list[str]:
    """How much quicker all cores are than one."""
    return [
        f"{one.name}: {one.median(ALONE):.1f} s on one core, {one.median(ALONE) / one.median(RUN):.2f} times as long as on {os.cpu_count()}"
        for one in recorded if ALONE in one.runs
    ]  # fmt: skip
