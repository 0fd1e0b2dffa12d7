"""Which connections are flagged as refused, looping, too many or answered with ERRORs: cases."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.incidents import connection_events as kinds
from tests.pipelines.incidents.connections import Traffic, at, events, possible_in, told

WRONG = {"outcome": "refused", "close_cause": "refused", "error_message": "Bad CONNECT", "error_detail": "Access refused for user 'x'\n"}
NO_ANSWER = {"octets_c2s": 0, "octets_s2c": 0, "synack_seen": False, "close_kind": "rst", "closed_by": "server", "protocol": "other"}
SAID = "login billing 10.0.0.1:61613 Bad CONNECT: Access refused for user 'x'"


def repeated(times: int, every: float, lives: float = 0.5, begin: float = 0, traffic: Traffic | None = None, **values: Any) -> Traffic:
    found = traffic or Traffic()
    for number in range(times):
        found.session(begin + number * every, begin + number * every + lives, **values)
    return found


def resets(times: int, every: float, traffic: Traffic | None = None, **values: Any) -> Traffic:
    found = traffic or Traffic()
    for number in range(times):
        found.tcp(number * every, number * every + 0.001, **NO_ANSWER | values)
    return found


def consumers(times: int, every: float, lives: float, **values: Any) -> Traffic:
    found = Traffic()
    for number in range(times):
        found.session(number * every, number * every + lives, **values).of_last("subscriptions", subscribe_offset=90)
    return found


CASES = {
    "a wrong password in a loop": (kinds.REFUSED, repeated(38, 2, **WRONG), [f"{SAID} x38"]),
    "a wrong password, a minute between": (kinds.REFUSED, repeated(5, 60, **WRONG), [f"{SAID} x5"]),
    "a wrong password once": (kinds.REFUSED, repeated(1, 2, **WRONG), [f"{SAID} x1"]),
    "three in a day": (kinds.REFUSED, repeated(3, 1100, **WRONG), [f"{SAID} x3"]),
    "a masked login is none": (
        kinds.REFUSED, repeated(3, 2, login="***", client_id="pay-7", **WRONG),
        ["client pay-7 10.0.0.1:61613 Bad CONNECT: Access refused for user 'x' x3"],
    ),
    "an address where there is no name": (
        kinds.REFUSED, repeated(3, 2, login=None, **WRONG), ["client 10.0.0.5 10.0.0.1:61613 Bad CONNECT: Access refused for user 'x' x3"],
    ),
    "a trace of Java is left out": (
        kinds.REFUSED, repeated(3, 2, **WRONG | {"error_detail": "java.lang.SecurityException: no\n\tat x"}),
        ["login billing 10.0.0.1:61613 Bad CONNECT x3"],
    ),
    "numbers do not tell texts apart": (
        kinds.REFUSED, repeated(2, 2, traffic=repeated(2, 2, **WRONG | {"error_detail": "try 1"}), **WRONG | {"error_detail": "try 2"}),
        ["login billing 10.0.0.1:61613 Bad CONNECT: try # x4"],
    ),
    "no answer": (kinds.UNANSWERED, repeated(3, 30, lives=20, outcome="unanswered"), ["login billing unanswered x3"]),
    "no answer that was captured": (kinds.UNANSWERED, repeated(3, 30, outcome="unanswered", gap_octets=9), []),
    "a broker that closes without an answer": (
        kinds.UNANSWERED, repeated(4, 30, outcome="unanswered", stream={"closed_by": "server"}), ["broker 10.0.0.1:61613 closed x4"],
    ),
    "SYNs refused": (kinds.CONNECT_REFUSED, resets(10, 3), ["client 10.0.0.5 10.0.0.1:61613 x10"]),
    "SYNs refused at a port of something else": (kinds.CONNECT_REFUSED, resets(10, 3, server_port=8080), []),
    "SYNs refused at a port that spoke STOMP": (
        kinds.CONNECT_REFUSED, resets(10, 3, Traffic().session(-90, -60, stream={"server_port": 8080}), server_port=8080),
        ["client 10.0.0.5 10.0.0.1:8080 x10"],
    ),
    "consumers that come and go": (kinds.RECONNECT_LOOP, consumers(11, 8, 6), ["login billing 10.0.0.1:61613 x11"]),
    "consumers that leave as they should": (kinds.RECONNECT_LOOP, consumers(11, 8, 6, close_cause="disconnect"), []),
    "consumers that live long": (kinds.RECONNECT_LOOP, consumers(5, 150, 140), []),
    "consumers cut at once": (kinds.RECONNECT_LOOP, consumers(11, 0, 6), []),
    "producers that leave by a bare FIN": (kinds.RECONNECT_LOOP, repeated(11, 8, 6), []),
    "producers that are reset": (kinds.RECONNECT_LOOP, repeated(11, 8, 6, close_cause="reset"), ["login billing 10.0.0.1:61613 x11"]),
    "producers that the broker closes": (
        kinds.RECONNECT_LOOP, repeated(11, 8, 6, ended_by="server"), ["login billing 10.0.0.1:61613 x11"],
    ),
    "a storm": (
        kinds.STORMS, repeated(100, 0.5, begin=1205, traffic=repeated(20, 60)), ["login billing storm x1"],
    ),
    "as many as ever": (kinds.STORMS, repeated(1000, 0.5), []),
    "many before the past is known": (kinds.STORMS, repeated(100, 0.5, begin=60), []),
    "an ERROR again and again": (
        kinds.ERRORS, repeated(4, 9, 8, close_cause="error", error_message="precondition_failed"), ["login billing precondition_failed x4"],
    ),
    "ERRORs that differ in what they list": (
        kinds.ERRORS, repeated(2, 9, error_message="no [a, 1]", traffic=repeated(2, 9, error_message="no [b]")),
        ["login billing no x4"],
    ),
    "ERRORs that say that heart-beats were missed": (
        kinds.ERRORS, repeated(4, 9, close_cause="heartbeat_client", error_message="no data within 6000ms"), [],
    ),
    "different ERRORs": (
        kinds.ERRORS, Traffic().session(0, 1, error_message="a").session(2, 3, error_message="b").session(4, 5, error_message="c"),
        ["login billing a x1", "login billing b x1", "login billing c x1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_flagged(case: str) -> None:
    sql, traffic, expected = CASES[case]
    assert told(traffic, sql) == expected
    assert not expected or sql in [kind.sql for kind in possible_in(traffic)]


def in_hand(*bodies: int) -> Traffic:
    """Short connections of a consumer, each of which ends with such a message in hand."""
    found = consumers(len(bodies), 8, 6)
    for stream, body in zip(found.rows["streams"], bodies, strict=True):
        row = {"stream_offset": 90, "destination_name": "queue/a", "status": "unsettled", "body_hash": body}
        found.add("deliveries", stream_id=stream["stream_id"], **row)
    return found


@pytest.mark.parametrize(("bodies", "same"), [((5,) * 6, {1.0}), ((5, 5, 5, 5, 6, 5), {1.0, 0.0})], ids=["one message", "others"])
def test_a_loop_tells_whether_it_ends_with_the_same_message_each_time(bodies: tuple[int, ...], same: set[float]) -> None:
    rows = events(in_hand(*bodies), kinds.RECONNECT_LOOP)
    assert {row["before"] for row in rows} - {None} == same


def test_a_loop_of_one_message_may_be_beside_its_like_elsewhere() -> None:
    traffic = in_hand(*(5,) * 6).session(0, 600, login="other")
    traffic.of_last("deliveries", stream_offset=7, destination_name="queue/b", body_hash=5, settled_ns=at(9))
    assert {row["before"] for row in events(traffic, kinds.RECONNECT_LOOP)} - {None} == {1.0}


def test_who_refuses_is_known_by_those_that_it_lets_in() -> None:
    traffic = repeated(3, 2, server_product=None, traffic=Traffic().session(0, 9, login="shop"), **WRONG)
    rows = events(traffic, kinds.REFUSED)
    assert [(row["server_product"], row["what"].split()[0]) for row in rows] == [("RabbitMQ", "10.0.0.1:61613")] * 3


def test_each_error_of_a_session_counts() -> None:
    traffic = Traffic().session(0, 9, error_message="Bad transaction", error_detail="no transaction 1", close_cause="disconnect")
    said = (("Bad transaction", "no transaction 1"), ("Bad transaction", "no transaction 2"), ("Full", ""))
    for second, (message, detail) in enumerate(said):
        traffic.of_last(
            "frames", command="ERROR", direction="s2c", stream_offset=100 * second, first_ns=at(second), header={"message": message},
            body_preview=detail,
        )  # fmt: skip
    assert told(traffic, kinds.ERRORS) == ["login billing Bad transaction: no transaction # x2", "login billing Full x1"]
    assert [row["begin_ns"] for row in events(traffic, kinds.ERRORS)] == [at(0), at(1), at(2)]


def test_an_error_to_a_client_that_has_left_is_none() -> None:
    traffic = Traffic().session(0, 9, error_message="Connection to broker closed.", close_cause="disconnect")
    for offset in (100, 300):
        traffic.of_last("frames", command="ERROR", direction="s2c", stream_offset=offset, first_ns=at(1), header={"message": "closed"})
    traffic.of_last("compliance_findings", rule_id="DS-06", side="server", level="I", direction="s2c", stream_offset=200, ts_ns=at(1))
    assert [row["stream_offset"] for row in events(traffic, kinds.ERRORS)] == [100]


def test_an_error_names_the_one_destination_that_its_session_sends_to() -> None:
    traffic = Traffic()
    for queues in (("queue/a", "queue/a"), ("queue/a", "queue/b")):
        traffic.session(0, 9, error_message="full", close_cause="error")
        for number, name in enumerate(queues):
            traffic.of_last("sends", stream_offset=number, destination_name=name, sent_ns=at(number))
    assert [row["destination_name"] for row in events(traffic, kinds.ERRORS)] == ["queue/a", None]
