"""Transactions, frame by frame: which one each frame of a client belongs to, and how it ends; kernels."""

from __future__ import annotations

from typing import NamedTuple

from stompcap.codes import TRANSACTION_ABORTED, TRANSACTION_COMMITTED, TRANSACTION_OPEN, TRANSACTION_UNKNOWN
from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.session.dialogue import ABORT, ACK, BEGIN, COMMIT, NACK, SEND
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN, UNNAMED
from stompcap.session.transactions.records import Transaction


class TransactionFrames(NamedTuple):
    """The frames that the walk goes over: those of a client that name a transaction, and each BEGIN."""

    session: I64
    ordinal: I64
    command: I64
    name: I64  # code of the transaction's name; -1 for none
    body_octets: I64
    first_ns: I64


class TransactionNames(NamedTuple):
    """Per name its newest row, and the session that this is of; per row the code of its name."""

    of_row: I64
    session: I64
    newest: I64


class TransactionFacts(NamedTuple):
    """What the walk finds of each of them."""

    row: I64  # its transaction
    state: I64  # of the transaction that it names, before it; as in stompcap.session.facts


NO_FACTS = (-1, UNNAMED)  # of a frame that the walk does not go over


@inline
def _find(rows: Transaction, t: int, now: int, retention: int) -> int:
    """That transaction, or -1 where it was never begun and not named for long."""
    return t if t >= 0 and (rows.begun_ns[t] >= 0 or now - rows.touched[t] <= retention) else -1


@inline
def _count(rows: Transaction, t: int, command: int, body: int, now: int) -> None:
    """A frame belongs to a transaction."""
    rows.touched[t] = now
    if command == SEND:
        rows.sends[t] += 1
        rows.body_octets[t] += body
    elif command == ACK:
        rows.acks[t] += 1
    elif command == NACK:
        rows.nacks[t] += 1


@inline
def _state(rows: Transaction, t: int, now: int, retention: int) -> int:
    """The state of the newest transaction of a name, -1 being none."""
    if t < 0:
        return UNKNOWN
    if rows.outcome[t] != TRANSACTION_OPEN:
        return ENDED if rows.ended_ordinal[t] >= 0 and now - rows.ended_ordinal[t] <= retention else UNKNOWN
    return ACTIVE if rows.begun_ns[t] >= 0 else UNKNOWN


@kernel
def walk(
    frames: TransactionFrames, rows: Transaction, old: Bools, names: TransactionNames, facts: TransactionFacts, used: I64, retention: int
) -> int:
    """Walk all frames; `rows` has room for one of each, `old` marks those of earlier steps.

    `used` is filled with the rows that stand for a transaction, in their order; returns how many those are.
    """
    r = count = running = 0
    last = -1
    for i in range(len(frames.session)):
        s, n, c, now = frames.session[i], frames.name[i], frames.command[i], frames.ordinal[i]
        if s != last:
            last, running = s, 0
        while r < len(rows.session) and (rows.session[r] < s or (rows.session[r] == s and rows.ordinal[r] < now)):
            if old[r]:
                used[count] = r
                count += 1
                if rows.outcome[r] != TRANSACTION_UNKNOWN and names.of_row[r] >= 0:
                    names.session[names.of_row[r]], names.newest[names.of_row[r]] = rows.session[r], r
                running += rows.session[r] == s and rows.outcome[r] == TRANSACTION_OPEN and rows.begun_ns[r] >= 0
            r += 1
        t = names.newest[n] if n >= 0 and names.session[n] == s else -1
        if n >= 0:
            facts.state[i] = _state(rows, t, now, retention)
        t = _find(rows, t, now, retention)
        alive = t >= 0 and rows.outcome[t] == TRANSACTION_OPEN
        before = running
        if alive and c == BEGIN:
            rows.outcome[t] = TRANSACTION_UNKNOWN
            running -= rows.begun_ns[t] >= 0
        elif alive and (c == COMMIT or c == ABORT):
            rows.outcome[t], rows.ended_ordinal[t] = TRANSACTION_COMMITTED if c == COMMIT else TRANSACTION_ABORTED, now
            facts.row[i] = t
            running -= rows.begun_ns[t] >= 0
        if c == COMMIT or c == ABORT:
            continue
        if c == BEGIN or not alive:
            t = r  # the row that stands for this frame
            used[count] = t
            count += 1
            rows.begun_ns[t] = frames.first_ns[i] if c == BEGIN else -1
            rows.open_before[t] = before
            if n >= 0:
                names.session[n], names.newest[n] = s, t
                running += c == BEGIN
            else:
                rows.outcome[t] = TRANSACTION_UNKNOWN
        facts.row[i] = t
        _count(rows, t, c, frames.body_octets[i], now)
    while r < len(rows.session):
        if old[r]:
            used[count] = r
            count += 1
        r += 1
    return count
