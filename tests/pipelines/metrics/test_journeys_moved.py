"""Dead letters, and what expired or waits for another try: joined to the SEND at the destination that they were moved from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.metrics.gold import DESTINATION_MINUTES
from stompcap.lake import query
from tests.pipelines.metrics.journey_cases import Traffic, joined

Told = tuple[str, int | None, bool, int | None]
DEAD: dict[str, Any] = {"of": "queue/dead", "moved_from": "queue/a"}
NACKED = {"settlement": "nack"}


def told(traffic: Traffic) -> list[Told]:
    """Of each MESSAGE how it is joined, its copy, whether it is a redelivery, and its seconds in the broker."""
    return [
        (row["joined_by"], row["copy"], row["redelivery"], row["residence_us"] and row["residence_us"] // 10**6)
        for row in traffic.journeys() if row["message_ns"] is not None
    ]  # fmt: skip


@pytest.mark.parametrize("broker", ["RabbitMQ", "Artemis", "ActiveMQ"])
def test_what_was_refused_is_a_redelivery_of_its_send_with_no_residence(broker: str) -> None:
    traffic = Traffic(broker).send(0).got(5, **NACKED).got(60, by="d", **DEAD)
    assert told(traffic) == [("unique", 1, False, 5), ("unique", None, True, None)]
    assert [(row["destination_name"], row["moved_from"]) for row in traffic.journeys()] == [("queue/a", None), ("queue/dead", "queue/a")]


def test_activemq_names_the_send_of_a_dead_letter() -> None:
    traffic = Traffic("ActiveMQ")
    traffic.connection("p", session="ID:host-1:2")
    traffic.send(0, number=1, content_hash=7)  # a header that the broker adds may be one that we do not know
    names = {"message_id": "ID:host-1:2:-1:1:1", "producer_session": "ID:host-1:2", "producer_number": 1}
    traffic.got(5, **NACKED, **names).got(60, by="d", **DEAD, **names)
    assert told(traffic) == [("identity", 1, False, 5), ("identity", None, True, None)]


def test_activemq_tells_by_the_id_what_was_refused_where_the_send_is_missing() -> None:
    traffic = Traffic("ActiveMQ")
    more = {"message_id": "ID:host-1:2:-1:1:1", "broker_timestamp_us": Traffic.at(0) // 1000}
    traffic.got(5, **NACKED, **more).got(60, by="d", **DEAD, **more)
    assert told(traffic) == [("timestamp", None, False, 5), ("timestamp", None, True, None)]


def test_what_expired_was_not_delivered_before_and_has_no_residence() -> None:
    assert told(Traffic().send(0).got(60, by="d", **DEAD)) == [("unique", 1, False, None)]


def test_a_copy_beside_one_that_was_settled_is_no_redelivery() -> None:
    assert told(Traffic("Artemis").send(0).got(5).got(6, by="d", **DEAD)) == [("unique", 1, False, 5), ("unique", 2, False, None)]


def test_a_dead_letter_leaves_the_order_of_equal_messages_as_it_is() -> None:
    traffic = Traffic().send(0).send(1).got(5, **NACKED).got(6).got(60, by="d", **DEAD)
    assert [row[0] for row in told(traffic)] == ["ordered", "ordered", "ambiguous"]


def test_one_that_expired_is_not_taken_for_the_message_of_an_equal_send() -> None:
    traffic = Traffic().send(0).send(1).got(5).got(60, by="d", **DEAD)  # which of both expired?
    assert [row[0] for row in told(traffic)] == ["ambiguous", "ambiguous"]


def test_another_try_at_the_same_destination_is_a_redelivery() -> None:
    traffic = Traffic().send(0).got(5, **NACKED).got(60, moved_from="queue/a")
    assert told(traffic) == [("unique", 1, False, 5), ("unique", None, True, None)]


def test_where_no_send_is_found_the_capture_need_not_lack_one() -> None:
    [row] = Traffic().got(60, **DEAD).journeys()
    assert (row["joined_by"], row["reason"], row["residence_us"]) == ("none", "unknown", None)


def test_a_dead_letter_that_was_never_delivered_takes_one_from_the_backlog_of_its_first_destination() -> None:
    traffic = Traffic("Artemis").send(0).send(1, body=2).got(5, **NACKED).got(60, by="d", **DEAD).got(61, body=2, by="d", **DEAD)
    tables = traffic.tables()
    for name, ts in (("sends", "sent_ts"), ("deliveries", "delivered_ts")):
        ns = tables[name].column("sent_ns" if name == "sends" else "first_ns")
        at = tables[name].schema.get_field_index(ts)
        tables[name] = tables[name].set_column(at, ts, pc.divide(ns, 1000).cast(pa.timestamp("us", "UTC")))
    none = pa.nulls(3, pa.int64())
    tables["deliveries"] = tables["deliveries"].append_column("ack_latency_us", none).append_column("octets_missing", none.cast(pa.bool_()))
    with query.opened({**tables, "journeys": joined(tables)}) as database:
        rows = database.sql(DESTINATION_MINUTES.query().sql).to_arrow_table().to_pylist()
    backlog = [(row["destination_name"], row["messages"], row["redeliveries"], row["backlog_change"]) for row in rows]
    assert sorted(backlog) == [("queue/a", 0, 0, -1), ("queue/a", 1, 0, 1), ("queue/dead", 2, 1, 0)]
