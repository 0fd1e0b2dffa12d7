"""The SQL joins as a slow computation of one MESSAGE after the other does, in both engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import one_in
from tests.pipelines.metrics.journey_cases import Traffic
from tests.pipelines.metrics.journey_oracle import joined

times = st.one_of(st.integers(0, 40).map(lambda slot: slot * 600), st.integers(0, 300))
bodies, names, pairs = st.sampled_from([1, 1, 1, 2]), st.sampled_from(["queue/a", "topic/a", "x"]), st.sampled_from("cd")
sends = st.tuples(st.just("send"), times, bodies, names, st.sampled_from("pq"), st.sampled_from([None, None, "aborted"]), st.booleans())
gots = st.tuples(st.just("got"), times, bodies, names, pairs, st.sampled_from([False, False, True]), st.integers(0, 3),
                 st.sampled_from([("settled", "ack"), ("settled", "nack"), ("unsettled", None)]),
                 st.sampled_from([None, None, None, "queue/a", "topic/a"]))
holes = st.tuples(st.just("hole"), times, st.sampled_from([59, 60]))
since_before = st.sets(st.sampled_from("pqcd"), max_size=2)
happened = st.lists(st.one_of(sends, gots, sends, gots, gots, sends, holes), max_size=14)


def traffic_of(broker: str, events: list[Any], midstream: Iterable[str] = ()) -> Traffic:
    """Traffic in which some things happened, no two of them at once, on connections some of which were open before the capture."""
    traffic = Traffic(broker)
    for name in midstream:
        traffic.connection(name, syn_seen=False, synack_seen=False)
    for number, (what, second, *rest) in enumerate(events):
        at = second + number / 1000
        if what == "send":
            body, name, by, outcome, distinct = rest
            more = {"effective_ns": None} if outcome else {}
            traffic.send(at, body, by, name, transaction_outcome=outcome, own_id=distinct and body == 2, **more)
        elif what == "got":
            body, name, by, redelivered, message_id, (status, settlement), moved = rest
            how = {"status": status, "settlement": settlement, "moved_from": moved}
            traffic.got(at, body, by, name, redelivered=redelivered, message_id=f"{ord(by)},{message_id}", **how)
        else:
            traffic.hole(second, rest[0], of=f"h{second}-{rest[0]}")  # rows of a connection change together
    return traffic


@one_in(2)
@given(st.sampled_from(["RabbitMQ", "Artemis"]), happened, since_before)
def test_journeys_are_those_of_one_message_after_the_other(broker: str, events: list[Any], midstream: set[str]) -> None:
    traffic = traffic_of(broker, events, midstream)
    rows = traffic.journeys()
    found = {
        (row["message_stream_id"], row["message_offset"]):
            (row["joined_by"], row["send_stream_id"] and (row["send_stream_id"], row["send_offset"]))
        for row in rows if row["message_ns"] is not None
    }  # fmt: skip
    assert found == joined(traffic.rows)
    without = {(row["send_stream_id"], row["send_offset"]) for row in rows if row["message_ns"] is None}
    assert without == {(row["stream_id"], row["stream_offset"]) for row in traffic.rows["sends"]} - {send for _, send in found.values()}


@one_in(2)
@given(st.sampled_from(["RabbitMQ", "Artemis", "ActiveMQ"]), happened)
def test_each_message_has_a_row_and_each_send_is_in_one_at_least(broker: str, events: list[Any]) -> None:
    traffic = traffic_of(broker, events)
    rows = traffic.journeys()
    assert len([row for row in rows if row["message_ns"] is not None]) == len(traffic.rows["deliveries"])
    assert {(row["send_stream_id"], row["send_offset"]) for row in rows if row["send_ns"] is not None} == {
        (row["stream_id"], row["stream_offset"]) for row in traffic.rows["sends"]
    }
    assert all((row["residence_us"] or 0) >= 0 for row in rows)


