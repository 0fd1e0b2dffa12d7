"""Receipts: which frame of the client asks for one, and which RECEIPT or ERROR answers it.

A value asked for repeatedly is answered in the order of asking. A server's frame with a `receipt` header (brokers pass on the sender's)
asks for nothing. CONNECT and STOMP should ask for none, and brokers answer them in various ways: such a request is no row of the table,
but a RECEIPT may answer it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, SERVER, TRANSACTION_COMMITTED, TRANSACTION_OPEN
from stompcap.columns import I64, Bools, spread, text_codes
from stompcap.session.dialogue import CONNECT, ERROR, RECEIPT, SEND, STOMP, Dialogue
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records, of_frames, opened
from stompcap.session.receipts.records import LAYOUT
from stompcap.session.receipts.walk import NO_FACTS, ReceiptFacts, ReceiptFrames, ReceiptNames, walk
from stompcap.session.transactions.follow import FollowedTransactions


class FollowedReceipts(NamedTuple):
    """The requests; and per frame of the dialogue what is known of its own."""

    rows: Records
    asks: I64  # the request that it is, -1 for none
    answers: I64  # the request that it answers, -1 for none
    state: I64  # of the value, before it


def follow_receipts(
    dialogue: Dialogue, gaps: Gaps, trusted: Bools, transactions: FollowedTransactions, before: pa.Table, retention: int
) -> FollowedReceipts:
    """Follow all sessions' receipts; `before` is the state table, `trusted` per frame: it surely is one."""
    d, count = dialogue, len(dialogue)
    asking = np.flatnonzero((d.side == CLIENT) & ~d.earlier)
    answering = d.new(SERVER, RECEIPT, ERROR)
    asking = asking[np.asarray(d.some("receipt", asking).is_valid())]
    answering = answering[np.asarray(d.some("receipt_id", answering).is_valid())]
    numbers, text = of_frames(LAYOUT, d, asking)
    of, command = transactions.row[asking], d.command[asking]
    inside = command == SEND
    inside &= np.asarray(d.some("transaction", asking).fill_null("")) != "" if len(asking) else inside
    numbers |= {
        "gaps_s2c": gaps.ended[asking, SERVER], "transaction": transactions.rows.at("ordinal", np.where(inside, of, -1)),
        "inside": inside.astype(np.int64), "trusted": trusted[asking].astype(np.int64),
        "listed": (~np.isin(command, (CONNECT, STOMP))).astype(np.int64),
    }  # fmt: skip
    rows = opened(LAYOUT, before, d.ids, numbers, text)
    by_asking, by_answering, by_row = text_codes(text["value"], d.some("receipt_id", answering), rows.text["value"])
    at = np.concatenate([asking, answering])
    order = np.argsort(at, kind="stable")
    at, asks = at[order], order < len(asking)
    frames = ReceiptFrames(d.session[at], d.ordinal[at], d.command[at], asks, np.concatenate([by_asking, by_answering])[order])
    size = max(int(c.max(initial=-1)) for c in (by_asking, by_answering, by_row)) + 1
    session, head, tail, answered, opening = np.full((5, size), -1, np.int64)
    names = ReceiptNames(by_row, session, head, tail, answered, opening, np.full(len(rows), -1, np.int64))
    facts = ReceiptFacts(*(np.full(len(at), value, np.int64) for value in NO_FACTS))
    walk(frames, LAYOUT.kernel(rows), names, facts, retention)
    answers = np.flatnonzero(~asks & (facts.row >= 0))
    rows["answered_ns"][facts.row[answers]] = d.last_ns[at[answers]]
    rows["answered_order"][facts.row[answers]] = d.wire_order[at[answers]]
    _commit(rows, transactions.rows)
    own = np.where(asks, facts.row, -1)
    asked = spread(count, at, np.where(rows.at("listed", own) == 1, own, -1))
    _asked_earlier(d, rows, asked)
    return FollowedReceipts(rows, asked, spread(count, at, np.where(asks, -1, facts.row)), spread(count, at, facts.state, NO_FACTS[1]))


def _asked_earlier(d: Dialogue, rows: Records, asked: I64) -> None:
    """Fill in what frames of an earlier step asked for."""
    old = np.flatnonzero(d.earlier & (d.side == CLIENT))
    if len(old):
        row = rows.of(d.session[old], d.ordinal[old])
        asked[old] = np.where(rows.at("listed", row) == 1, row, -1)


def _commit(rows: Records, transactions: Records) -> None:
    """Note the ends of transactions that SENDs with a receipt are inside of."""
    waiting = np.flatnonzero(rows["transaction"] >= 0)
    of = transactions.of(rows["session"][waiting], rows["transaction"][waiting])
    if len(of) == 0:
        return
    outcome = transactions.at("outcome", of)
    done = outcome != TRANSACTION_OPEN
    committed = waiting[outcome == TRANSACTION_COMMITTED]
    rows["committed"][committed] = 1
    rows["since_ns"][committed] = transactions["ended_whole_ns"][of[outcome == TRANSACTION_COMMITTED]]
    rows["transaction"][waiting[done]] = -1
