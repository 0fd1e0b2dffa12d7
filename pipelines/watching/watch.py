"""Rounds without end: each looks which files are due and does with them what a run does, in one session that stays warm.

What goes wrong in a round is reported, and the next round tries again. Only a request that makes no sense ends the rounds, or a lost
session.

A validation adds up what is known of the whole lake, which in a large one may be most of a round: it takes at most a tenth of the time, and
what a round leaves out, a later one does, also if nothing is new by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from pipelines.run import STAGES
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.tables.words import UNREADABLE

if TYPE_CHECKING:
    from pipelines.result import Result
    from pipelines.watching.rotating import Due, Rotating

NOTHING = "no captures found"
"""How the warning of a run begins that was given no file; a round may be given none, and only finish what was begun."""


LOST = "Spark has ended, by itself or for lack of memory; start stompcap watch again"
VALIDATION = "validate"
PAUSE = 9
"""The last validation ended so many times its own length ago when the next one begins."""


class Reporter(Protocol):
    """Who hears what a watch does."""

    def done(self, result: Result) -> None:
        """A round brought something new."""

    def idle(self, due: Due) -> None:
        """A round found nothing new."""

    def failed(self, error: Exception) -> None:
        """A round failed; the next one tries again."""

    def warn(self, lines: Sequence[str]) -> None:
        """Something to know; what is to be known for longer comes again with each round."""


class Clock(Protocol):
    """What a watch waits by; the module `time` is one."""

    def monotonic(self) -> float:
        """Seconds since any moment."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class Watch:
    """Rounds, `every_s` seconds from the beginning of one to that of the next, or as soon as one that takes longer has ended.

    `run_round` does one: the files that are due, and the stages to do. `lost` says whether the session of the rounds is of no use any
    more. `waiting` makes the context in which there is nothing to interrupt.
    """

    def __init__(
        self,
        files: Rotating,
        run_round: Callable[[Sequence[str], Sequence[str]], Result],
        reporter: Reporter,
        every_s: float,
        *,
        lost: Callable[[], bool] = lambda: False,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Clock = time,
    ) -> None:
        self._files, self._run_round, self._reporter, self._every_s = files, run_round, reporter, every_s
        self._lost, self._waiting, self._clock = lost, waiting, clock
        self._owed = True  # a run that was killed, or a round that failed, may have left something to finish without any new file
        self._unvalidated, self._validates_s = False, self._clock.monotonic()

    def forever(self) -> None:
        """Round after round; raises UsageError, and EnvironmentProblem where the session is lost."""
        while True:
            began = self._clock.monotonic()
            self.round()
            left = began + self._every_s - self._clock.monotonic()
            with self._waiting():
                self._clock.sleep(max(left, 0))

    def round(self) -> None:
        """One round."""
        if self._lost():  # found out also while nothing is new: under spark-submit this process outlives its JVM
            raise EnvironmentProblem(LOST)
        try:
            with self._waiting():
                due = self._files.look()
                self._reporter.warn([str(error) for error in due.refused] + [_long(path) for path in due.long])
                validates = self._clock.monotonic() >= self._validates_s
                if not (due.files or self._owed or (self._unvalidated and validates)):
                    self._reporter.idle(due)
                    return
            self._owed = True
            result = self._run_round(list(due.files), [stage for stage in STAGES if validates or stage != VALIDATION])
        except UsageError:
            raise
        except Exception as error:  # whatever it is, the next round may fare better
            if self._lost():
                raise EnvironmentProblem(LOST) from error
            self._reporter.failed(error)
            return
        self._owed, self._unvalidated = False, not validates
        took_s = sum(stage["seconds"] for stage in result.stages if stage["name"] == VALIDATION)
        if took_s:
            self._validates_s = self._clock.monotonic() + PAUSE * took_s
        if not due.files:
            result.warnings = [line for line in result.warnings if not line.startswith(NOTHING)]
        self._files.taken(due, {str(one["path"]) for one in result.captures if one["status"] == UNREADABLE})
        self._reporter.warn(result.warnings)
        if result.rows:
            self._reporter.done(result)
        else:
            self._reporter.idle(due)


def _long(path: str) -> str:
    says = "has been written to for an hour, and is read when it stands still; let its program begin a new file now and then"
    return f"{path}: {says}"
