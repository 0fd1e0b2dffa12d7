"""Sends: every SEND, the transaction that it is inside of, the receipt that it asks for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, TRANSACTION_OPEN
from stompcap.columns import I64, Bools, integers
from stompcap.session.counters import Before
from stompcap.session.dialogue import SEND, Dialogue
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records, of_frames, opened
from stompcap.session.sends.numbering import OWN_ID, UNSURE, marks, number
from stompcap.session.sends.records import LAYOUT
from stompcap.session.transactions.follow import FollowedTransactions


def follow_sends(
    dialogue: Dialogue, gaps: Gaps, transactions: FollowedTransactions, counters: Records, before: Before, state: pa.Table
) -> Records:
    """The SENDs of this step, and those of earlier ones that wait; `state` is the state table."""
    d = dialogue
    sent = d.new(CLIENT, SEND)
    numbers, text = of_frames(LAYOUT, d, sent)
    found = marks(d.frames.column("header"), d.row[sent])
    inside = np.asarray(text["transaction_id"].fill_null("")) != "" if len(sent) else np.zeros(0, np.bool_)
    numbers |= {
        "body_hash": integers(d.some("body_hash", sent)), "content_hash": integers(d.some("content_hash", sent)),
        "number": number(d, gaps, before, sent, found & UNSURE != 0, counters), "own_id": found & OWN_ID,
        "inside": inside.astype(np.int64),
        "transaction": np.where(inside, transactions.rows.at("ordinal", transactions.row[sent]), -1),
        "asks": np.asarray(text["receipt"].is_valid()).astype(np.int64),
    }  # fmt: skip
    return opened(LAYOUT, state, d.ids, numbers, text)


def waits(rows: Records, transactions: Records, requests: Records) -> Bools:
    """Which SENDs wait for the end of a transaction, or for a receipt."""
    found = np.zeros(len(rows), np.bool_)
    inside, asks = np.flatnonzero(rows["transaction"] >= 0), np.flatnonzero(rows["asks"] == 1)
    of = transactions.of(rows["session"][inside], rows["transaction"][inside])
    found[inside] = transactions.at("outcome", of) == TRANSACTION_OPEN
    found[asks] |= requests.at("answered_ordinal", request_of(rows, requests)[asks]) < 0
    return found


def request_of(rows: Records, requests: Records) -> I64:
    """The request of each SEND that asks for a receipt, -1 for none."""
    return requests.of(rows["session"], np.where(rows["asks"] == 1, rows["ordinal"], -1))
