"""The tables made in one process agree with what every recorded client logged."""

from __future__ import annotations

import pytest

from data.recorder.truth import severity
from tests.e2e.agreement import differences, heartbeats
from tests.e2e.pure import recorded_tables, tables_of
from tests.e2e.truth import Observed, Row, Session, all_sessions, captures, sessions, truths

FILES = [path.name.removesuffix(".truth.jsonl") for path in truths()]
CLOCK_MS = 30  # what the clocks of clients and captures differ by in these recordings, at most


@pytest.fixture(scope="module")
def seen() -> Observed:
    """The tables of all captures, read as one body of packets."""
    return Observed(recorded_tables())


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


def beats(seen: Observed) -> list[tuple[Session, Row, Row]]:
    """Directions with heart-beats of sessions that were captured whole: what the client measured, and the row."""
    return [
        (session, said, row)
        for _, session in all_sessions() if not session.summary["midstream"]
        for said in session.logged["heartbeat"]
        for row in seen.rows("heartbeats", seen.stream_of(session)) if row["direction"] == said["direction"]
    ]  # fmt: skip


def test_heart_beats_are_judged_neither_better_nor_worse_than_clients_measured(seen: Observed) -> None:
    judged = beats(seen)
    assert len(judged) > 200
    wrong = [
        (session.name, row, said) for session, said, row in judged
        if abs(row["max_gap_ms"] - said["measured_max_gap_ms"]) > CLOCK_MS
        or row["verdict"] not in {severity((said["measured_max_gap_ms"] + off) / said["interval_ms"]) for off in (-CLOCK_MS, 0, CLOCK_MS)}
    ]  # fmt: skip
    assert not wrong
    assert {row["verdict"] for _, _, row in judged} == {"ok", "late", "violation", "dead"}


def test_who_fell_silent_for_good_was_cut_off_after_what_the_client_measured(seen: Observed) -> None:
    cut = {session.name: (row, said) for session, said, row in beats(seen) if row["cut_off_after_intervals"] is not None}
    assert set(cut) == {session.name for _, session in all_sessions() if "-dies-" in session.name}
    for row, said in cut.values():
        assert row["direction"] == "c2s"
        assert abs(row["cut_off_after_intervals"] * row["interval_ms"] - said["measured_max_gap_ms"]) < CLOCK_MS


@pytest.mark.parametrize(
    ("changed", "noticed"),
    [({}, False), ({"verdict": "late"}, True), ({"verdict": "dead"}, True), ({"max_gap_ms": 1100, "verdict": "late"}, True),
     ({"max_gap_ms": 3100, "verdict": "dead"}, True)],
)  # fmt: skip
def test_a_heart_beat_judged_too_well_or_too_badly_is_noticed(changed: Row, noticed: bool, seen: Observed) -> None:
    session = next(session for _, session in all_sessions() if session.name == "rabbitmq-pauses-11")
    stream = seen.stream_of(session)
    rows = [row | (changed if row["direction"] == "c2s" else {}) for row in seen.rows("heartbeats", stream)]
    again = Observed({})
    again.by_stream = {"heartbeats": {stream: rows}}
    assert bool(list(heartbeats(session, again, stream))) == noticed
