"""Sends: their transactions, receipts and numbers."""

from __future__ import annotations

import pytest

from tests.session.transcript import picked, run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
Q = "destination:/queue/a"

OUTCOMES = [
    # dialogue, (transaction, transaction_outcome, is it effective, receipt, receipt_status) of each SEND
    (f"> SEND {Q}\n", [(None, None, True, None, None)]),
    (f"> SEND {Q} receipt:1\n< RECEIPT receipt-id:1\n", [(None, None, True, "1", "answered")]),
    (f"> SEND {Q} receipt:1\n< ERROR receipt-id:1\n", [(None, None, True, "1", "refused")]),
    (f"> SEND {Q} receipt:1\n", [(None, None, True, "1", "open")]),
    (f"> SEND {Q} receipt:1\n< FIN\n", [(None, None, True, "1", "unanswered")]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n> COMMIT transaction:t\n", [("t", "committed", True, None, None)]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n> ABORT transaction:t\n", [("t", "aborted", False, None, None)]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n", [("t", "open", False, None, None)]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n> FIN\n", [("t", "implicitly_aborted", False, None, None)]),
    (f"> SEND {Q} transaction:t\n", [("t", "unknown", False, None, None)]),
    (f"> SEND {Q} transaction:t\n> COMMIT transaction:t\n", [("t", "committed", True, None, None)]),
    (f"> SEND {Q} transaction:\n", [(None, None, True, None, None)]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t receipt:1\n< RECEIPT receipt-id:1\n> COMMIT transaction:t\n",
     [("t", "committed", True, "1", "answered")]),
    (f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n> ABORT transaction:t\n> BEGIN transaction:t\n> SEND {Q} transaction:t\n"
     "> COMMIT transaction:t\n", [("t", "aborted", False, None, None), ("t", "committed", True, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OUTCOMES)
def test_transactions_and_receipts(text: str, expected: list[tuple[object, ...]]) -> None:
    rows = picked(run(OPEN + text).tables["sends"], "transaction", "transaction_outcome", "effective_ns", "receipt", "receipt_status")
    assert [(row[0], row[1], row[2] is not None, *row[3:]) for row in rows] == expected


def test_a_send_counts_from_its_last_octet_or_from_the_last_one_of_the_commit() -> None:
    analysis = run(OPEN + f"> SEND {Q}\n> BEGIN transaction:t\n> SEND {Q} transaction:t\n> COMMIT transaction:t\n")
    rows, last = analysis.tables["sends"], analysis.dialogue.last_ns.tolist()
    assert picked(rows, "sent_ns", "effective_ns") == [(last[2], last[2]), (last[4], last[5])]
    assert rows.column("first_ns").to_pylist() == [analysis.dialogue.first_ns[2], analysis.dialogue.first_ns[4]]


def test_a_receipt_takes_as_long_as_in_receipts() -> None:
    tables = run(OPEN + f"> SEND {Q} receipt:1\n< RECEIPT receipt-id:1\n").tables
    assert tables["sends"].column("receipt_us").to_pylist() == tables["receipts"].column("latency_us").to_pylist() != [None]


NUMBERS = [
    (OPEN + f"> SEND {Q}\n> SEND {Q}\n", [1, 2]),
    (OPEN + f"> BEGIN transaction:t\n> SEND {Q} transaction:t\n> ABORT transaction:t\n> SEND {Q}\n", [1, 2]),
    (OPEN + f"> SEND {Q} transaction:none\n< ERROR\n> SEND {Q}\n", [1, 2]),
    # one without a destination is not counted
    (OPEN + f"> SEND {Q}\n> SEND x:y\n> SEND {Q}\n", [1, None, 2]),
    # not sure whether it was counted
    (OPEN + f"> SEND {Q}\n> SEND {Q} priority:high\n> SEND {Q}\n", [1, None, None]),
    (OPEN + f"> SEND {Q} priority:9 expires:1795250941967 timestamp:1\n> SEND {Q}\n", [1, 2]),
    (OPEN + f"> SEND {Q}\n> SEND {Q} transformation:jms-xml\n", [1, None]),
    (OPEN + f"> SEND {Q}\n> SEND destination:somewhere\n", [1, None]),
    (OPEN + f"> SEND {Q}\n> GAP 9\n> SEND {Q}\n", [1, None]),
    (f"> CONNECT accept-version:1.2 host:/\n> SEND {Q}\n< CONNECTED version:1.2\n> SEND {Q}\n", [None, None]),
    (f"> SEND {Q}\n", [None]),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_numbers(text: str, expected: list[int | None]) -> None:
    assert run(text).tables["sends"].column("number").to_pylist() == expected


@pytest.mark.parametrize(
    ("header", "own"), [("correlation-id:7", True), ("correlation-id:", False), ("kind:7", False), ("timestamp:1", True)]
)
def test_some_headers_are_ids_of_its_own(header: str, own: bool) -> None:
    assert run(OPEN + f"> SEND {Q} {header}\n").tables["sends"].column("own_id").to_pylist() == [own]
