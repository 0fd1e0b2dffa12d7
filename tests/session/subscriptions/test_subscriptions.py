"""Subscriptions: their rows, and which one a frame means."""

from __future__ import annotations

import pytest

from stompcap.codes import MODE_AUTO, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL, MODE_OTHER, MODE_UNKNOWN
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN, UNNAMED
from tests.session.transcript import picked, run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"

ENDS = [
    ("", [("1", "open")]),
    ("> UNSUBSCRIBE id:1\n", [("1", "unsubscribed")]),
    ("> UNSUBSCRIBE id:2\n", [("1", "open")]),
    ("> DISCONNECT\n", [("1", "ended")]),
    ("< RST\n", [("1", "ended")]),
    ("> UNSUBSCRIBE id:1\n> SUBSCRIBE id:1 destination:/queue/a\n> FIN\n", [("1", "unsubscribed"), ("1", "ended")]),
    ("> SUBSCRIBE id:1 destination:/queue/b\n> UNSUBSCRIBE id:1\n", [("1", "unsubscribed"), ("1", "unsubscribed")]),
    ("> SUBSCRIBE destination:/queue/b\n> UNSUBSCRIBE destination:/queue/b\n", [("1", "open"), ("/queue/b", "unsubscribed")]),
    ("> UNSUBSCRIBE destination:/queue/a\n", [("1", "unsubscribed")]),
    ("> UNSUBSCRIBE\n", [("1", "open")]),
    ("> SUBSCRIBE\n", [("1", "open"), (None, "open")]),
    ("< UNSUBSCRIBE id:1\n", [("1", "open")]),
]


@pytest.mark.parametrize(("text", "expected"), ENDS)
def test_ends(text: str, expected: list[tuple[object, ...]]) -> None:
    analysis = run(OPEN + "> SUBSCRIBE id:1 destination:/queue/a\n" + text)
    assert picked(analysis.tables["subscriptions"], "subscription", "status") == expected


COLUMNS = [
    ("id:1 destination:/queue/a", ("1", "/queue/a", "auto", None)),
    ("id:1 destination:/queue/a ack:client", ("1", "/queue/a", "client", None)),
    ("id:1 destination:/queue/a ack:client-individual prefetch-count:10", ("1", "/queue/a", "client-individual", 10)),
    ("id:1 destination:/queue/a ack:often activemq.prefetchSize:5", ("1", "/queue/a", "often", 5)),
    ("id:1 destination:/queue/a consumer-window-size:-1", ("1", "/queue/a", "auto", -1)),
    ("id:1 destination:/queue/a prefetch-count:many", ("1", "/queue/a", "auto", None)),
    ("destination:/queue/a", ("/queue/a", "/queue/a", "auto", None)),
]


@pytest.mark.parametrize(("headers", "expected"), COLUMNS)
def test_columns(headers: str, expected: tuple[object, ...]) -> None:
    analysis = run(OPEN + f"> SUBSCRIBE {headers}\n")
    assert picked(analysis.tables["subscriptions"], "subscription", "destination", "ack_mode", "prefetch") == [expected]


def test_times() -> None:
    [row] = run(OPEN + "@10 > SUBSCRIBE id:1 destination:a\n@25 > UNSUBSCRIBE id:1\n").tables["subscriptions"].to_pylist()
    assert row["unsubscribed_ns"] - row["subscribed_ns"] == 15_000_000


def test_states() -> None:
    text = OPEN + """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE subscription:1 message-id:1 destination:/queue/a
    < MESSAGE subscription:9 message-id:2 destination:/queue/a
    < MESSAGE message-id:3 destination:/queue/a
    > SUBSCRIBE id:1 destination:/queue/a
    > UNSUBSCRIBE id:1
    < MESSAGE subscription:1 message-id:4 destination:/queue/a
    > UNSUBSCRIBE id:1
    > SUBSCRIBE id:1 destination:/queue/b ack:client-individual
    < MESSAGE subscription:1 message-id:5 destination:/queue/b
    > SUBSCRIBE id:2 destination:/queue/b ack:seldom
    < MESSAGE subscription:2 message-id:6 destination:/queue/b
    """
    facts = run(text).facts
    assert facts.subscription_state[2:].tolist() == [
        UNKNOWN, ACTIVE, UNKNOWN, UNNAMED, ACTIVE, ACTIVE, ENDED, ENDED, ENDED, ACTIVE, UNKNOWN, ACTIVE
    ]
    assert facts.same_destination[2:].tolist() == [0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 2]
    u, c, a, i, o = MODE_UNKNOWN, MODE_CLIENT, MODE_AUTO, MODE_CLIENT_INDIVIDUAL, MODE_OTHER
    assert facts.ack_mode[2:].tolist() == [u, c, u, c, u, u, a, u, u, i, u, o]


def test_acks_know_the_subscription_of_their_message() -> None:
    text = OPEN + """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE subscription:1 message-id:1 ack:1 destination:/queue/a
    < MESSAGE subscription:1 message-id:2 ack:2 destination:/queue/a
    > ACK id:1
    > UNSUBSCRIBE id:1
    > ACK id:2
    > ACK id:3
    """
    facts = run(text).facts
    assert facts.subscription_state[[5, 7, 8]].tolist() == [ACTIVE, ENDED, UNNAMED]
    assert facts.ack_mode[[5, 7, 8]].tolist() == [MODE_CLIENT, MODE_CLIENT, MODE_UNKNOWN]
