"""Captures that make a task fail are found among the others, and reported to the driver. No Spark needed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.errors import CaptureError, UsageError
from stompcap.tasks.failures import Failures, culprits, ranks

SECRET = "hunter2"


def table(*numbers: int) -> pa.Table:
    return pa.table({"capture": pa.array(numbers, pa.int32())})


@pytest.mark.parametrize("bad", [{0}, {3}, {0, 4}, {1, 2, 3}, {0, 1, 2, 3, 4}, {2}])
def test_culprits_are_found_by_halves(bad: set[int]) -> None:
    def attempt(segments: pa.Table) -> None:
        if found := bad & set(ranks(segments)):
            raise ValueError(f"at {min(found)}")

    found = culprits(table(0, 1, 2, 3, 4, 0, 1, 4, 3), attempt, ValueError("at first"))
    assert {rank: str(error) for rank, error in found.items()} == {rank: f"at {rank}" for rank in bad}


def test_all_are_at_fault_where_it_takes_several() -> None:
    def attempt(segments: pa.Table) -> None:
        if {1, 3} <= set(ranks(segments)):
            raise ValueError

    assert set(culprits(table(0, 1, 3, 5), attempt, ValueError())) == {0, 1, 3, 5}


def test_one_capture_alone_needs_no_attempt() -> None:
    error = ValueError()
    assert culprits(table(7, 7), pytest.fail, error) == {7: error}


def test_what_the_machine_lacks_is_no_fault_of_a_capture() -> None:
    failures = Failures()
    with pytest.raises(OSError, match="no space"), failures.caught(pytest.fail):
        raise OSError("no space")
    with pytest.raises(UsageError), failures.caught(lambda error: {0: error}):
        raise UsageError("no number")
    assert not failures


def test_failures_reach_another_process_as_json_without_secrets() -> None:
    one, other = Failures(), Failures()
    one.note(3, CaptureError("a.pcap", "has become shorter"))
    with one.caught(lambda error: {5: error}):
        raise KeyError(SECRET)
    one.unresumed[b"\0\1"] = "is of another layout"
    other.add_json([None, one.to_json(), Failures().to_json()])
    assert other.unresumed == one.unresumed
    assert other == one
    assert one[3] == "has become shorter"
    assert "KeyError" in one[5]
    assert SECRET not in one[5]
