"""Receipts: which frame of the client asks for one, and which RECEIPT or ERROR answers it.

A value asked for repeatedly is answered in the order of asking. A server's frame with a `receipt` header (brokers pass on the sender's)
asks for nothing. CONNECT and STOMP should ask for none, and brokers answer them in various ways: such a request is no row of the table,
but a RECEIPT may answer it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import (
    CLIENT,
    RECEIPT_ANSWERED,
    RECEIPT_OPEN,
    RECEIPT_REFUSED,
    RECEIPT_UNANSWERED,
    SERVER,
    TRANSACTION_COMMITTED,
    TRANSACTION_OPEN,
)
from stompcap.columns import I64, Bools, or_null, spread, take_or, text_codes, timestamps, worded
from stompcap.kernel import kernel
from stompcap.session.clocks import Clocks, Moment
from stompcap.session.dialogue import CONNECT, ERROR, OTHER, RECEIPT, SEND, STOMP, Dialogue
from stompcap.session.facts import ACTIVE, ENDED, REFUSED, UNKNOWN, UNNAMED
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Layout, Records, opened
from stompcap.tables import words
from stompcap.tables.silver import RECEIPTS

LAYOUT = Layout(
    {
        "ordinal": -1, "offset": -1, "first_ns": -1, "asked_ns": -1, "command": OTHER, "answered_ordinal": -1, "answered_ns": -1,
        "answered_order": -1,
        "by_error": 0, "transaction": -1, "inside": 0, "committed": 0, "since_ns": -1, "gaps_s2c": 0, "trusted": 0, "listed": 1, "final": 0,
    },
    ("value", "command_text"),
)
"""One row per request. The frame that asks begins at `first_ns` and is whole at `asked_ns`; `transaction`: the ordinal of the transaction
that a SEND is `inside` of, while that is open; `since_ns`: from when on an answer is due, the COMMIT of that transaction if it was
`committed`; `answered_order`: where the answer stands in wire order. Not `listed`: asked for by CONNECT or STOMP.
"""


class _Rows(NamedTuple):
    """Columns of the records that the walk reads and writes."""

    session: I64
    ordinal: I64
    answered_ordinal: I64
    by_error: I64
    listed: I64


class _Names(NamedTuple):
    """Per name its session, the first and last request that wait, and the latest that was answered; per request the next that waits.

    `opening`: the latest of a CONNECT or STOMP, while it waits; others are answered before it.
    """

    session: I64
    head: I64
    tail: I64
    answered: I64
    opening: I64
    following: I64


@kernel
def _enter(rows: _Rows, r: int, name: int, names: _Names) -> None:
    """Take up a request, new or of an earlier step."""
    if names.session[name] != rows.session[r]:
        names.session[name], names.head[name], names.answered[name], names.opening[name] = rows.session[r], -1, -1, -1
    if rows.answered_ordinal[r] >= 0:
        latest = names.answered[name]
        if latest < 0 or rows.answered_ordinal[r] > rows.answered_ordinal[latest]:
            names.answered[name] = r
        if not rows.listed[r]:
            names.opening[name] = -1  # those before it are not waited for any more
        return
    if not rows.listed[r]:
        names.opening[name] = r
        return
    if names.head[name] < 0:
        names.head[name] = r
    else:
        names.following[names.tail[name]] = r
    names.tail[name] = r


@kernel
def _waiting(rows: _Rows, name: int, names: _Names, now: int, retention: int) -> int:
    """The request of a name that the next RECEIPT answers, -1 where none waits; one of a CONNECT is forgotten in time."""
    opening = names.opening[name]
    if names.head[name] >= 0 or opening < 0:
        return int(names.head[name])
    return int(opening) if now - rows.ordinal[opening] <= retention else -1


@kernel
def _state(rows: _Rows, name: int, names: _Names, now: int, retention: int) -> int:
    """How the latest request of a name stands."""
    latest = names.answered[name]
    if _waiting(rows, name, names, now, retention) >= 0:
        return ACTIVE
    if latest < 0 or now - rows.answered_ordinal[latest] > retention:
        return UNKNOWN
    return REFUSED if rows.by_error[latest] else ENDED


@kernel
def _walk(
    session: I64, ordinal: I64, command: I64, asks: Bools, name: I64, rows: _Rows, row_name: I64, names: _Names, row: I64, state: I64,
    retention: int,
) -> None:
    """Walk the frames that ask and that answer; fills per frame the request and the state of the value."""
    r = 0
    for i in range(len(session)):
        s, n, now = session[i], name[i], ordinal[i]
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            _enter(rows, r, row_name[r], names)
            r += 1
        known = names.session[n] == s
        state[i] = _state(rows, n, names, now, retention) if known else UNKNOWN
        if asks[i]:
            _enter(rows, r, n, names)
            row[i] = r
            r += 1
        elif state[i] == ACTIVE:
            waiting = _waiting(rows, n, names, now, retention)
            if waiting == names.head[n]:
                names.head[n] = names.following[waiting]
            else:
                names.opening[n] = -1
            names.answered[n] = row[i] = waiting
            rows.answered_ordinal[waiting], rows.by_error[waiting] = now, command[i] == ERROR


class Followed(NamedTuple):
    """The requests; and per frame the row it asks for, the row it answers, and the state of the value before it."""

    rows: Records
    asks: I64
    answers: I64
    state: I64


def follow(
    dialogue: Dialogue, gaps: Gaps, trusted: Bools, transactions: tuple[Records, I64], before: pa.Table, retention: int
) -> Followed:
    """Follow all sessions' receipts; `transactions` and the one of each frame; `before` is the state table."""
    d, count = dialogue, len(dialogue)
    asking = np.flatnonzero((d.side == CLIENT) & ~d.earlier)
    answering = d.new(SERVER, RECEIPT, ERROR)
    wanted, named = d.some("receipt", asking), d.some("receipt_id", answering)
    has_wanted, has_named = (np.asarray(text.is_valid()) for text in (wanted, named))
    asking, answering = asking[has_wanted], answering[has_named]
    wanted, named = wanted.filter(pa.array(has_wanted)), named.filter(pa.array(has_named))
    which, command = transactions[1][asking], d.command[asking]
    send = command == SEND
    inside = send & (np.asarray(d.some("transaction", asking).fill_null("")) != "") if len(asking) else send
    numbers = {
        "session": d.session[asking], "ordinal": d.ordinal[asking], "offset": d.offset[asking], "first_ns": d.first_ns[asking],
        "asked_ns": d.last_ns[asking], "command": command, "since_ns": d.last_ns[asking], "gaps_s2c": gaps.ended[asking, SERVER],
        "transaction": np.where(inside & (which >= 0), transactions[0]["ordinal"][which] if len(transactions[0]) else -1, -1),
        "inside": inside.astype(np.int64), "trusted": trusted[asking].astype(np.int64),
        "listed": (~np.isin(command, (CONNECT, STOMP))).astype(np.int64),
    }
    rows = opened(LAYOUT, before, d.ids, numbers, {"value": wanted, "command_text": d.some("command", asking)})
    by_asking, by_answering, by_row = text_codes(wanted, named, rows.text["value"])
    at = np.concatenate([asking, answering])
    order = np.argsort(at, kind="stable")
    at, asks = at[order], np.concatenate([np.ones(len(asking), np.bool_), np.zeros(len(answering), np.bool_)])[order]
    row, state = np.full(len(at), -1, np.int64), np.full(len(at), UNNAMED, np.int64)
    size = max((int(c.max(initial=-1)) for c in (by_asking, by_answering, by_row)), default=-1) + 1
    session_of, head, tail, answered, opening = np.full((5, size), -1, np.int64)
    names = _Names(session_of, head, tail, answered, opening, np.full(len(rows), -1, np.int64))
    _walk(
        d.session[at], d.ordinal[at], d.command[at], asks, np.concatenate([by_asking, by_answering])[order],
        _Rows(*(rows[name] for name in _Rows._fields)), by_row, names, row, state, retention,
    )
    answers = np.flatnonzero(~asks & (row >= 0))
    rows["answered_ns"][row[answers]] = d.last_ns[at[answers]]
    rows["answered_order"][row[answers]] = d.position[at[answers]]
    _commit(rows, transactions[0])
    own = np.where(asks & (row >= 0), row, -1)
    asked = spread(count, at, np.where(take_or(rows["listed"], own) == 1, own, -1))
    _again(d, rows, asked)
    return Followed(rows, asked, spread(count, at, np.where(asks, -1, row)), spread(count, at, state, UNNAMED))


def _again(d: Dialogue, rows: Records, asked: I64) -> None:
    """Fill in what frames of an earlier step asked for."""
    old = np.flatnonzero(d.earlier & (d.side == CLIENT))
    if len(old):
        row = rows.of(d.session[old], d.ordinal[old])
        asked[old] = np.where(take_or(rows["listed"], row) == 1, row, -1)


def _commit(rows: Records, transactions: Records) -> None:
    """Note the ends of transactions that SENDs with a receipt are inside of."""
    waiting = np.flatnonzero(rows["transaction"] >= 0)
    of = transactions.of(rows["session"][waiting], rows["transaction"][waiting])
    if len(of) == 0:
        return
    outcome = np.where(of >= 0, transactions["outcome"][of], -1) if len(transactions) else np.full(len(of), -1)
    done = outcome != TRANSACTION_OPEN
    committed = waiting[outcome == TRANSACTION_COMMITTED]
    rows["committed"][committed] = 1
    rows["since_ns"][committed] = transactions["ended_whole_ns"][of[outcome == TRANSACTION_COMMITTED]]
    rows["transaction"][waiting[done]] = -1


def table(rows: Records, clocks: Clocks, ids: pa.Array, closed: Bools, gaps: I64) -> pa.Table:
    """Table receipts, of the rows that are final; a request whose answer may have been lost by the capture stays open.

    Per session: its connection was `closed`, and `gaps` of the server so far.
    """
    rows = rows.take(np.flatnonzero(rows.final))
    session = rows["session"]
    answered = rows["answered_ordinal"] >= 0
    asking, answering = Moment(rows["ordinal"], rows["first_ns"]), Moment(rows["answered_ordinal"], rows["answered_ns"])
    refused = answered & (rows["by_error"] == 1)
    silent = closed[session] & (gaps[session] == rows["gaps_s2c"])
    status = np.select([refused, answered, silent], [RECEIPT_REFUSED, RECEIPT_ANSWERED, RECEIPT_UNANSWERED], RECEIPT_OPEN)
    return pa.table(
        {
            "stream_id": ids.take(pa.array(session)),
            "request_offset": pa.array(rows["offset"]),
            "command": rows.text["command_text"],
            "receipt": rows.text["value"],
            "requested_ns": pa.array(rows["first_ns"]),
            "answered_ns": or_null(rows["answered_ns"]),
            "requested_ts": timestamps(rows["first_ns"]),
            "answer": worded(np.where(answered, refused.astype(np.int64), -1), words.RECEIPT_ANSWERS),
            "latency_us": clocks.elapsed(session, asking, answering),
            "status": worded(status, words.RECEIPT_STATUSES),
        },
        schema=RECEIPTS.arrow,
    )
