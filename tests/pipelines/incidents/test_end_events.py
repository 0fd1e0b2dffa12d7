"""Which ends of connections, states of the network, broken rules and losses are flagged: cases."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.incidents import end_events as ends
from pipelines.incidents import rule_events as rules
from pipelines.incidents import wire_events as wire
from tests.pipelines.incidents.connections import Traffic, at, events, possible_in, told

SERVER = {"closed_by": "server"}
SILENT = {"close_cause": "heartbeat_client", "heartbeat_c2s_ms": 10_000}
IDLE = "FIN of the server {} s after the last octets"


def stopped(back: float | None = None, left: int = 0) -> Traffic:
    """Six connections that the broker closes at 60 s, `left` that go on, and one that comes back."""
    found = Traffic()
    for number in range(6):
        found.session(number, 60 + number / 10, stream=SERVER)
    for number in range(left):
        found.session(number, 90)
    return found.session(back, back + 9) if back is not None else found


def idle(*silences: float, **values: Any) -> Traffic:
    found = Traffic()
    for number, silent in enumerate(silences):
        found.session(number, 90 + number * 100, stream=SERVER, **{"close_evidence": IDLE.format(silent)} | values)
    return found


def again(**numbers: int) -> Traffic:
    """Addresses with so many retransmissions in a minute."""
    found = Traffic()
    for address, number in numbers.items():
        found.session(0, 90, stream={"client_ip": address})
        for at_s in range(number):
            found.of_last("stalls", direction="s2c", kind="retransmission", begin_ns=at(at_s), end_ns=at(at_s), place=0)
    return found


def far(**trips: int) -> Traffic:
    """Addresses with three connections of such a round trip in microseconds."""
    found = Traffic()
    for address, trip in trips.items():
        for number in range(3):
            found.session(number, 90, stream={"client_ip": address, "rtt_client_us": trip})
    return found


def broke(rule: str, side: str, *logins: str, kept: tuple[str, ...] = (), level: str = "M") -> Traffic:
    found = Traffic().add("rules", id=rule, title="Title")
    for login in (*logins, *kept):
        failed = login not in kept
        found.session(0, 9, login=login).of_last("compliance", rule_id=rule, applicable=1, passed=1 - failed, failed=int(failed))
        if failed:
            found.of_last("compliance_findings", rule_id=rule, level=level, side=side, direction="c2s", stream_offset=0, ts_ns=at(1))
    return found


CASES = {
    "a broker stopped": (ends.BROKER_STOPPED, stopped(), ["broker 10.0.0.1:61613 stop x6"]),
    "a broker that others are still at": (ends.BROKER_STOPPED, stopped(left=2), []),
    "a client that missed its beats": (
        ends.HEARTBEATS, Traffic().session(0, 60, stream=SERVER, **SILENT), ["login billing heartbeat_client x1"],
    ),
    "a consumer that missed its beats is said elsewhere": (
        ends.HEARTBEATS, Traffic().session(0, 60, stream=SERVER, **SILENT).of_last("subscriptions", subscribe_offset=9), [],
    ),
    "a broker that missed its beats": (
        ends.HEARTBEATS, Traffic().session(0, 60, close_cause="heartbeat_server").of_last("subscriptions", subscribe_offset=9),
        ["broker 10.0.0.1:61613 heartbeat_server x1"],
    ),
    "a client that vanished": (
        ends.VANISHED,
        Traffic().session(0, 60, close_cause="vanished", close_evidence="no FIN or RST; for 30.5 s the server repeats what it sent last"),
        ["login billing client x1"],
    ),
    "a broker that vanished": (
        ends.VANISHED,
        Traffic().session(0, 60, close_cause="vanished", close_evidence="no FIN or RST; for 30.5 s the client repeats what it sent last"),
        ["broker 10.0.0.1:61613 broker x1"],
    ),
    "idle for a minute": (ends.IDLE_CUTS, idle(60, close_cause="idle_cut"), ["login billing between x1"]),
    "idle, as the broker says": (
        ends.IDLE_CUTS, idle(60, close_cause="idle_cut", error_message="connection TTL"), ["login billing broker x1"],
    ),
    "idle for equal times": (ends.IDLE_CUTS, idle(20, 20.1, 33, 20.2), ["login billing between x3"]),
    "idle for short times": (ends.IDLE_CUTS, idle(2, 2.01, 2.02), []),
    "idle for other times": (ends.IDLE_CUTS, idle(20, 30, 40), []),
    "idle with heart-beats": (ends.IDLE_CUTS, idle(20, 20, 20, heartbeat_c2s_ms=10_000), []),
    "an address that is sent to again": (wire.RETRANSMISSIONS, again(a=40, b=2, c=1), ["network a again x1"]),
    "all addresses alike": (wire.RETRANSMISSIONS, again(a=40, b=39, c=41), []),
    "a few": (wire.RETRANSMISSIONS, again(a=15), []),
    "a long way": (wire.ROUND_TRIPS, far(a=200_000, b=900, c=1000, d=1100), ["network a far x1"]),
    "long ways": (wire.ROUND_TRIPS, far(a=200_000, b=190_000, c=180_000, d=220_000), []),
    "a client that does not read": (
        wire.CLOSED_WINDOWS,
        Traffic().session(0, 60).of_last("stalls", direction="s2c", kind="zero_window", begin_ns=at(1), end_ns=at(9), place=0),
        ["login billing client x1"],
    ),
    "a broker that does not read": (
        wire.CLOSED_WINDOWS,
        Traffic().session(0, 60).of_last("stalls", direction="c2s", kind="zero_window", begin_ns=at(1), end_ns=at(9), place=0),
        ["broker 10.0.0.1:61613 broker x1"],
    ),
    "a window closed for a moment": (
        wire.CLOSED_WINDOWS,
        Traffic().session(0, 60).of_last("stalls", direction="s2c", kind="zero_window", begin_ns=at(1), end_ns=at(2), place=0), [],
    ),
    "a rule that one breaks": (rules.BROKEN_RULES, broke("AK-01", "client", "a", kept=("b",)), ["login a AK-01 x1"]),
    "a rule that everyone breaks": (rules.BROKEN_RULES, broke("AK-01", "client", *"abcde"), ["client all clients AK-01 x5"]),
    "a rule that a broker breaks": (rules.BROKEN_RULES, broke("ER-03", "server", "a", "b"), ["broker 10.0.0.1:61613 ER-03 x2"]),
    "no MUST": (rules.BROKEN_RULES, broke("AK-01", "client", "a", level="S"), []),
    "bytes lost": (
        rules.LOST, Traffic().session(0, 9, stream={"gap_octets_c2s": 70}).session(0, 9), ["capture default lost x1"],
    ),
    "packets cut": (
        rules.CUT, Traffic().session(0, 9, stream={"gap_octets_c2s": 70, "truncated_octets_c2s": 70}), ["capture default cut x1"],
    ),
    "bytes cut are not lost": (rules.LOST, Traffic().session(0, 9, stream={"gap_octets_c2s": 70, "truncated_octets_c2s": 70}), []),
    "one direction": (rules.ONE_WAY, Traffic().session(0, 9, stream={"history": "SADAF"}).session(0, 9), ["capture default one way x1"]),
    "clocks that differ": (rules.CLOCKS, Traffic().session(0, 9, stream={"acks_against_time": 3}), ["capture default clocks x1"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_flagged(case: str) -> None:
    sql, traffic, expected = CASES[case]
    assert told(traffic, sql) == expected
    assert not expected or sql in [kind.sql for kind in possible_in(traffic)]


def test_a_broker_is_back_when_a_client_is_answered() -> None:
    gone, back = events(stopped(), ends.BROKER_STOPPED), events(stopped(66), ends.BROKER_STOPPED)
    assert gone[0]["begin_ns"] == at(60)
    assert {row["end_ns"] for row in gone} == {None}
    assert {row["end_ns"] for row in back} == {at(66)}
