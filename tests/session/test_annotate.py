"""Annotations: what came before each frame, and what the capture may have missed."""

from __future__ import annotations

from tests.session.transcript import run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"


def test_what_came_before() -> None:
    text = OPEN + """
    > SEND destination:a
    < ERROR message:no
    > CONNECT
    > DISCONNECT
    < RECEIPT
    > SEND destination:a
    """
    notes = run(text).notes
    assert notes.previous.tolist() == [-1, -1, 0, 1, 2, 4, 3, 5]
    assert notes.connects_before.tolist() == [0, 1, 1, 1, 1, 2, 2, 2]
    assert notes.connected_before.tolist() == [False, False, True, True, True, True, True, True]
    assert notes.disconnect_before.tolist() == [-1, -1, -1, -1, -1, -1, 5, 5]
    assert notes.error_before.tolist() == [-1, -1, -1, -1, 3, 3, 3, 3]


def test_sessions_begin_anew() -> None:
    notes = run(OPEN + "> DISCONNECT\n", OPEN).notes
    assert notes.previous.tolist() == [-1, -1, 0, -1, -1]
    assert notes.connected_before.tolist() == [False, False, True, False, False]
    assert notes.disconnect_before.tolist() == [-1] * 5


def test_session_facts() -> None:
    facts = run(OPEN + "< ERROR message:x\n> DISCONNECT\n@50 < FIN\n@60 > FIN\n", "> SEND destination:a\n").notes.sessions
    assert facts.connect.tolist() == [0, -1]
    assert facts.connected.tolist() == [1, -1]
    assert facts.error.tolist() == [2, -1]
    assert facts.disconnect.tolist() == [3, -1]
    assert facts.version.tolist() == [2, -1]
    assert facts.close_kind.tolist() == [0, 2]
    assert facts.closed_by.tolist() == [1, -1]
    assert (facts.closed_ns[0] - facts.opened_ns[0], facts.closed_ns[1]) == (50_000_000, -1)
    assert facts.end_c2s[0] - facts.end_s2c[0] == 10_000_000
    assert facts.shut_c2s.tolist() == [True, False]


def test_a_gap_lies_between_the_packets_around_it() -> None:
    text = OPEN + """
    > SEND destination:a
    < MESSAGE message-id:1
    > GAP 20
    < MESSAGE message-id:2
    > SEND destination:b
    < MESSAGE message-id:3
    > FIN
    < FIN
    """
    notes = run(text).notes
    #                                    CONNECT CONNECTED SEND  MESSAGE MESSAGE SEND MESSAGE
    assert notes.missed_c2s.tolist() == [False, False, False, True, True, True, True]
    assert notes.missing_later_c2s.tolist() == [True, True, True, True, True, False, False]
    assert not notes.missed_s2c.any()
    assert not notes.missing_later_s2c.any()
    assert notes.sessions.gaps_c2s.tolist() == [True]
    assert notes.sessions.gaps_s2c.tolist() == [False]


def test_an_open_stream_goes_on_unseen() -> None:
    notes = run(OPEN).notes
    assert notes.missing_later_c2s.all()
    assert notes.missing_later_s2c.all()
    assert not notes.missed_c2s.any()


def test_a_capture_that_begins_in_the_middle() -> None:
    notes = run("> SEND destination:a\n< MESSAGE message-id:1\n> FIN\n", syn=False, synack=False).notes
    assert notes.missed_c2s.all()
    assert notes.missed_s2c.all()
    assert not notes.missing_later_c2s.any()


def test_a_stream_that_opens_a_session_begins_there() -> None:
    notes = run(OPEN + "> FIN\n", syn=False, synack=False).notes
    assert not notes.missed_c2s.any()
    assert not notes.missed_s2c.any()
    assert notes.sessions.start_c2s.all()
    assert notes.sessions.start_s2c.all()


def test_a_direction_that_was_not_captured() -> None:
    notes = run("< CONNECTED version:1.2\n< MESSAGE message-id:1\n< FIN\n").notes
    assert notes.missed_c2s.all()
    assert notes.missing_later_c2s.all()
    assert not notes.missing_later_s2c.any()


def test_a_silent_server_is_no_gap() -> None:
    notes = run("> CONNECT\n> SEND destination:a\n> FIN\n").notes
    assert not notes.missed_s2c.any()
    assert not notes.missing_later_s2c.any()


def test_repeated_message_and_ack_ids() -> None:
    text = OPEN + """
    > SUBSCRIBE id:1 destination:a ack:client
    < MESSAGE message-id:1 ack:1 subscription:1 destination:a
    < MESSAGE message-id:1 ack:1 subscription:1 destination:a
    > ACK id:1
    > ACK id:1
    < MESSAGE message-id:2 ack:1 subscription:1 destination:a
    """
    notes = run(text).notes
    assert notes.message_id_before[3:].tolist() == [-1, 3, -1, -1, -1]
    assert notes.ack_id_before[3:].tolist() == [-1, 3, -1, -1, -1]
