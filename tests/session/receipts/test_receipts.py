"""Receipts: who asked, what answered."""

from __future__ import annotations

import pytest

from stompcap.session.facts import ACTIVE, ENDED, REFUSED, UNKNOWN, UNNAMED
from tests.session.transcript import picked, run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"

CASES = [
    # dialogue, (receipt, answer, status) of each request
    ("> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n", [("1", "RECEIPT", "answered")]),
    ("> SEND destination:a receipt:1\n< ERROR receipt-id:1\n", [("1", "ERROR", "refused")]),
    ("> SEND destination:a receipt:1\n", [("1", None, "open")]),
    ("> SEND destination:a receipt:1\n< FIN\n", [("1", None, "unanswered")]),
    ("> DISCONNECT receipt:1\n", [("1", None, "open")]),
    ("> DISCONNECT receipt:1\n> FIN\n", [("1", None, "unanswered")]),
    ("> SEND destination:a receipt:1\n< GAP 9\n< FIN\n", [("1", None, "open")]),
    ("< GAP 9\n< RECEIPT receipt-id:0\n> SEND destination:a receipt:1\n< FIN\n", [("1", None, "unanswered")]),
    (
        "> SEND destination:a receipt:1\n> SEND destination:a receipt:2\n< RECEIPT receipt-id:2\n< RECEIPT receipt-id:1\n",
        [("1", "RECEIPT", "answered"), ("2", "RECEIPT", "answered")],
    ),
    ("> SEND destination:a receipt:x\\cy\n< RECEIPT receipt-id:x\\cy\n", [("x:y", "RECEIPT", "answered")]),
    ("> SEND destination:a receipt:\n< RECEIPT receipt-id:\n", [("", "RECEIPT", "answered")]),
    ("> WHATEVER receipt:1\n< RECEIPT receipt-id:1\n", [("1", "RECEIPT", "answered")]),
    ("< MESSAGE message-id:1 receipt:1\n< RECEIPT receipt-id:1\n", []),
    ("< RECEIPT receipt-id:1\n> SEND destination:a receipt:1\n", [("1", None, "open")]),
    # in flight at the close, whoever closes and however
    ("> SEND destination:a receipt:1\n> RST\n", [("1", None, "unanswered")]),
    ("> SEND destination:a receipt:1\n< RST\n", [("1", None, "unanswered")]),
    ("> DISCONNECT receipt:1\n< FIN\n> FIN\n", [("1", None, "unanswered")]),
    ("> DISCONNECT receipt:1\n> FIN\n< RECEIPT receipt-id:1\n< FIN\n", [("1", "RECEIPT", "answered")]),
    ("> SEND destination:a receipt:1\n> DISCONNECT receipt:2\n< RECEIPT receipt-id:2\n< FIN\n",
     [("1", None, "unanswered"), ("2", "RECEIPT", "answered")]),
    # out of order, and more than one answer
    ("> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n< RECEIPT receipt-id:1\n", [("1", "RECEIPT", "answered")]),
    ("> SEND destination:a receipt:1\n< RECEIPT receipt-id:1\n< ERROR receipt-id:1\n", [("1", "RECEIPT", "answered")]),
    ("> SEND destination:a receipt:1\n< ERROR receipt-id:1\n< RECEIPT receipt-id:1\n", [("1", "ERROR", "refused")]),
    ("> SEND destination:a receipt:1\n" * 3 + "< RECEIPT receipt-id:1\n< ERROR receipt-id:1\n< FIN\n",
     [("1", "RECEIPT", "answered"), ("1", "ERROR", "refused"), ("1", None, "unanswered")]),
    ("> SEND destination:a receipt:1\n< RECEIPT receipt-id:9\n", [("1", None, "open")]),
    # an ERROR that names no receipt refuses none
    ("> SEND destination:a receipt:1\n< ERROR message:no\n< FIN\n", [("1", None, "unanswered")]),
    ("> SEND destination:a receipt:1\n< ERROR message:no\n< RECEIPT receipt-id:1\n", [("1", "RECEIPT", "answered")]),
    # the request was lost: there is no row of it
    ("> GAP 60\n< RECEIPT receipt-id:1\n> SEND destination:a receipt:2\n", [("2", None, "open")]),
    # a gap before the answer does not hide it
    ("> SEND destination:a receipt:1\n< GAP 40\n< RECEIPT receipt-id:1\n< FIN\n", [("1", "RECEIPT", "answered")]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_cases(text: str, expected: list[tuple[object, ...]]) -> None:
    assert picked(run(OPEN + text).tables["receipts"], "receipt", "answer", "status") == expected


@pytest.mark.parametrize("command", ["SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT", "DISCONNECT"])
def test_any_frame_of_the_client_may_ask(command: str) -> None:
    analysis = run(OPEN + f"> {command} receipt:1\n< RECEIPT receipt-id:1\n")
    assert picked(analysis.tables["receipts"], "command", "status", "latency_us") == [(command, "answered", 1_000)]
    assert analysis.tables["receipts"].column("request_offset").to_pylist() == [analysis.dialogue.offset[2]]


@pytest.mark.parametrize("command", ["CONNECT", "STOMP"])
def test_opening_a_session_asks_for_no_receipt(command: str) -> None:
    text = f"> {command} accept-version:1.2 receipt:1\n< CONNECTED version:1.2 receipt-id:1\n< RECEIPT receipt-id:1\n"
    analysis = run(text)
    assert analysis.tables["receipts"].num_rows == 0
    assert analysis.facts.receipt_state.tolist() == [UNKNOWN, UNNAMED, ACTIVE]


def test_a_repeated_value_is_answered_in_order() -> None:
    text = OPEN + """
    @10 > SEND destination:a receipt:0
    @20 > SEND destination:a receipt:0
    @35 < RECEIPT receipt-id:0
    @47 < RECEIPT receipt-id:0
    """
    assert picked(run(text).tables["receipts"], "latency_us", "status") == [(25_000, "answered"), (27_000, "answered")]


def test_latency_runs_from_first_octet_to_last() -> None:
    text = OPEN + """
    @10 > RAW "SEND\\nreceipt:1\\ndestination:a\\n\\n"
    @30 > RAW "body\\x00"
    @40 < RAW "RECEIPT\\nreceipt-id:1\\n"
    @50 < RAW "\\n\\x00"
    """
    assert picked(run(text).tables["receipts"], "latency_us", "command") == [(40_000, "SEND")]


def test_states() -> None:
    text = OPEN + """
    > SEND destination:a receipt:1
    > SEND destination:a receipt:1
    < RECEIPT receipt-id:1
    < RECEIPT receipt-id:1
    < RECEIPT receipt-id:1
    < RECEIPT receipt-id:9
    < RECEIPT
    > SEND destination:a receipt:2
    < ERROR receipt-id:2
    < RECEIPT receipt-id:2
    > SEND destination:a receipt:2
    > SEND destination:a
    """
    facts = run(text).facts
    assert facts.receipt_state[2:].tolist() == [
        UNKNOWN, ACTIVE, ACTIVE, ACTIVE, ENDED, UNKNOWN, UNNAMED, UNKNOWN, ACTIVE, REFUSED, REFUSED, UNNAMED
    ]
    assert facts.receipt[2:].tolist() == [0, 1, -1, -1, -1, -1, -1, 2, -1, -1, 3, -1]
    assert facts.answers[2:].tolist() == [-1, -1, 0, 1, -1, -1, -1, -1, 2, -1, -1, -1]
