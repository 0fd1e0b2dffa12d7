"""Does rounds without end: each finds the files that are due and does what a run does, in one Spark session that stays warm.

An error in a round is reported, and the next round tries again. Only a wrong request or a lost session ends the rounds.

A validation sums up the whole lake, which could be most of a round in a large one. So validations take at most a tenth of the time: a round
that comes too soon leaves it out, and a later one makes up for it, even if nothing is new by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from pipelines.run import STAGES
from stompcap import memory
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.tables.words import UNREADABLE

if TYPE_CHECKING:
    from pipelines.result import Result
    from pipelines.watching.rotating import Due, Rotating

NOTHING = "no captures found"
"""The beginning of a run's warning that it has no file. A round may have none, and only finish what a killed run had begun."""


LOST = "Spark has ended, by itself or for lack of memory; start stompcap watch again"
VALIDATION = "validate"
PAUSE = 9
"""Between two validations, so many times the duration of the first pass at least."""


class Reporter(Protocol):
    """Receives the events of a watch."""

    def done(self, result: Result) -> None:
        """A round brought something new."""

    def idle(self, due: Due) -> None:
        """A round found nothing new."""

    def failed(self, error: Exception) -> None:
        """A round failed; the next one tries again."""

    def warn(self, lines: Sequence[str]) -> None:
        """Lines for the user; a warning that still holds is given again in each round."""


class Clock(Protocol):
    """The clock of a watch; the module `time` is one."""

    def monotonic(self) -> float:
        """Seconds since any moment."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class Watch:
    """Does rounds: the next one begins `every_s` seconds after the beginning of the last, or when that has ended if it takes longer.

    `run_round` does one round over the files that are due, with the stages to do. `lost` tells whether the session can no longer be used.
    `waiting` makes the context in which there is nothing to interrupt.
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
            with self._waiting():
                memory.release()
                self._clock.sleep(max(began + self._every_s - self._clock.monotonic(), 0))

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
