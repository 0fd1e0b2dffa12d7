"""Facts: what came before each frame, what the capture may have missed, and for how long a name is known."""

from __future__ import annotations

import pytest

from stompcap.session import Options
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN
from tests.session.forgetting import LATE, OPEN, SUBSCRIBE, UNSUBSCRIBE
from tests.session.transcript import picked, run


def test_what_came_before() -> None:
    text = "> SEND destination:a\n< ERROR message:no\n> CONNECT\n> DISCONNECT\n< RECEIPT\n> SEND destination:a\n"
    facts = run(OPEN + text, OPEN).facts
    assert facts.previous.tolist() == [-1, -1, 0, 1, 2, 4, 3, 5, -1, -1]
    assert facts.latest_client.tolist() == [-1, 0, 0, 2, 2, 4, 5, 5, -1, 8]
    assert facts.connects_before.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 0, 1]
    assert (facts.connected_ns >= 0).tolist() == [False] * 2 + [True] * 6 + [False] * 2
    assert facts.disconnected_before.tolist() == [False] * 6 + [True] * 2 + [False] * 2
    assert facts.errors_before.tolist() == [0] * 4 + [1] * 4 + [0] * 2


def test_session_facts() -> None:
    facts = run(OPEN + "< ERROR message:x\n> DISCONNECT\n@50 < FIN\n@60 > FIN\n", "> SEND destination:a\n").sessions
    assert facts.version.tolist() == [2, -1]
    assert facts.close_kind.tolist() == [0, 2]
    assert facts.closed_by.tolist() == [1, -1]
    assert (facts.closed_ns[0] - facts.opened_ns[0], facts.closed_ns[1]) == (50_000_000, -1)
    assert facts.end_ns[0, 0] - facts.end_ns[0, 1] == 10_000_000
    assert facts.shut[:, 0].tolist() == [True, False]


def test_a_gap_lies_between_the_packets_around_it() -> None:
    said = "> SEND destination:a\n< MESSAGE message-id:1\n> GAP 20\n< MESSAGE message-id:2\n> SEND destination:b\n"
    analysis = run(OPEN + said + "< MESSAGE message-id:3\n> FIN\n< FIN\n")
    #                                             CONNECT CONNECTED SEND  MESSAGE MESSAGE SEND MESSAGE
    assert analysis.facts.missed_c2s.tolist() == [False, False, False, True, True, True, True]
    assert not analysis.facts.missed_s2c.any()
    assert analysis.sessions.gaps.tolist() == [[1, 0]]


@pytest.mark.parametrize(("text", "seen", "missed"), [
    ("> SEND destination:a\n< MESSAGE message-id:1\n> FIN\n", False, (True, True)),  # a capture that begins in the middle
    (OPEN + "> FIN\n", False, (False, False)),  # a stream that opens a session begins there
    ("< CONNECTED version:1.2\n< MESSAGE message-id:1\n< FIN\n", True, (True, False)),  # a direction that was not captured
    ("> CONNECT\n> SEND destination:a\n> FIN\n", True, (False, False)),  # a silent server is no gap
])
def test_beginnings(text: str, seen: bool, missed: tuple[bool, bool]) -> None:
    facts = run(text, syn=seen, synack=seen).facts
    assert set(zip(facts.missed_c2s.tolist(), facts.missed_s2c.tolist(), strict=True)) == {missed}


def test_repeated_message_and_ack_ids() -> None:
    each, other = (f"< MESSAGE message-id:{n} ack:1 subscription:1 destination:a\n" for n in (1, 2))
    facts = run(OPEN + "> SUBSCRIBE id:1 destination:a ack:client\n" + each * 2 + "> ACK id:1\n" * 2 + other).facts
    assert facts.copy_of[3:].tolist() == [-1, 0, -1, -1, -1]
    assert facts.ack_in_use[3:].tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(("said", "within"), [(LATE, ENDED), (UNSUBSCRIBE, ENDED), (SUBSCRIBE, ENDED)])
def test_known_by_its_id_for_as_many_frames_as_are_retained(said: str, within: int) -> None:
    for frames, expected in ((3, within), (4, UNKNOWN)):
        analysis = run(OPEN + SUBSCRIBE + UNSUBSCRIBE + "> SEND\n" * (frames - 1) + said + "< EOL\n", options=Options(retention=3))
        assert analysis.facts.subscription_state[-1] == expected, frames


def test_what_is_active_is_known_for_ever() -> None:
    """By the id that a newer one took as well, though that one ended long ago."""
    again = "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n"
    for middle in ("", again, 2 * again):
        analysis = run(OPEN + SUBSCRIBE + middle + "> SEND\n" * 9 + LATE, options=Options(retention=3))
        assert analysis.facts.subscription_state[-1] == ACTIVE
        assert picked(analysis.tables["subscriptions"], "delivered")[0] == (1,)


def test_a_message_under_way_is_told_by_its_destination_for_as_long() -> None:
    taken_anew = SUBSCRIBE + UNSUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n"
    for frames, delivered in ((3, [(1,), (0,)]), (4, [(0,), (1,)])):
        tables = run(OPEN + taken_anew + "> SEND\n" * (frames - 2) + LATE, options=Options(retention=3)).tables
        assert picked(tables["subscriptions"], "delivered") == delivered
