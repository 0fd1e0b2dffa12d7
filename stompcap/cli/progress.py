"""Progress as people see it: a bar with octets and an estimate on a terminal, plain lines elsewhere, all to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stompcap.progress import Progress
from stompcap.units import size

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_EVERY_S = 30


class Lines(Progress):
    """A line for each thing that begins, and one every half minute while it lasts."""

    def begin(self, text: str, octets: int = 0) -> None:
        """Say it."""
        self._text, self._octets, self._began = text, octets, time.monotonic()
        self._said = self._began
        print(f"{text}: {size(octets)}" if octets else text, file=sys.stderr, flush=True)

    def reached(self, octets: int) -> None:
        """Say how far it is and how long the rest may take, now and then."""
        now = time.monotonic()
        if now - self._said < LINE_EVERY_S or not 0 < octets <= self._octets:
            return
        self._said = now
        left = (now - self._began) * (self._octets - octets) / octets
        print(f"{self._text}: {size(octets)} of {size(self._octets)}, about {left:.0f} s left", file=sys.stderr, flush=True)


class Live(Progress):
    """One live line: what is done, a bar with octets and the time left where the octets are known, the time passed."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("looking", total=None)

    def begin(self, text: str, octets: int = 0) -> None:
        """Start the bar anew."""
        self._bar.reset(self._task, description=text, total=octets or None)

    def reached(self, octets: int) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=octets)


@contextmanager
def shown(quiet: bool) -> Iterator[Progress]:
    """The progress of a command, until it ends."""
    if quiet:
        yield Progress()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.SpinnerColumn(), progress.TextColumn("{task.description}", markup=False), progress.BarColumn(bar_width=24),
            progress.DownloadColumn(), progress.TimeElapsedColumn(), progress.TextColumn("left"), progress.TimeRemainingColumn(),
        )  # fmt: skip
        with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield Live(bar)
