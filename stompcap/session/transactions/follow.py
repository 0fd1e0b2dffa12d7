"""Transactions: what BEGIN opens, what belongs to it, how it ends, by the client's word.

A frame may name a transaction that was never begun as far as the capture shows; such a one is followed too, so that its COMMIT is
understood, until none has named it for Options.retention frames; but it makes no row of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import (
    CLIENT,
    TRANSACTION_ABORTED,
    TRANSACTION_COMMITTED,
    TRANSACTION_IMPLICITLY_ABORTED,
    TRANSACTION_OPEN,
    TRANSACTION_UNKNOWN,
)
from stompcap.columns import I64, Bools, or_null, spread, text_codes, timestamps, worded
from stompcap.kernel import kernel
from stompcap.session.clocks import LAST, Clocks, Moment
from stompcap.session.dialogue import ABORT, ACK, BEGIN, COMMIT, NACK, SEND, Dialogue
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN, UNNAMED
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Layout, Records, opened
from stompcap.tables import words
from stompcap.tables.silver import TRANSACTIONS

LAYOUT = Layout(
    {
        "ordinal": -1, "offset": -1, "first_ns": -1, "begun_ns": -1, "outcome": TRANSACTION_OPEN, "ended_ordinal": -1, "ended_ns": -1,
        "ended_whole_ns": -1, "sends": 0, "acks": 0, "nacks": 0, "body_octets": 0, "touched": -1, "open_before": 0, "gaps_c2s": 0,
        "missed": 0, "missed_at_end": 0, "trusted": 0, "final": 0,
    },
    ("id",),
)
"""One row per transaction, by the frame that names it first: its BEGIN (`begun_ns`, else -1) or another. `outcome`, and when the frame
began and was whole that ended it; what it holds; the ordinal of the frame that named it last (`touched`); transactions open before it;
gaps of the client that ended before it; whether octets of the client may be missing before it (`missed`), before its end; whether its
first frame surely is one.
"""


class _Rows(NamedTuple):
    """Columns of the records that the walk reads and writes."""

    session: I64
    ordinal: I64
    begun_ns: I64
    outcome: I64
    ended_ordinal: I64
    sends: I64
    acks: I64
    nacks: I64
    body_octets: I64
    touched: I64
    open_before: I64


class _Frames(NamedTuple):
    """The frames that the walk goes over: those of a client that name a transaction, and each BEGIN."""

    session: I64
    ordinal: I64
    command: I64
    name: I64
    body_octets: I64


@kernel
def _find(rows: _Rows, t: int, now: int, retention: int) -> int:
    """That transaction, or -1 where it was never begun and not named for long."""
    return t if t >= 0 and (rows.begun_ns[t] >= 0 or now - rows.touched[t] <= retention) else -1


@kernel
def _count(rows: _Rows, t: int, command: int, body: int, now: int) -> None:
    """A frame belongs to a transaction."""
    rows.touched[t] = now
    if command == SEND:
        rows.sends[t] += 1
        rows.body_octets[t] += body
    elif command == ACK:
        rows.acks[t] += 1
    elif command == NACK:
        rows.nacks[t] += 1


@kernel
def _state(rows: _Rows, t: int, now: int, retention: int) -> int:
    """The state of the newest transaction of a name, -1 being none."""
    if t < 0:
        return UNKNOWN
    if rows.outcome[t] != TRANSACTION_OPEN:
        return ENDED if rows.ended_ordinal[t] >= 0 and now - rows.ended_ordinal[t] <= retention else UNKNOWN
    return ACTIVE if rows.begun_ns[t] >= 0 else UNKNOWN


@kernel
def _walk(
    frames: _Frames, begun_ns: I64, rows: _Rows, row_name: I64, old: I64, owner: I64, newest: I64, which: I64, state: I64, kept: I64,
    retention: int,
) -> int:
    """Walk all frames; `rows` has room for each, `old` marks those of earlier steps.

    Fills per frame its transaction and the state of the one it names; `kept` gets the rows used, in their order. Returns how many.
    """
    r = count = running = 0
    last = -1
    for i in range(len(frames.session)):
        s, n, c, now = frames.session[i], frames.name[i], frames.command[i], frames.ordinal[i]
        if s != last:
            last, running = s, 0
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            if old[r]:
                kept[count] = r
                count += 1
                if rows.outcome[r] != TRANSACTION_UNKNOWN and row_name[r] >= 0:
                    owner[row_name[r]], newest[row_name[r]] = rows.session[r], r
                running += rows.session[r] == s and rows.outcome[r] == TRANSACTION_OPEN and rows.begun_ns[r] >= 0
            r += 1
        t = newest[n] if n >= 0 and owner[n] == s else -1
        if n >= 0:
            state[i] = _state(rows, t, now, retention)
        t = _find(rows, t, now, retention)
        alive = t >= 0 and rows.outcome[t] == TRANSACTION_OPEN
        before = running
        if alive and c == BEGIN:
            rows.outcome[t] = TRANSACTION_UNKNOWN
            running -= rows.begun_ns[t] >= 0
        elif alive and (c == COMMIT or c == ABORT):
            rows.outcome[t], rows.ended_ordinal[t] = TRANSACTION_COMMITTED if c == COMMIT else TRANSACTION_ABORTED, now
            which[i] = t
            running -= rows.begun_ns[t] >= 0
        if c == COMMIT or c == ABORT:
            continue
        if c == BEGIN or not alive:
            t = r  # the row that stands for this frame
            kept[count] = t
            count += 1
            rows.begun_ns[t] = begun_ns[i] if c == BEGIN else -1
            rows.open_before[t] = before
            if n >= 0:
                owner[n], newest[n] = s, t
                running += c == BEGIN
            else:
                rows.outcome[t] = TRANSACTION_UNKNOWN
        which[i] = t
        _count(rows, t, c, frames.body_octets[i], now)
    while r < len(rows.session):
        if old[r]:
            kept[count] = r
            count += 1
        r += 1
    return count


class Followed(NamedTuple):
    """The transactions; and per frame the row, -1 for none, and the state of the one that it names."""

    rows: Records
    row: I64
    state: I64


def follow(dialogue: Dialogue, gaps: Gaps, trusted: Bools, before: pa.Table, retention: int) -> Followed:
    """Follow all sessions' transactions; `before` is the state table, `trusted` per frame: it surely is one."""
    d, count = dialogue, len(dialogue)
    at = d.new(CLIENT, BEGIN, COMMIT, ABORT, SEND, ACK, NACK)
    text = d.some("transaction", at)
    used = np.asarray(text.is_valid()) | (d.command[at] == BEGIN)
    at, text = at[used], text.filter(pa.array(used))
    numbers = {
        "session": d.session[at], "ordinal": d.ordinal[at], "offset": d.offset[at], "first_ns": d.first_ns[at],
        "gaps_c2s": gaps.ended[at, CLIENT], "missed": gaps.missing[at, CLIENT].astype(np.int64), "trusted": trusted[at].astype(np.int64),
    }
    rows = opened(LAYOUT, before, d.ids, numbers, {"id": text})
    by_frame, by_row = text_codes(text, rows.text["id"])
    old = rows["touched"] >= 0
    frames = _Frames(d.session[at], d.ordinal[at], d.command[at], by_frame, d.body_octets[at])
    size = max(int(by_frame.max(initial=-1)), int(by_row.max(initial=-1))) + 1
    which, state, kept = np.full(len(at), -1, np.int64), np.full(len(at), UNNAMED, np.int64), np.empty(len(rows), np.int64)
    was_open = rows["outcome"] == TRANSACTION_OPEN
    used_rows = _walk(
        frames, d.first_ns[at], _Rows(*(rows[name] for name in _Rows._fields)), by_row, old.astype(np.int64),
        np.full(size, -1, np.int64), np.zeros(size, np.int64), which, state, kept, retention,
    )
    ended = np.flatnonzero(was_open & (rows["ended_ordinal"] >= 0))
    ending = np.full(len(rows), -1, np.int64)
    closes = np.flatnonzero((which >= 0) & np.isin(d.command[at], (COMMIT, ABORT)))
    ending[which[closes]] = at[closes]
    frame = ending[ended]
    rows["ended_ns"][ended], rows["ended_whole_ns"][ended] = d.first_ns[frame], d.last_ns[frame]
    rows["missed_at_end"][ended] = gaps.missing[frame, CLIENT]
    keep = kept[:used_rows]
    place = spread(len(rows), keep, np.arange(len(keep)))
    which = np.where(which >= 0, place[which], -1) if len(rows) else which
    return Followed(rows.take(keep), spread(count, at, which), spread(count, at, state, UNNAMED))


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


def table(rows: Records, clocks: Clocks, ids: pa.Array, closed_ns: I64) -> pa.Table:
    """Table transactions, of the rows that are final; `closed_ns` per session: what ends those aborted implicitly, by transaction."""
    at = np.flatnonzero(rows.final)
    closed, rows = closed_ns[at], rows.take(at)
    begun, outcome = rows["begun_ns"], rows["outcome"]
    implicit = outcome == TRANSACTION_IMPLICITLY_ABORTED  # by the close of either side
    ended = np.where(implicit, closed, rows["ended_ns"])
    session, begin = rows["session"], Moment(rows["ordinal"], np.where(implicit, -1, begun))
    by_frame = clocks.elapsed(session, begin, Moment(rows["ended_ordinal"], ended), CLIENT)
    by_close = clocks.elapsed(session, Moment(begin.ordinal, np.where(implicit, begun, -1)), Moment(np.full(len(rows), LAST), ended))
    duration = pc.coalesce(by_frame, by_close)
    return pa.table(
        {
            "stream_id": ids.take(pa.array(rows["session"])),
            "begin_offset": pa.array(rows["offset"]),
            "transaction": rows.text["id"],
            "begun_ns": pa.array(begun),
            "ended_ns": or_null(ended),
            "begun_ts": timestamps(begun),
            "outcome": worded(outcome, words.TRANSACTION_OUTCOMES),
            **{name: pa.array(rows[name]) for name in ("sends", "acks", "nacks", "body_octets")},
            "duration_us": duration,
        },
        schema=TRANSACTIONS.arrow,
    )
