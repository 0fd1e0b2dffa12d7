"""The table of statuses decides every combination of circumstances as these sentences do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stompcap import codes
from stompcap.session.counters import COUNTERS
from stompcap.session.deliveries import records, status
from stompcap.session.deliveries.outstanding import MAX_ABORTS
from stompcap.session.layout import Records
from stompcap.session.products.quirks import Quirks
from stompcap.session.transactions.records import LAYOUT as TRANSACTIONS
from stompcap.tables import words

ASKING = (codes.MODE_CLIENT, codes.MODE_CLIENT_INDIVIDUAL)
GONE = -1  # in no transaction that is known
OUTCOMES = (GONE, codes.TRANSACTION_OPEN, codes.TRANSACTION_IMPLICITLY_ABORTED, codes.TRANSACTION_UNKNOWN)
CIRCUMSTANCES: dict[str, tuple[int, ...]] = {
    "state": tuple(range(6)),
    "mode": (codes.MODE_UNKNOWN, codes.MODE_AUTO, *ASKING, codes.MODE_OTHER),
    "direct": (0, 1),
    "unasked": (0, 1),
    "again": (0, 1),
    "confused": (0, 1, 2),  # `unclear`, `contradicts`
    "aborts": (0, 1, MAX_ABORTS),
    "lost": (0, 1),
    "missed": (0, 1),  # more gaps than when it came
    "outcome": OUTCOMES,
    "over": (0, 1),
    "vague": (0, 1, 2),  # an ACK that named nothing; a subscription that may have been renewed, where MESSAGEs have needless ack headers
}


def empty(layout: Any, count: int, **numbers: np.ndarray) -> Records:
    """Records that have these numbers and are new else."""
    columns = {"session": np.zeros(count, np.int64)}
    columns |= {name: numbers.get(name, np.full(count, field.default)) for name, field in layout.fields.items()}
    return Records(layout, columns, {text.name: pa.nulls(count, pa.string()) for text in layout.texts})


def by_hand(state: int, mode: int, direct: int, unasked: int, again: int, confused: int, aborts: int, lost: int, missed: int,
            outcome: int, over: int, vague: int) -> str:  # fmt: skip
    """The status of one delivery, sentence by sentence."""
    pending = state == records.PENDING
    if state == records.AUTOMATIC or (pending and unasked):
        return "auto"
    missing = lost or (missed and state not in (records.SETTLED, records.REPLACED))
    given_back = state in (records.ABORTED, records.REPLACED)
    if confused or (again and (missing or mode == codes.MODE_UNKNOWN)):
        return "unknown"
    if missing and (aborts or not (state == records.SETTLED and direct)):
        return "unknown"
    if state == records.SETTLED:
        return "settled"
    if given_back:
        return "unknown" if mode == codes.MODE_UNKNOWN or aborts >= MAX_ABORTS else "voided"
    if state == records.ENCLOSED:
        return {codes.TRANSACTION_IMPLICITLY_ABORTED: "voided", codes.TRANSACTION_OPEN: "open"}.get(outcome, "unknown")
    if mode not in ASKING or (over and vague):
        return "unknown"
    return "unsettled" if over else "open"


def test_every_combination_has_the_status_that_sentences_give() -> None:
    grid = np.meshgrid(*(np.array(values, np.int64) for values in CIRCUMSTANCES.values()), indexing="ij")
    case = {name: values.reshape(-1) for name, values in zip(CIRCUMSTANCES, grid, strict=True)}
    count = len(case["state"])
    session = case["over"] * 3 + case["vague"]
    transaction = np.searchsorted(sorted(OUTCOMES), case["outcome"]) - 1
    rows = empty(
        records.LAYOUT, count, session=session, transaction=transaction, unclear=(case["confused"] == 1).astype(np.int64),
        contradicts=(case["confused"] == 2).astype(np.int64), opened=7 - case["missed"],
        possible=np.where(case["vague"] == 2, records.RENEWED, 0),
        **{name: case[name].copy() for name in ("state", "mode", "direct", "unasked", "again", "aborts", "lost")},
    )
    rows["session"] = session
    transactions = empty(TRANSACTIONS, len(OUTCOMES) - 1, outcome=np.array(sorted(OUTCOMES)[1:], np.int64))
    counters = empty(COUNTERS, 6, unread=np.array([0, 1, 0] * 2), needless=np.array([0, 0, 1] * 2))
    none = np.zeros(6, np.bool_)
    status.decide(rows, transactions, np.arange(6) >= 3, np.full(6, 7), counters, Quirks(*[none] * len(Quirks._fields)))
    found = [words.DELIVERY_STATUSES[code] for code in rows["status"].tolist()]
    expected = [by_hand(*one) for one in zip(*(case[name].tolist() for name in CIRCUMSTANCES), strict=True)]
    assert count > 100_000
    wrong = [at for at in range(count) if found[at] != expected[at]]
    assert not wrong, ({name: int(case[name][wrong[0]]) for name in CIRCUMSTANCES}, found[wrong[0]], expected[wrong[0]])


def test_every_doubt_makes_some_status_unknown_and_no_ack_needed_is_never_doubted() -> None:
    assert status.DOUBTED.any(axis=1).all()
    assert not status.DOUBTED[:, status.NO_ACK_NEEDED].any()
    assert {fate.status for fate in status.FATES} == set(range(len(words.DELIVERY_STATUSES)))


def test_doubts_have_a_number_each() -> None:
    source = Path(status.__file__).read_text("utf-8")
    numbers = [int(number) for number in re.findall(r"^[A-Z_]+ = (\d+)  # ", source, re.MULTILINE)]
    assert numbers == list(range(len(status.DOUBTED)))
