"""What tasks and threads tell of their progress adds up; what people see of it says how far it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from stompcap.cli.progress import Lines, Stage, on_stderr
from stompcap.progress import Counter, Meter, Progress, watched


class Kept(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def reached(self, octets: int) -> None:
        self.told.append(octets)


def test_threads_add_up() -> None:
    kept = Kept()
    counter = Counter(kept)
    for octets in (5, 0, 7):
        counter.add(octets)
    assert kept.told == [5, 5, 12]


def test_tasks_add_up_and_a_task_tried_again_counts_once(tmp_path: Path) -> None:
    sent = pickle.dumps(Meter(str(tmp_path)))
    for task, amounts in ((0, (10, 20)), (1, (5,)), (0, (10,))):  # task 0 failed behind its second amount, and is tried again
        meter = pickle.loads(sent)
        for amount in amounts:
            meter.add("read", task, amount)
    meter.add("segments", 0, 99)
    assert Meter(str(tmp_path)).done("read") == 15
    assert Meter(str(tmp_path)).done("segments") == 99


def test_what_nobody_reads_or_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    for meter in (Meter(), Meter(str(tmp_path / "gone"))):
        meter.add("read", 0, 5)
        assert meter.done("read") == 0


def test_a_meter_is_looked_at_while_tasks_work(tmp_path: Path) -> None:
    seen: list[int] = []
    with watched(lambda meter: seen.append(meter.done("read")), here=True) as meter:
        meter.add("read", 0, 5)
        while 5 not in seen:
            pass
        assert meter.folder is not None
        assert Path(meter.folder).is_dir()
    assert not Path(meter.folder or "").exists()
    with watched(lambda _: None, here=False) as meter:
        assert meter.folder is None


@pytest.mark.parametrize(("octets", "reached", "far"), [(0, 0, ""), (100, 0, ""), (100, 101, ""), (100, 100, "100 bytes of 100 bytes")])
def test_how_far_it_is(octets: int, reached: int, far: str) -> None:
    assert Stage("reading", octets).far(reached).startswith(far)
    assert bool(far) == bool(Stage("reading", octets).far(reached))


def test_half_the_way_takes_as_long_again() -> None:
    stage = Stage("reading", 2_000_000)
    stage.began -= 30
    assert stage.far(1_000_000) == "1 MB of 2 MB, about 30 s left"


def test_no_time_is_told_of_the_first_tenth() -> None:
    stage = Stage("reading", 100_000_000)
    stage.began -= 55
    assert stage.far(3_000_000) == "3 MB of 100 MB"
    assert stage.far(10_000_000) == "10 MB of 100 MB, about 8 min 15 s left"


def test_lines_elsewhere_than_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stompcap.cli.progress.LINE_EVERY_S", 0)
    with on_stderr(quiet=False) as progress:
        assert isinstance(progress, Lines)
        progress.begin("starting Spark")
        progress.reached(5)
        progress.begin("reading packets", 2_000_000)
        progress.reached(1_000_000)
    with on_stderr(quiet=True) as progress:
        progress.begin("nothing")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[:2] == ["starting Spark", "reading packets: 2 MB"]
    assert printed.err.splitlines()[2].startswith("reading packets: 1 MB of 2 MB, about ")
