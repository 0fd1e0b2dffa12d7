"""Transactions: what BEGIN opens, what belongs to it, how it ends, by the client's word.

A frame may name a transaction that was never begun as far as the capture shows; such a one is followed too, so that its COMMIT is
understood, until none has named it for Options.memory frames; but it makes no row of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.kernel import kernel
from stompcap.session.columns import chosen
from stompcap.session.dialogue import (
    ABORT,
    ACK,
    BEGIN,
    CLIENT,
    COMMIT,
    I8,
    I32,
    I64,
    NACK,
    SEND,
    UNTOLD,
    Bools,
    Dialogue,
)
from stompcap.session.notes import ACTIVE, ENDED, UNKNOWN, UNNAMED
from stompcap.session.wire import codes, remembered, spread

TALLIES = ("sends", "acked", "nacked", "octets", "touched")
OVER = 16  # mark of frames, beside those of stompcap.session.progress: a BEGIN, no longer at hand, came over the transaction it begins
COMMITTED, ABORTED, IMPLICITLY_ABORTED, OPEN, UNDECIDED = range(5)  # index in words.TRANSACTION_OUTCOMES


@dataclass(frozen=True)
class Transactions:
    """Per frame: `which` transaction it begins, ends or belongs to (-1 none) and the `state` of the one it names.

    Per transaction: `first`, `begun` and `ended` (frame indices: the first that names it; begun -1 where no BEGIN was captured,
    ended -1 where neither COMMIT nor ABORT was), `left` (the BEGIN that came over it while it was open, -1), `outcome` (index in
    words.TRANSACTION_OUTCOMES), `alive` (neither ended nor left nor forgotten), `row` in the table (-1 where it makes none), what
    it holds, and `touched` (the ordinal of the frame that named it last).
    """

    which: I64
    state: I8
    first: I64
    begun: I64
    ended: I64
    left: I64
    outcome: I8
    alive: Bools
    row: I64
    sends: I64
    acks: I64
    nacks: I64
    body_octets: I64
    touched: I64

    @property
    def frame_row(self) -> I64:
        """Per frame, the row in the table of transactions."""
        if len(self.row) == 0:
            return np.full(len(self.which), -1, np.int64)
        return np.where(self.which >= 0, self.row[self.which], -1)


@kernel
def _walk(
    session: I32, command: I8, side: I8, ordinal: I64, memory: int, name: I32, body: I64, names: int, earlier: I64, gone: Bools,
    within: I64, which: I64, state: I8, first: I64, begun: I64, ended: I64, left: I64, outcome: I8,
    sends: I64, acks: I64, nacks: I64, octets: I64, touched: I64,
) -> int:
    """Walk all sessions; outcomes still open at the end are left OPEN. Returns the number of transactions.

    `earlier`, of shape (5, frames): what is no longer at hand of the transaction that a frame is the first of; `gone`: another was
    begun over it. `within`: the first frame of the transaction that an earlier piece found a frame to belong to, -1 for none, UNTOLD of
    frames that are new. `touched`: the ordinal of the frame that named a transaction last.
    """
    owner, current = np.full(names, -1, np.int32), np.zeros(names, np.int64)
    count = 0
    for i in range(len(session)):
        c, n = command[i], name[i]
        if side[i] != CLIENT or not (c == BEGIN or c == COMMIT or c == ABORT or c == SEND or c == ACK or c == NACK):
            continue
        if n < 0 and c != BEGIN:
            continue
        t = -1
        if n >= 0:
            state[i] = UNKNOWN
            if owner[n] == session[i]:
                t = current[n]
                if outcome[t] != OPEN:
                    state[i] = ENDED if ordinal[i] - ordinal[ended[t]] <= memory else UNKNOWN
                elif begun[t] >= 0:
                    state[i] = ACTIVE
                if begun[t] < 0 and ordinal[i] - touched[t] > memory:
                    t = -1
        if within[i] == UNTOLD or c == BEGIN:
            alive = t >= 0 and outcome[t] == OPEN
        else:
            if within[i] < 0:
                continue
            alive = within[i] < i
            t = which[within[i]]
        if c == BEGIN:
            if alive:
                outcome[t], left[t] = UNDECIDED, i
        elif c == COMMIT or c == ABORT:
            if alive:
                outcome[t], ended[t] = COMMITTED if c == COMMIT else ABORTED, i
                which[i] = t
            continue
        if c == BEGIN or not alive:
            t = count
            count += 1
            first[t], ended[t], left[t], outcome[t] = i, -1, -1, OPEN
            begun[t] = i if c == BEGIN else -1
            sends[t], acks[t], nacks[t], octets[t] = earlier[0, i], earlier[1, i], earlier[2, i], earlier[3, i]
            touched[t] = earlier[4, i]
            if n >= 0 and not gone[i]:
                owner[n], current[n] = session[i], t
            else:
                outcome[t] = UNDECIDED
        which[i], touched[t] = t, max(touched[t], ordinal[i])
        if c == SEND:
            sends[t] += 1
            octets[t] += body[i]
        elif c == ACK:
            acks[t] += 1
        elif c == NACK:
            nacks[t] += 1
    return count


def follow(dialogue: Dialogue, memory: int, over: Bools, missed: Bools, missing_later: Bools) -> Transactions:
    """Follow all sessions' transactions.

    `memory`: see Options. `over` per session: it has ended, what is open is aborted. `missed` and `missing_later` per frame: a
    client's octets may be missing before it, behind it.
    """
    count, command = len(dialogue), dialogue.command
    listed = np.isin(command, np.array([BEGIN, COMMIT, ABORT, SEND, ACK, NACK], np.int8))
    listed &= dialogue.side == CLIENT
    at = np.flatnonzero(listed)
    text = dialogue.some("transaction", at)
    named = text.is_valid().to_numpy(zero_copy_only=False)
    used = named | (command[at] == BEGIN)
    at, text = at[used], text.filter(pa.array(used))
    name = spread(count, at, codes(text)[0])

    most = len(at)
    which, state = np.full(count, -1, np.int64), np.full(count, UNNAMED, np.int8)
    first, begun, ended, left, touched = (np.zeros(most, np.int64) for _ in range(5))
    outcome = np.zeros(most, np.int8)
    counts = np.zeros((4, most), np.int64)
    found = 0
    if most:
        found = _walk(
            dialogue.session, command, dialogue.side, dialogue.ordinal, memory, name, dialogue.body_octets,
            int(name.max(initial=-1)) + 1, _earlier(dialogue), _gone(dialogue), _within(dialogue),
            which, state, first, begun, ended, left, outcome,
            counts[0], counts[1], counts[2], counts[3], touched,
        )
    first, begun, ended, left, outcome = first[:found], begun[:found], ended[:found], left[:found], outcome[:found]
    counts, touched = counts[:, :found], touched[:found]

    told = remembered(dialogue.frames, "named", np.full(dialogue.frames.num_rows, -1))[dialogue.row]
    state = np.where(told < 0, state, told - 1).astype(np.int8)  # what it hung on may be dropped
    opened = outcome == OPEN
    now = dialogue.ordinal[dialogue.starts[1:] - 1][dialogue.session[first]] if found else touched
    alive = opened & ((begun >= 0) | (now - touched <= memory))
    never = (begun < 0) & ~missed[first]  # named, but never begun although nothing is missing: it means nothing
    outcome[opened & over[dialogue.session[first]]] = IMPLICITLY_ABORTED
    outcome[opened & (missing_later[first] | never)] = UNDECIDED
    row = np.where(begun >= 0, np.cumsum(begun >= 0) - 1, -1)
    return Transactions(
        which, state, first, begun, ended, left, outcome, alive, row, counts[0], counts[1], counts[2], counts[3], touched
    )


def _gone(dialogue: Dialogue) -> Bools:
    """First frames of transactions that a BEGIN came over which is no longer at hand."""
    marks = remembered(dialogue.frames, "told", np.zeros(dialogue.frames.num_rows, np.int64))[dialogue.row]
    gone: Bools = (marks & OVER) != 0
    return gone


def _within(dialogue: Dialogue) -> I64:
    """Per frame the first of the transaction that an earlier piece found it to belong to, -1 for none; UNTOLD of frames that are new."""
    told = remembered(dialogue.frames, "within", np.full(dialogue.frames.num_rows, -1))[dialogue.row]
    first = np.where(told < 0, UNTOLD, -1)
    at = np.flatnonzero(told > 0)
    first[at] = dialogue.numbered(at, told[at] - 1)
    return first


def _earlier(dialogue: Dialogue) -> I64:
    """Of each frame that a transaction begins with, TALLIES of what is no longer at hand."""
    none = np.zeros(dialogue.frames.num_rows, np.int64)
    return np.stack([remembered(dialogue.frames, name, none)[dialogue.row] for name in TALLIES])


def carried(dialogue: Dialogue, held: Transactions) -> dict[str, I64]:
    """Per frame, for later pieces: one more than the state of the transaction that it names, and than the ordinal of its first frame."""
    first = chosen(held.first, held.which)
    return {"named": held.state.astype(np.int64) + 1, "within": np.where(first >= 0, dialogue.ordinal[first] + 1, 0)}
