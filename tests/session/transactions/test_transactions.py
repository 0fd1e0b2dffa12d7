"""Transactions: what they hold and how they end."""

from __future__ import annotations

import pytest

from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN, UNNAMED
from tests.session.transcript import picked, run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"

CASES = [
    ("> BEGIN transaction:t\n> COMMIT transaction:t\n", [("t", "committed", 1_000)]),
    ("> BEGIN transaction:t\n> ABORT transaction:t\n", [("t", "aborted", 1_000)]),
    ("> BEGIN transaction:t\n", [("t", "open", None)]),
    ("> BEGIN transaction:t\n@50 > FIN\n", [("t", "implicitly_aborted", 47_000)]),
    ("> BEGIN transaction:t\n@50 > DISCONNECT\n", [("t", "implicitly_aborted", 47_000)]),
    ("> BEGIN transaction:t\n@50 > DISCONNECT\n@90 < RST\n", [("t", "implicitly_aborted", 87_000)]),
    ("> BEGIN transaction:t\n> GAP 30\n> FIN\n", [("t", "unknown", None)]),
    ("> BEGIN transaction:t\n> GAP 30\n> COMMIT transaction:t\n", [("t", "committed", 2_000)]),
    ("> BEGIN transaction:t\n< GAP 30\n", [("t", "open", None)]),
    ("> BEGIN transaction:t\n> BEGIN transaction:t\n> COMMIT transaction:t\n", [("t", "unknown", None), ("t", "committed", 1_000)]),
    (
        "> BEGIN transaction:t\n> COMMIT transaction:t\n> BEGIN transaction:t\n> ABORT transaction:t\n",
        [("t", "committed", 1_000), ("t", "aborted", 1_000)],
    ),
    ("> BEGIN\n> FIN\n", [(None, "unknown", None)]),
    ("> BEGIN transaction:\n> COMMIT transaction:\n", [("", "committed", 1_000)]),
    # implicit aborts: whoever closes, and however
    ("> BEGIN transaction:t\n@50 > RST\n", [("t", "implicitly_aborted", 47_000)]),
    ("> BEGIN transaction:t\n@50 < FIN\n", [("t", "implicitly_aborted", 47_000)]),
    ("> BEGIN transaction:t\n@50 < FIN\n@60 > FIN\n", [("t", "implicitly_aborted", 47_000)]),
    ("> BEGIN transaction:t\n< GAP 50\n< EOL\n> FIN\n", [("t", "implicitly_aborted", 3_000)]),  # what the server sent ends none
    ("@50 < FIN\n@60 > BEGIN transaction:t\n@80 > FIN\n", [("t", "implicitly_aborted", 20_000)]),
    ("@50 < FIN\n@60 > BEGIN transaction:t\n", [("t", "implicitly_aborted", None)]),
    ("> DISCONNECT\n> BEGIN transaction:t\n", [("t", "implicitly_aborted", None)]),
    ("> BEGIN transaction:t\n< FIN\n> COMMIT transaction:t\n> FIN\n", [("t", "committed", 2_000)]),
    # several at once
    ("> BEGIN transaction:t\n> BEGIN transaction:u\n> COMMIT transaction:u\n> FIN\n",
     [("t", "implicitly_aborted", 3_000), ("u", "committed", 1_000)]),
    ("> BEGIN transaction:t\n> BEGIN transaction:u\n> ABORT transaction:t\n> COMMIT transaction:u\n",
     [("t", "aborted", 2_000), ("u", "committed", 2_000)]),
    # ended twice, or never begun
    ("> BEGIN transaction:t\n> COMMIT transaction:t\n> ABORT transaction:t\n> COMMIT transaction:t\n", [("t", "committed", 1_000)]),
    ("> ABORT transaction:t\n> BEGIN transaction:t\n", [("t", "open", None)]),
    # the end of the first is lost, its id begun anew
    ("> BEGIN transaction:t\n> GAP 30\n> BEGIN transaction:t\n> ABORT transaction:t\n", [("t", "unknown", None), ("t", "aborted", 1_000)]),
    # by the client's word, whatever the server answers: that is in receipts
    ("> BEGIN transaction:t\n> COMMIT transaction:t receipt:1\n< ERROR receipt-id:1 message:no\n", [("t", "committed", 1_000)]),
    ("> BEGIN transaction:t receipt:1\n< ERROR receipt-id:1 message:no\n> FIN\n", [("t", "implicitly_aborted", 2_000)]),
    ("> COMMIT transaction:t\n> SEND destination:a transaction:u\n", []),
    ("< BEGIN transaction:t\n", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_cases(text: str, expected: list[tuple[object, ...]]) -> None:
    assert picked(run(OPEN + text).tables["transactions"], "transaction", "outcome", "duration_us") == expected


def test_what_a_transaction_holds() -> None:
    text = OPEN + """
    > BEGIN transaction:t
    > BEGIN transaction:u
    > SEND destination:a transaction:t | four
    > SEND destination:a transaction:u | sixsix
    > SEND destination:a transaction:t | five5
    > SEND destination:a | none
    > ACK id:1 transaction:t
    > NACK id:2 transaction:t
    > NACK id:3 transaction:t
    > COMMIT transaction:t
    > SEND destination:a transaction:t | late
    """
    names = ("transaction", "sends", "acks", "nacks", "body_octets")
    assert picked(run(text).tables["transactions"], *names) == [("t", 2, 1, 2, 9), ("u", 1, 0, 0, 6)]


def test_frames_that_the_capture_lost_are_not_counted() -> None:
    text = OPEN + """
    > BEGIN transaction:t
    > SEND destination:a transaction:t | one
    > GAP 50
    > ACK id:1 transaction:t
    > COMMIT transaction:t
    """
    names = ("outcome", "sends", "acks", "body_octets", "duration_us")
    assert picked(run(text).tables["transactions"], *names) == [("committed", 1, 1, 3, 4_000)]


def test_times_and_places() -> None:
    text = OPEN + '> BEGIN transaction:t\n@50 > RAW "COM"\n@60 > RAW "MIT\\ntransaction:t\\n\\n\\x00"\n'
    analysis = run(text)
    [row] = analysis.tables["transactions"].to_pylist()
    assert row["ended_ns"] - row["begun_ns"] == 47_000_000  # to the first octet of COMMIT
    assert row["begin_offset"] == analysis.dialogue.offset[2]


def test_a_transaction_begun_before_the_capture() -> None:
    text = """
    < MESSAGE message-id:1 subscription:1 ack:1 destination:a
    > ACK id:1 transaction:t
    @20 > COMMIT transaction:t
    """
    analysis = run(text, syn=False, synack=False)
    assert analysis.tables["transactions"].num_rows == 0
    names = ("status", "transaction", "transaction_outcome", "commit_latency_us")
    assert picked(analysis.tables["deliveries"], *names) == [("settled", "t", "committed", 19_000)]
    assert analysis.facts.transaction_state.tolist() == [UNNAMED, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(("syn", "expected"), [(True, "unknown"), (False, "implicitly_aborted")])
def test_a_transaction_never_begun(syn: bool, expected: str) -> None:
    text = "> SEND destination:a\n< MESSAGE message-id:1 ack:1 destination:a\n> ACK id:1 transaction:t\n> FIN\n"
    assert picked(run(text, syn=syn).tables["deliveries"], "transaction_outcome") == [(expected,)]


def test_states() -> None:
    text = OPEN + """
    > BEGIN transaction:t
    > SEND destination:a transaction:t
    > BEGIN transaction:t
    > COMMIT transaction:t
    > COMMIT transaction:t
    > SEND destination:a transaction:t
    > BEGIN transaction:t
    > ABORT transaction:u
    > SEND destination:a
    """
    facts = run(text).facts
    states = [UNKNOWN, ACTIVE, ACTIVE, ACTIVE, ENDED, ENDED, UNKNOWN, UNKNOWN, UNNAMED]
    assert facts.transaction_state[2:].tolist() == states
