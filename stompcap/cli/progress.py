"""Progress: a bar with octets and an estimate on a terminal, plain lines or records of a log elsewhere, all to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stompcap import logs
from stompcap.progress import Progress
from stompcap.units import duration, size

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_EVERY_S = 30
FIRST_SHARE = 0.1
"""Before this much of a step is done nothing is said of the time left: tasks report in large pieces, the first of them late."""


class Lines(Progress):
    """A line for each step that begins, and one every half minute while it lasts."""

    def begin(self, text: str, octets: int = 0) -> None:
        """Print the step."""
        self._stage = Stage(text, octets)
        self._printed_at = time.monotonic()
        print(f"{text}: {size(octets)}" if octets else text, file=sys.stderr, flush=True)

    def reached(self, octets: int) -> None:
        """Print how far it is and how long the rest may take, now and then."""
        if time.monotonic() - self._printed_at >= LINE_EVERY_S and (far := self._stage.far(octets)):
            self._printed_at = time.monotonic()
            print(f"{self._stage.text}: {far}", file=sys.stderr, flush=True)


class Logged(Progress):
    """A record for each step that begins, and one every half minute while it lasts."""

    def begin(self, text: str, octets: int = 0) -> None:
        """Log the step."""
        self._text, self._octets, self._told_at = text, octets, time.monotonic()
        logs.tell("progress", text, octets=octets or None)

    def reached(self, octets: int) -> None:
        """Log how far it is, now and then."""
        if time.monotonic() - self._told_at >= LINE_EVERY_S:
            self._told_at = time.monotonic()
            logs.tell("progress", self._text, octets=self._octets, octets_done=octets)


class Stage:
    """The current step: its name, since when, and of how many octets."""

    def __init__(self, text: str, octets: int) -> None:
        self.text, self.octets, self.began = text, octets, time.monotonic()

    def far(self, octets: int) -> str:
        """How far it is, and the time left as far as it can be estimated; empty where nothing is known."""
        if not 0 < octets <= self.octets:
            return ""
        done = f"{size(octets)} of {size(self.octets)}"
        if octets < FIRST_SHARE * self.octets:
            return done
        left = (time.monotonic() - self.began) * (self.octets - octets) / octets
        return f"{done}, about {duration(round(left) * 1e6)} left"


class Live(Progress):
    """One live line: the step, a bar, octets and the time left where the octets are known, the time since the command began."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None, far="")
        self._stage = Stage("", 0)

    def begin(self, text: str, octets: int = 0) -> None:
        """Restart the bar for a new step."""
        self._stage = Stage(text, octets)
        self._bar.update(self._task, description=text, total=octets or None, completed=0, far="")
        if not octets:  # an unknown total leaves the bar indeterminate
            self._bar.tasks[0].total = None

    def reached(self, octets: int) -> None:
        """Move the bar."""
        if self._stage.octets:
            self._bar.update(self._task, completed=octets, far=self._stage.far(octets))


@contextmanager
def on_stderr(quiet: bool) -> Iterator[Progress]:
    """The progress of a command, until it ends."""
    if logs.structured():
        yield Logged()
    elif quiet:
        yield Progress()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.SpinnerColumn(), progress.TextColumn("{task.description}", markup=False), progress.BarColumn(bar_width=24),
            progress.TimeElapsedColumn(), progress.TextColumn("{task.fields[far]}", markup=False),
        )  # fmt: skip
        with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield Live(bar)
