"""Transactions: what BEGIN opens, what belongs to it, how it ends, by the client's word.

A frame may name a transaction that was never begun as far as the capture shows. Such a one is followed too, so that its COMMIT is
understood, until none has named it for Options.retention frames; but it is no row of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, TRANSACTION_IMPLICITLY_ABORTED, TRANSACTION_OPEN, TRANSACTION_UNKNOWN
from stompcap.columns import I64, Bools, spread, take_or, text_codes
from stompcap.session.dialogue import ABORT, ACK, BEGIN, COMMIT, NACK, SEND, Dialogue
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records, of_frames, opened
from stompcap.session.transactions.records import LAYOUT
from stompcap.session.transactions.walk import NO_FACTS, TransactionFacts, TransactionFrames, TransactionNames, walk


class FollowedTransactions(NamedTuple):
    """The transactions; and per frame of the dialogue what is known of its own."""

    rows: Records
    row: I64  # -1 for none
    state: I64  # of the one that it names


def follow_transactions(dialogue: Dialogue, gaps: Gaps, trusted: Bools, before: pa.Table, retention: int) -> FollowedTransactions:
    """Follow all sessions' transactions; `before` is the state table, `trusted` per frame: it surely is one."""
    d, count = dialogue, len(dialogue)
    at = d.new(CLIENT, BEGIN, COMMIT, ABORT, SEND, ACK, NACK)
    at = at[np.asarray(d.some("transaction", at).is_valid()) | (d.command[at] == BEGIN)]
    numbers, text = of_frames(LAYOUT, d, at)
    numbers |= {
        "gaps_c2s": gaps.ended[at, CLIENT], "missed": gaps.missing[at, CLIENT].astype(np.int64), "trusted": trusted[at].astype(np.int64),
    }  # fmt: skip
    rows = opened(LAYOUT, before, d.ids, numbers, text)
    by_frame, by_row = text_codes(text["id"], rows.text["id"])
    size = max(int(by_frame.max(initial=-1)), int(by_row.max(initial=-1))) + 1
    frames = TransactionFrames(d.session[at], d.ordinal[at], d.command[at], by_frame, d.body_octets[at], d.first_ns[at])
    names = TransactionNames(by_row, np.full(size, -1, np.int64), np.zeros(size, np.int64))
    facts = TransactionFacts(*(np.full(len(at), value, np.int64) for value in NO_FACTS))
    was_open, used = rows["outcome"] == TRANSACTION_OPEN, np.empty(len(rows), np.int64)
    used = used[: walk(frames, LAYOUT.kernel(rows), rows["touched"] >= 0, names, facts, used, retention)]
    ended = np.flatnonzero(was_open & (rows["ended_ordinal"] >= 0))
    closes = np.flatnonzero((facts.row >= 0) & np.isin(d.command[at], (COMMIT, ABORT)))
    frame = spread(len(rows), facts.row[closes], at[closes])[ended]
    rows["ended_ns"][ended], rows["ended_whole_ns"][ended] = d.first_ns[frame], d.last_ns[frame]
    rows["missed_at_end"][ended] = gaps.missing[frame, CLIENT]
    row = take_or(spread(len(rows), used, np.arange(len(used))), facts.row)
    return FollowedTransactions(rows.take(used), spread(count, at, row), spread(count, at, facts.state, NO_FACTS[1]))


def close(rows: Records, over: Bools, gaps: I64, ending: Bools, lost: Bools) -> None:
    """Decide what is open in sessions that end: `over` by DISCONNECT or with their connection; `gaps` of the client so far.

    `ending` per session: nothing more comes, or no more is waited for; `lost`: the latter.
    """
    session = rows["session"]
    due = (rows["outcome"] == TRANSACTION_OPEN) & ending[session]
    never = (rows["begun_ns"] < 0) & (rows["missed"] == 0)  # named, but never begun although nothing is missing: it means nothing
    unknown = (gaps[session] != rows["gaps_c2s"]) | never | lost[session]
    rows["outcome"][due & unknown] = TRANSACTION_UNKNOWN
    rows["outcome"][due & ~unknown & over[session]] = TRANSACTION_IMPLICITLY_ABORTED
