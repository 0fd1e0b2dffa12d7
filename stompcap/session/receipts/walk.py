"""Receipts, frame by frame: which request each RECEIPT and ERROR answers; kernels."""

from __future__ import annotations

from typing import NamedTuple

from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.session.dialogue import ERROR
from stompcap.session.facts import ACTIVE, ENDED, REFUSED, UNKNOWN, UNNAMED
from stompcap.session.receipts.records import Request


class ReceiptFrames(NamedTuple):
    """The frames that the walk goes over: those of a client that ask for a receipt, and RECEIPT and ERROR with a receipt-id."""

    session: I64
    ordinal: I64
    command: I64
    asks: Bools
    name: I64  # code of the value


class ReceiptNames(NamedTuple):
    """Which requests wait for an answer, by the value that they ask for."""

    of_row: I64  # per request, the code of its value
    session: I64  # per name, the session that the entry is of
    head: I64  # per name, the first request that waits
    tail: I64  # per name, the last one
    answered: I64  # per name, the latest that was answered
    opening: I64  # per name, the latest of a CONNECT or STOMP while it waits; others are answered before it
    following: I64  # per request, the next that waits


class ReceiptFacts(NamedTuple):
    """What the walk finds of each of them."""

    row: I64  # the request that it is, or that it answers
    state: I64  # of the value, before it; as in stompcap.session.facts


NO_FACTS = (-1, UNNAMED)  # of a frame that the walk does not go over


@inline
def _enter(rows: Request, r: int, names: ReceiptNames) -> None:
    """Take up a request, new or of an earlier step."""
    name = names.of_row[r]
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


@inline
def _waiting(rows: Request, name: int, names: ReceiptNames, now: int, retention: int) -> int:
    """The request of a name that the next RECEIPT answers, -1 where none waits; one of a CONNECT is forgotten in time."""
    opening = names.opening[name]
    if names.head[name] >= 0 or opening < 0:
        return int(names.head[name])
    return int(opening) if now - rows.ordinal[opening] <= retention else -1


@inline
def _state(rows: Request, name: int, names: ReceiptNames, now: int, retention: int) -> int:
    """How the latest request of a name stands."""
    latest = names.answered[name]
    if _waiting(rows, name, names, now, retention) >= 0:
        return ACTIVE
    if latest < 0 or now - rows.answered_ordinal[latest] > retention:
        return UNKNOWN
    return REFUSED if rows.by_error[latest] else ENDED


@kernel
def walk(frames: ReceiptFrames, rows: Request, names: ReceiptNames, facts: ReceiptFacts, retention: int) -> None:
    """Walk all frames. Requests of a session stand in a block, those of earlier steps first; a frame that asks takes up the next one."""
    r = 0
    for i in range(len(frames.session)):
        s, n, now = frames.session[i], frames.name[i], frames.ordinal[i]
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            _enter(rows, r, names)
            r += 1
        facts.state[i] = _state(rows, n, names, now, retention) if names.session[n] == s else UNKNOWN
        if frames.asks[i]:
            _enter(rows, r, names)
            facts.row[i] = r
            r += 1
        elif facts.state[i] == ACTIVE:
            waiting = _waiting(rows, n, names, now, retention)
            if waiting == names.head[n]:
                names.head[n] = names.following[waiting]
            else:
                names.opening[n] = -1
            names.answered[n] = facts.row[i] = waiting
            rows.answered_ordinal[waiting], rows.by_error[waiting] = now, frames.command[i] == ERROR
