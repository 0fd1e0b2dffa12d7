"""Which SEND a MESSAGE comes from: cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pipelines.metrics.journey_cases import Traffic

H = 3600
UNIQUE = "unique 0 5"
UNKNOWN = ["ambiguous unknown"] * 2 + ["SEND ambiguous unknown"] * 2


def amq(number: int, connection: str = "ID:host-1-2-3:7") -> dict[str, Any]:
    """What a message-id of ActiveMQ says."""
    return {"message_id": f"{connection}:-1:1:{number}", "producer_session": connection, "producer_number": number}


def midstream(*names: str) -> Traffic:
    """Traffic of which some connections were open before the capture."""
    traffic = Traffic()
    for name in names:
        traffic.connection(name, syn_seen=False, synack_seen=False)
    return traffic


def of_another_broker() -> Traffic:
    """Traffic in which consumer `c` has another broker than producer `p`."""
    traffic = Traffic()
    traffic.connection("c", broker="Artemis")
    return traffic


def with_activemq() -> Traffic:
    """Traffic of ActiveMQ, whose connection `p` has its id."""
    traffic = Traffic("ActiveMQ")
    traffic.connection("p", session="ID:host-1-2-3:7")
    return traffic


def through_a_proxy(broker: str = "RabbitMQ", *clients: str) -> Traffic:
    """Traffic in which connections of these clients, by default `p` and `c`, go on behind a proxy as `p2` and `c2`."""
    traffic = Traffic(broker)
    for client in clients or ("p", "c"):
        session = f"ID:host-1-2-3:{client}"
        traffic.connection(client, session=session, connect_latency_us=5000)
        traffic.connection(f"{client}2", session=session, connect_latency_us=3000, first_ns=Traffic.at(0.001))
    return traffic


CASES = {
    "one SEND and one MESSAGE": (Traffic().send(0).got(5), [UNIQUE]),
    "another destination": (Traffic().send(0).got(5, of="queue/b"), ["none no_send", "SEND none no_consumer"]),
    "another body": (Traffic().send(0).got(5, 2), ["none no_send", "SEND none unknown"]),
    "a MESSAGE before its SEND": (Traffic().send(5).got(0), ["none no_send", "SEND none unknown"]),
    "a MESSAGE behind the horizon": (Traffic().send(0).got(H + 1), ["none no_send", "SEND none unknown"]),
    "a SEND not long ago": (Traffic(end=H - 1).send(0), ["SEND none not_yet"]),
    "an aborted SEND": (
        Traffic().send(0, effective_ns=None, transaction_outcome="aborted").got(5), ["none no_send", "SEND none aborted"],
    ),
    "a refused SEND": (Traffic().send(0, receipt_status="refused").got(5), ["none no_send", "SEND none refused"]),
    "a transaction": (Traffic().send(0, effective_ns=Traffic.at(3), transaction_outcome="committed").got(5), ["unique 0 2"]),
    "a MESSAGE before the COMMIT": (
        Traffic().send(0, effective_ns=Traffic.at(3), transaction_outcome="committed").got(2), ["none no_send", "SEND none unknown"],
    ),
    "a transaction of unknown end": (
        Traffic().send(0, effective_ns=None, transaction_outcome="unknown").got(5), ["unique 0 None"],
    ),
    "equal bodies in order": (Traffic().send(0).send(1).got(5).got(6), ["ordered 0 5", "ordered 1 5"]),
    "equal bodies one after the other": (Traffic().send(0).got(5).send(10).got(15), [UNIQUE, "ordered 10 5"]),
    "equal bodies in two hours": (Traffic().send(0).got(5).send(2 * H).got(2 * H + 5), [UNIQUE, "unique 7200 5"]),
    "two SENDs and one MESSAGE": (
        Traffic().send(0).send(1).got(5), ["ambiguous unknown", "SEND ambiguous unknown", "SEND ambiguous unknown"],
    ),
    "one SEND and two MESSAGEs of a queue": (
        Traffic().send(0).got(5).got(6), ["ambiguous unknown", "ambiguous unknown", "SEND ambiguous unknown"],
    ),
    "a producer that was not captured sends the same": (
        Traffic().send(0).got(1).send(2).got(3).got(4),
        ["ambiguous unknown"] * 3 + ["SEND ambiguous unknown"] * 2,
    ),
    "fan-out": (
        Traffic().send(0, to="topic/a").got(5, of="topic/a").got(6, of="topic/a", by="d"), [UNIQUE, "unique 0 6"],
    ),
    "fan-out of equal bodies": (
        Traffic().send(0, to="topic/a").send(1, to="topic/a").got(5, of="topic/a").got(5, of="topic/a", by="d")
        .got(6, of="topic/a").got(7, of="topic/a", by="d"),
        ["ordered 0 5", "ordered 0 5", "ordered 1 5", "ordered 1 6"],
    ),
    "one subscriber of two gets the second alone": (
        Traffic().send(0, to="topic/a").send(1, to="topic/a").got(5, of="topic/a").got(6, of="topic/a").got(6, of="topic/a", by="d"),
        ["ordered 0 5", "ordered 1 5", "ambiguous unknown"],
    ),
    "fan-out where the broker tells no queue from a topic": (
        Traffic().send(0, to="x").got(5, of="x").got(6, of="x", by="d"), ["ambiguous unknown"] * 2 + ["SEND ambiguous unknown"],
    ),
    "the same with a header that one SEND has": (
        Traffic().send(0, to="x", own_id=True).got(5, of="x").got(6, of="x", by="d"), [UNIQUE, "unique 0 6"],
    ),
    "a hole in which such a SEND has room": (
        Traffic().send(0).hole(1, 60, of="q").got(5), ["ambiguous octets_lost", "SEND ambiguous unknown"],
    ),
    "a hole that is too small": (Traffic().send(0).hole(1, 59, of="q").got(5), [UNIQUE]),
    "a hole, and a header that one SEND has": (Traffic().send(0, own_id=True).hole(1, 600, of="q").got(5), [UNIQUE]),
    "a hole of the broker's": (Traffic().send(0).hole(1, 600, of="c", direction="s2c").got(5), [UNIQUE]),
    "a MESSAGE without its SEND, and a hole": (Traffic().hole(1, 60, of="q").got(5), ["none octets_lost"]),
    "a SEND without its MESSAGE, and a hole": (
        Traffic().send(0).hole(1, 60, of="c", direction="s2c"), ["SEND none octets_lost"],
    ),
    "a hole two hours earlier": (Traffic().hole(0, 60).send(3 * H).got(3 * H + 5), ["unique 10800 5"]),
    "a redelivery that is marked": (Traffic().send(0).got(5).got(9, redelivered=True), [UNIQUE, "unique 0 None"]),
    "a redelivery without the first": (Traffic().send(0).got(9, redelivered=True), ["unique 0 None"]),
    "a redelivery of what a producer sent that was not captured": (
        Traffic().got(1).send(2).got(3, redelivered=True), ["none no_send", "ambiguous unknown", "SEND ambiguous unknown"],
    ),
    "equal bodies of two producers that wait together": (
        Traffic().send(0).send(1, by="q").got(5).got(6), ["ambiguous unknown"] * 2 + ["SEND ambiguous unknown"] * 2,
    ),
    "a redelivery to another consumer": (Traffic().send(0).got(5).got(9, by="d", redelivered=True), [UNIQUE, "unique 0 None"]),
    "a redelivery by its id": (
        Traffic("Artemis").send(0).got(5, message_id="9").got(7, by="d", message_id="9").got(9, message_id="9"),
        [UNIQUE, "unique 0 None", "unique 0 None"],
    ),
    "a redelivery to another consumer of Artemis, which puts that consumer's number before the id": (
        Traffic("Artemis").send(0).got(5, message_id="27,9", status="unsettled").got(7, by="d", message_id="35,9", redelivered=True),
        [UNIQUE, "unique 0 None"],
    ),
    "a message that Artemis has back from a consumer that unsubscribed": (
        Traffic("Artemis").send(0).got(5, message_id="27,9", status="unsettled").got(7, message_id="35,9"), [UNIQUE, "unique 0 None"],
    ),
    "copies of a multicast address of Artemis": (
        Traffic("Artemis").send(0).got(5, message_id="27,9", status="settled").got(7, by="d", message_id="35,9", status="unsettled"),
        [UNIQUE, "unique 0 7"],
    ),
    "messages of Artemis whose numbers differ, in order": (
        Traffic("Artemis").send(0).send(1).got(5, message_id="27,9").got(7, message_id="27,11"), ["ordered 0 5", "ordered 1 6"],
    ),
    "equal ids of RabbitMQ say nothing": (
        Traffic().send(0).got(5, message_id="9").got(7, by="d", message_id="9"), ["ambiguous unknown"] * 2 + ["SEND ambiguous unknown"],
    ),
    "the connection and number that the id names": (
        with_activemq().send(0, number=1).send(1, number=2).got(5, **amq(2)).got(6, **amq(1)),
        ["identity 1 4", "identity 0 6"],
    ),
    "the id, under another destination": (
        with_activemq().send(0, number=1, to="topic/VirtualTopic.a").got(5, **amq(1), of="queue/Consumer.x.VirtualTopic.a"),
        ["identity 0 5"],
    ),
    "the id, delivered again": (
        with_activemq().send(0, number=1).got(5, **amq(1)).got(8, **amq(1), redelivered=True),
        ["identity 0 5", "identity 0 None"],
    ),
    "the id of a SEND that was not captured": (
        with_activemq().send(0, number=1).got(5, **amq(2)), ["none no_send", "SEND none unknown"],
    ),
    "the id of a producer that was not captured": (
        with_activemq().send(0, number=1).got(5, **amq(1, "ID:host-1-2-3:8")), ["none no_send", "SEND none unknown"],
    ),
    "a producer whose beginning was not captured": (
        Traffic("ActiveMQ").send(0).got(5, **amq(7)), [UNIQUE],
    ),
    "the broker's time": (Traffic("Artemis").got(5, broker_timestamp_us=Traffic.at(2) // 1000), ["timestamp"]),
    "a body without a digest": (Traffic().send(0, None).got(5, None), ["none unknown", "SEND none unknown"]),
    "another capture point": (Traffic().send(0).got(5), [UNIQUE]),
    "a producer from before the capture, equal bodies": (midstream("p").send(0).got(5).send(10).got(15), UNKNOWN),
    "a consumer from before the capture, equal bodies": (midstream("c").send(0).got(5).send(10).got(15), UNKNOWN),
    "another client from before the capture": (midstream("q").send(0).got(5).send(10).got(15), [UNIQUE, "ordered 10 5"]),
    "a producer from before the capture, one body": (midstream("p", "c").send(0).got(5), [UNIQUE]),
    "a producer from before the capture, and a header that one SEND has": (
        midstream("p").send(0, own_id=True).got(5).send(2 * H).got(2 * H + 5), [UNIQUE, "unique 7200 5"],
    ),
    "a producer from long before": (
        midstream("p").send(2 * H).got(2 * H + 5).send(2 * H + 10).got(2 * H + 15), ["unique 7200 5", "ordered 7210 5"],
    ),
    "a producer from before the capture, and a redelivery": (
        midstream("p").send(0).got(5).got(6, redelivered=True).send(10).got(15),
        ["ambiguous unknown"] * 3 + ["SEND ambiguous unknown"] * 2,
    ),
    "a producer from before the capture, and a redelivery of one body": (
        midstream("p").send(0).got(5).got(6, redelivered=True), [UNIQUE, "unique 0 None"],
    ),
    "a consumer from before the capture, and a redelivery of which the first was not captured": (
        midstream("c").send(0).got(5, redelivered=True), ["ambiguous unknown", "SEND ambiguous unknown"],
    ),
    "a producer from before the capture, and a new subscription of a topic": (
        midstream("p").send(0, to="topic/a").got(5, of="topic/a").send(10, to="topic/a").got(15, of="topic/a"), [UNIQUE, "ordered 10 5"],
    ),
    "both sides of a proxy": (
        through_a_proxy().send(0).send(1, by="p2").got(5, by="c2").got(6), ["unique 1 4", "unique 0 6"],
    ),
    "equal bodies on both sides of a proxy": (
        through_a_proxy().send(0).send(1, by="p2").send(2).send(3, by="p2").got(5, by="c2").got(6).got(7, by="c2").got(8),
        ["ordered 1 4", "ordered 0 6", "ordered 3 4", "ordered 2 6"],
    ),
    "a topic on both sides of a proxy": (
        through_a_proxy().send(0, to="topic/a").send(1, by="p2", to="topic/a").got(5, by="c2", of="topic/a").got(6, of="topic/a"),
        ["unique 1 4", "unique 0 6"],
    ),
    "ids of messages on both sides of a proxy": (
        through_a_proxy("ActiveMQ").send(0, number=1).send(1, by="p2", number=1)
        .got(5, by="c2", **amq(1, "ID:host-1-2-3:p")).got(6, **amq(1, "ID:host-1-2-3:p")),
        ["identity 1 4", "unique 0 6"],
    ),
    "equal ids of Artemis on both sides of a proxy": (
        through_a_proxy("Artemis").send(0).send(1, by="p2").got(5, by="c2", message_id="9").got(6, message_id="9"),
        ["unique 1 4", "unique 0 6"],
    ),
    "a redelivery on both sides of a proxy": (
        through_a_proxy().send(0).send(1, by="p2").got(5, by="c2").got(6).got(8, by="c2", redelivered=True).got(9, redelivered=True),
        ["unique 1 4", "unique 0 6", "unique 1 None", "unique 0 None"],
    ),
    "a consumer that does not go through the proxy": (
        through_a_proxy("RabbitMQ", "p").send(0).send(1, by="p2").got(5), ["unique 1 4", "SEND none unknown"],
    ),
    "a producer that does not go through the proxy": (
        through_a_proxy("RabbitMQ", "c").send(0).got(5, by="c2").got(6), [UNIQUE, "none unknown"],
    ),
    "another broker": (of_another_broker().send(0).got(5), ["none no_send", "SEND none unknown"]),
    "another broker with the same ids": (of_another_broker().send(0, own_id=True).got(5), ["none no_send", "SEND none unknown"]),
    "two SENDs of another broker": (
        of_another_broker().send(0).send(1).got(5), ["ambiguous unknown"] + ["SEND ambiguous unknown"] * 2,
    ),
    "more than two hours without a pause": (
        Traffic().send(0).got(1).send(0.9 * H).got(0.9 * H + 1).send(1.8 * H).got(1.8 * H + 1).send(2.5 * H).got(2.5 * H + 1),
        ["ambiguous unknown"] * 4 + ["SEND ambiguous unknown"] * 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_is_joined_to_the_send_it_must_come_from(case: str) -> None:
    traffic, told = CASES[case]
    assert traffic.told() == told


def test_an_id_that_two_connections_have_names_neither() -> None:
    traffic = with_activemq().send(0, number=1)
    traffic.connection("p again", session="ID:host-1-2-3:7")
    traffic.send(0, number=1, by="p again").got(5, **amq(1)).got(6, **amq(1), by="d")
    assert traffic.told() == ["ambiguous unknown"] * 2 + ["SEND ambiguous unknown"] * 2
    assert with_activemq().send(0, number=1).got(5, **amq(1)).told() == ["identity 0 5"]


ONE = {"session": "1", "connect_latency_us": 5000}
NO_PROXY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the second is answered later": (ONE, ONE | {"connect_latency_us": 7000, "first_ns": Traffic.at(1)}),
    "the second begins when the first is over": (
        ONE | {"last_ns": Traffic.at(1)}, ONE | {"connect_latency_us": 3000, "first_ns": Traffic.at(2)},
    ),
    "other sessions": (ONE, {"session": "2", "connect_latency_us": 3000, "first_ns": Traffic.at(1)}),
    "CONNECTED names no session": (ONE | {"session": None}, {"connect_latency_us": 3000, "first_ns": Traffic.at(1)}),
    "another capture point": (ONE, ONE | {"connect_latency_us": 3000, "first_ns": Traffic.at(1), "source": "other"}),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_PROXY)
def test_only_the_first_of_two_connections_of_one_session_is_in_front_of_a_proxy(case: str) -> None:
    traffic = Traffic()
    for name, columns in zip(("p", "p2"), NO_PROXY[case], strict=True):
        traffic.connection(name, **columns)
    assert traffic.send(0).got(5).told() == [UNIQUE]


def test_three_connections_of_one_session_are_of_no_proxy() -> None:
    traffic = through_a_proxy("RabbitMQ", "p")
    traffic.connection("p3", session="ID:host-1-2-3:p", connect_latency_us=1000, first_ns=Traffic.at(1))
    assert traffic.send(0).got(5).told() == [UNIQUE]


def test_connections_of_another_capture_point_have_their_own_journeys() -> None:
    traffic = Traffic().send(0).got(5)
    traffic.connection("p2", source="other")
    traffic.connection("c2", source="other")
    traffic.send(1, by="p2").got(4, by="c2")
    assert traffic.told() == ["unique 1 3", "unique 0 5"]


def test_copies_of_a_send_are_numbered_and_redeliveries_are_not() -> None:
    traffic = Traffic("Artemis").send(0, to="topic/a")
    for at, by in ((5, "c"), (6, "d"), (7, "d")):
        traffic.got(at, by=by, of="topic/a", message_id="9")
    assert [(row["copy"], row["redelivery"]) for row in traffic.journeys()] == [(1, False), (2, False), (None, True)]


@pytest.mark.slow
def test_the_cost_of_equal_bodies_is_that_of_others() -> None:
    traffic = Traffic()
    for number in range(20_000):
        traffic.send(number / 100).got(number / 100 + 0.001)
    assert {row["joined_by"] for row in traffic.journeys()} == {"unique", "ordered"}
