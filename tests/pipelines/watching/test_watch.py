"""Round after round: when each begins, what is told, what a failure leaves for the next one. Nothing sleeps here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipelines.result import Result
from pipelines.watching.rotating import Due, Rotating
from pipelines.watching.watch import Watch
from stompcap.errors import EnvironmentProblem, LakeBusy, UsageError
from tests.e2e.truth import DATA

CAPTURE = (DATA / "rabbitmq_midstream.pcap").read_bytes()
EVERY_S = 60


class Over(BaseException):
    """Ends a watch, as a signal does."""


class Clock:
    """Seconds that pass only where somebody sleeps or a round takes them; before a sleep a script is called with its number."""

    def __init__(self, *script: Callable[[], object]) -> None:
        self.now_s, self.slept, self._script = 1_790_000_000.0, [], iter(script)

    slept: list[float]

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        try:
            next(self._script)()
        except StopIteration:
            raise Over from None
        self.now_s += seconds


class Told:
    """Keeps what it hears, a line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def done(self, result: Result) -> None:
        self.lines.append(f"done {result.rows}")

    def idle(self, due: Due) -> None:
        self.lines.append("idle")

    def failed(self, error: Exception) -> None:
        self.lines.append(f"failed {error}")

    def warn(self, lines: Sequence[str]) -> None:
        self.lines += [f"warning {line}" for line in lines]


class Work:
    """Takes in what it is given, or does what a script says instead."""

    def __init__(self, *script: Exception | None) -> None:
        self.given: list[list[str]] = []
        self._script = iter(script)

    def __call__(self, paths: Sequence[str], stages: Sequence[str] = ()) -> Result:
        self.given.append([Path(path).name for path in paths])
        error = next(self._script, None)
        if error is not None:
            raise error
        result = Result("1", "lake", rows={"frames": len(paths)} if paths else {})
        for path in paths:
            result.captures.append({"path": path, "capture_id": path, "status": "unreadable" if "bad" in path else "complete"})
        if not paths:
            result.warnings.append("no captures found: nothing to do")
        return result


def watched(folder: Path, clock: Clock, work: Work, **more: Any) -> list[str]:
    """What is told of a watch over a folder until its script is at its end."""
    told = Told()
    with pytest.raises(Over):
        Watch(Rotating([str(folder)], EVERY_S, lambda: clock.now_s), work, told, EVERY_S, clock=clock, **more).forever()
    return told.lines


def put(folder: Path, name: str) -> Callable[[], object]:
    return lambda: (folder / name).write_bytes(CAPTURE)


def nothing() -> None:
    """A round passes."""


def test_files_are_taken_once_and_the_first_round_finishes_what_was_begun(tmp_path: Path) -> None:
    work = Work()
    told = watched(tmp_path, Clock(put(tmp_path, "a"), nothing, nothing, put(tmp_path, "b"), nothing), work)
    assert work.given == [[], ["a"], ["b"]]
    assert told == ["idle", "idle", "done {'frames': 1}", "idle", "idle", "done {'frames': 1}"]


@pytest.mark.parametrize(("takes_s", "waits"), [(0, 60), (12.5, 47.5), (60, 0), (100, 0)])
def test_rounds_begin_an_interval_apart(takes_s: float, waits: float, tmp_path: Path) -> None:
    clock = Clock(nothing)

    def work(paths: Sequence[str], stages: Sequence[str]) -> Result:
        clock.now_s += takes_s
        return Result("1", "lake")

    watched(tmp_path, clock, work)  # type: ignore[arg-type]
    assert clock.slept == [waits, 60]  # the second round has nothing to do


@pytest.mark.parametrize(
    "error",
    [LakeBusy("another run holds the lake"), EnvironmentProblem("the lake cannot be written"), OSError(28, "No space left"), ValueError()],
)
def test_a_round_that_fails_is_told_and_tried_again(error: Exception, tmp_path: Path) -> None:
    work = Work(None, error, error)
    told = watched(tmp_path, Clock(put(tmp_path, "a"), nothing, nothing, nothing, nothing), work)
    assert work.given == [[], ["a"], ["a"], ["a"]]
    assert told == ["idle", "idle", f"failed {error}", f"failed {error}", "done {'frames': 1}", "idle"]


def test_what_a_failed_round_began_is_finished_without_a_new_file(tmp_path: Path) -> None:
    work = Work(ValueError("first"))
    watched(tmp_path, Clock(nothing, nothing), work)
    assert work.given == [[], []]


def test_a_validation_takes_a_tenth_of_the_time_and_is_not_forgotten(tmp_path: Path) -> None:
    clock, rounds = Clock(*(put(tmp_path, f"{number}") for number in range(6)), *[nothing] * 20), []

    def work(paths: Sequence[str], stages: Sequence[str]) -> Result:
        result = Result("1", "lake")
        rounds.append(clock.now_s)
        if "validate" in stages:
            rounds[-1] = -clock.now_s
            clock.now_s += 30
            result.stages.append({"name": "validate", "seconds": 30.0})
        return result

    watched(tmp_path, clock, work)  # type: ignore[arg-type]
    validated = [-at for at in rounds if at < 0]
    assert all(later - sooner >= 300 for sooner, later in pairwise(validated))
    assert len(validated) == 3, "the first round, one among those with files, one after the last file"
    assert rounds[-1] < 0
    assert len(rounds) == 8


def test_a_request_that_makes_no_sense_ends_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Watch(Rotating([str(tmp_path)], EVERY_S), Work(UsageError("no")), Told(), EVERY_S, clock=Clock(nothing)).forever()


@pytest.mark.parametrize("answers", [[True], [False, True], [False, False, True]], ids=["at once", "in a round", "while nothing is new"])
def test_a_session_that_is_lost_ends_it(answers: list[bool], tmp_path: Path) -> None:
    lost, work = iter(answers), Work(OSError("no answer") if len(answers) == 2 else None)
    watch = Watch(Rotating([str(tmp_path)], EVERY_S), work, Told(), EVERY_S, lost=lambda: next(lost), clock=Clock(nothing, nothing))
    with pytest.raises(EnvironmentProblem, match="Spark has ended"):
        watch.forever()
    assert next(lost, None) is None


def test_one_file_that_cannot_be_read_does_not_keep_others_from_it(tmp_path: Path) -> None:
    put(tmp_path, "bad")()
    work = Work()
    watched(tmp_path, Clock(put(tmp_path, "a"), nothing, nothing, nothing), work)
    assert work.given[0] == []
    assert ["a"] in [[name for name in given if name != "bad"] for given in work.given]
    assert sum("a" in given for given in work.given) == 1
    assert sum("bad" in given for given in work.given) == 3


def test_only_work_is_there_to_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a")()
    waiting, seen = [0], []

    @contextmanager
    def context() -> Iterator[None]:
        waiting[0] += 1
        yield
        waiting[0] -= 1

    def work(paths: Sequence[str], stages: Sequence[str]) -> Result:
        seen.append(("work", waiting[0]))
        return Work()(paths)

    monkeypatch.setattr("stompcap.memory.release", lambda: seen.append(("release", waiting[0])))
    watched(tmp_path, Clock(lambda: seen.append(("sleep", waiting[0])), nothing), work, waiting=context)  # type: ignore[arg-type]
    assert seen[:4] == [("work", 0), ("release", 1), ("sleep", 1), ("work", 0)]  # each round gives back what it freed
