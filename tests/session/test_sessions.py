"""Sessions: outcome, end, agreement, evidence of leaks."""

from __future__ import annotations

import pytest

from tests.session.transcript import Session, picked, run, tables

OUTCOMES = [
    ("> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n", "connected"),
    ("> STOMP accept-version:1.2 host:/\n< CONNECTED version:1.2\n< ERROR message:late\n", "connected"),
    ("> CONNECT\n< ERROR message:no\n< FIN\n", "refused"),
    ("> CONNECT\n< FIN\n", "unanswered"),
    ("> CONNECT\n", "unanswered"),
    ("> CONNECT accept-version:1.2\n< GAP 50\n< MESSAGE message-id:1\n", "connected"),
    ("> CONNECT accept-version:1.2\n< GAP 50\n", "midstream"),
    ("> CONNECT accept-version:1.2\n< GAP 50\n< ERROR message:no\n", "midstream"),
    ("> GAP 50\n< CONNECTED version:1.2\n", "connected"),
    ("> SEND destination:/queue/a\n< MESSAGE message-id:1\n", "connected"),
    ("> SEND destination:/queue/a\n< ERROR message:no\n", "refused"),
    ("> SEND destination:/queue/a\n", "unanswered"),
    ("> GAP 10\n> SEND destination:/queue/a\n< ERROR message:no\n", "midstream"),
]


@pytest.mark.parametrize(("text", "expected"), OUTCOMES)
def test_outcomes(text: str, expected: str) -> None:
    assert picked(run(text).tables["sessions"], "outcome") == [(expected,)]


MIDSTREAM = [
    ("> SEND destination:/queue/a\n< MESSAGE message-id:1\n", "midstream"),
    ("< MESSAGE message-id:1\n> ACK id:1\n", "midstream"),
    ("> CONNECT\n< CONNECTED\n", "connected"),
    ("> CONNECT\n< ERROR message:no\n", "refused"),
]


@pytest.mark.parametrize(("text", "expected"), MIDSTREAM)
def test_outcomes_without_handshake(text: str, expected: str) -> None:
    [row] = run(text, syn=False, synack=False).tables["sessions"].to_pylist()
    assert (row["outcome"], row["complete_start"]) == (expected, False)


ENDS = [
    ("> DISCONNECT receipt:1\n< RECEIPT receipt-id:1\n> FIN\n< FIN\n", "disconnect", "client", True),
    ("> DISCONNECT\n> RST\n", "disconnect", "client", True),
    ("> DISCONNECT\n", "disconnect", "client", False),
    ("< FIN\n> FIN\n", "fin", "server", True),
    ("< RST\n", "rst", "server", True),
    ("< EOL\n", "open", None, False),
    ("> FIN\n< FIN\n", "fin", "client", True),
    ("> FIN\n", "fin", "client", True),
    ("> RST\n", "rst", "client", True),
    ("< FIN\n> RST\n", "fin", "server", True),
    ("> DISCONNECT\n< RST\n", "disconnect", "client", True),
    ("< ERROR message:gone\n< FIN\n> FIN\n", "fin", "server", True),
    # an ERROR ends nothing by itself
    ("< ERROR message:no\n", "open", None, False),
    ("< ERROR message:no\n> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n> FIN\n", "fin", "client", True),
]


@pytest.mark.parametrize(("text", "kind", "by", "complete"), ENDS)
def test_ends(text: str, kind: str, by: str | None, complete: bool) -> None:
    [row] = run("> CONNECT\n< CONNECTED\n" + text).tables["sessions"].to_pylist()
    assert (row["end_kind"], row["ended_by"], row["complete_end"]) == (kind, by, complete)
    assert (row["closed_ns"] is None) == (not complete)


@pytest.mark.parametrize("server", ["RabbitMQ/3.10", "ActiveMQ/5.17", "ActiveMQ-Artemis/2.42", "Other/1"])
def test_a_session_goes_on_behind_an_error_that_does_not_close(server: str) -> None:
    text = f"""
    > CONNECT accept-version:1.2 host:/
    < CONNECTED version:1.2 server:{server}
    > SUBSCRIBE id:1 destination:/queue/a ack:client-individual
    > BEGIN transaction:t
    > SEND receipt:1
    < ERROR message:"no destination" receipt-id:1
    < MESSAGE message-id:m subscription:1 destination:/queue/a ack:a
    > ACK id:a transaction:t
    > COMMIT transaction:t receipt:2
    < RECEIPT receipt-id:2
    > DISCONNECT
    > FIN
    """
    tables = run(text).tables
    assert picked(tables["sessions"], "outcome", "error_message", "end_kind") == [("connected", "no destination", "disconnect")]
    assert picked(tables["subscriptions"], "status", "acked") == [("ended", 1)]
    assert picked(tables["deliveries"], "status", "transaction_outcome") == [("settled", "committed")]
    assert picked(tables["receipts"], "receipt", "status") == [("1", "refused"), ("2", "answered")]


def test_the_first_fin_closes() -> None:
    [row] = run("> CONNECT\n< CONNECTED\n@100 < FIN\n@200 > FIN\n").tables["sessions"].to_pylist()
    assert row["closed_ns"] - row["opened_ns"] == 100_000_000


def test_what_was_agreed() -> None:
    text = """
    > STOMP accept-version:1.1,1.2 host:example login:joe passcode:secret heart-beat:1000,2000
    @21 < CONNECTED version:1.2 session:s1 server:"ActiveMQ-Artemis/2.42.0 ActiveMQ Artemis Messaging Engine" heart-beat:500,700
    < ERROR message:"first one"
    < ERROR message:second
    """
    [row] = run(text).tables["sessions"].to_pylist()
    expected = {
        "connect_command": "STOMP", "accept_version": "1.1,1.2", "host": "example", "login": "joe", "version": "1.2",
        "version_source": "connected", "session": "s1", "server_product": "Artemis", "server_version": "2.42.0",
        "client_can_send_ms": 1000, "client_wants_ms": 2000, "server_can_send_ms": 500, "server_wants_ms": 700,
        "heartbeat_c2s_ms": 1000, "heartbeat_s2c_ms": 2000, "connect_latency_us": 20_000, "error_message": "first one",
        "frames_c2s": 1, "frames_s2c": 3, "complete_start": True, "cleartext_credentials": True, "client_product": None,
    }
    assert {name: row[name] for name in expected} == expected


def test_numbers_of_heart_beats_that_are_not_known() -> None:
    [row] = run("< MESSAGE message-id:1\n", syn=False, synack=False).tables["sessions"].to_pylist()
    assert [row[n] for n in ("client_can_send_ms", "server_wants_ms", "heartbeat_c2s_ms")] == [None] * 3
    [row] = run("> CONNECT accept-version:1.2 heart-beat:5,5\n< ERROR message:no\n").tables["sessions"].to_pylist()
    assert [row[n] for n in ("client_can_send_ms", "server_wants_ms", "heartbeat_c2s_ms")] == [5, None, 0]
    [row] = run("> CONNECT accept-version:1.2\n< CONNECTED version:1.2\n").tables["sessions"].to_pylist()
    assert [row[n] for n in ("client_can_send_ms", "server_wants_ms", "heartbeat_c2s_ms")] == [0] * 3


@pytest.mark.parametrize(("transport", "expected"), [("tcp", True), ("websocket", True), ("tls", False), ("wss", False)])
def test_a_passcode_in_clear(transport: str, expected: bool) -> None:
    text = "> CONNECT login:joe passcode:secret\n< CONNECTED\n"
    assert picked(run(text, transport=transport).tables["sessions"], "cleartext_credentials") == [(expected,)]


@pytest.mark.parametrize(("behind", "expected"), [("lf:49", False), ("lf:49\\npasscode:secret", True)])
def test_a_line_torn_by_a_gap_is_masked_and_is_no_proof_of_a_passcode(behind: str, expected: bool) -> None:
    text = f'> CONNECT login:joe\n< CONNECTED\n> RAW "SEND\\ndestination:/queue/a\\nma"\n> GAP 30\n> RAW "{behind}\\n\\nbody\\0"\n'
    found = run(text)
    assert ("junk", True) in picked(tables([Session(text, "0" * 20)])["rows"], "kind", "redacted")
    assert picked(found.tables["sessions"], "cleartext_credentials") == [(expected,)]


def test_a_passcode_in_a_frame_cut_short() -> None:
    text = '> RAW "CONNECT\\nlogin:joe\\npasscode:secret\\n"\n'
    assert picked(run(text).tables["sessions"], "cleartext_credentials") == [(True,)]


def test_gap_octets_of_both_directions() -> None:
    assert picked(run("> CONNECT\n> GAP 7\n< CONNECTED\n< GAP 5\n").tables["sessions"], "gap_octets") == [(12,)]
