"""The tables made in one process agree with what every recorded client logged."""

from __future__ import annotations

import pytest

from tests.e2e.agreement import differences
from tests.e2e.pure import tables_of
from tests.e2e.truth import Observed, all_sessions, captures, sessions, truths

FILES = [path.name.removesuffix(".truth.jsonl") for path in truths()]


@pytest.fixture(scope="module")
def seen() -> Observed:
    """The tables of all captures, read as one body of packets."""
    return Observed(tables_of(captures()))


def test_there_is_something_to_compare() -> None:
    assert len(list(all_sessions())) > 490


def test_every_stream_is_one_session(seen: Observed) -> None:
    assert seen.unpaired(session for _, session in all_sessions()) == []


@pytest.mark.parametrize("index", range(len(FILES)), ids=FILES)
def test_every_session_agrees_with_its_log(index: int, seen: Observed) -> None:
    found = [line for session in sessions(truths()[index]) for line in differences(session, seen)]
    assert not found, "\n".join(found)


def test_each_capture_on_its_own_gives_the_same_rows(seen: Observed) -> None:
    name = next(path for path in captures() if "rabbitmq_midstream" in path)
    alone = Observed(tables_of([name]))
    for stream in (row["stream_id"] for row in alone.streams):
        for table in ("frames", "deliveries", "receipts", "compliance"):
            assert alone.rows(table, stream) == seen.rows(table, stream)
