"""Transactions: what they hold and how they end."""

from __future__ import annotations

import pytest

from stompcap.session.notes import ACTIVE, ENDED, UNKNOWN, UNNAMED
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
    assert analysis.notes.transaction_state.tolist() == [UNNAMED, UNKNOWN, UNKNOWN]


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
    notes = run(text).notes
    assert notes.transaction_state[2:].tolist() == [
        UNKNOWN, ACTIVE, ACTIVE, ACTIVE, ENDED, ENDED, UNKNOWN, UNKNOWN, UNNAMED
    ]
    assert notes.transaction_row[2:].tolist() == [0, 0, 1, 1, -1, -1, 2, -1, -1]
