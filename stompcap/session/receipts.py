"""Receipts: which frame of the client asks for one, and which RECEIPT or ERROR answers it.

A value asked for repeatedly is answered in the order of asking. CONNECT and STOMP ask for none; a server's frame with a `receipt`
header (brokers pass on the sender's) asks for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.kernel import kernel
from stompcap.session.dialogue import CLIENT, CONNECT, ERROR, I8, I32, I64, RECEIPT, SERVER, STOMP, Dialogue
from stompcap.session.notes import ACTIVE, ENDED, REFUSED, UNKNOWN, UNNAMED
from stompcap.session.wire import codes, spread


@dataclass(frozen=True)
class Receipts:
    """What was asked for, and what answered it.

    Per frame: `row` in the table (the request's own, or the one answered; -1), the `state` of the value it names, and `known_by`, the
    frame that tells this where no request waits (-1).

    Per request: `asked` and `answered` (frame indices; answered -1 where no answer was captured).
    """

    row: I64
    state: I8
    known_by: I64
    asked: I64
    answered: I64


@kernel
def _walk(
    session: I32, command: I8, side: I8, ordinal: I64, memory: int, name: I32, names: int,
    row: I64, state: I8, known_by: I64, asked: I64, answered: I64,
) -> int:
    """Walk all sessions; returns the number of requests."""
    owner, head = np.full(names, -1, np.int32), np.full(names, -1, np.int64)
    tail, following = np.zeros(names, np.int64), np.full(len(asked), -1, np.int64)
    before = np.full(names, UNKNOWN, np.int8)  # how the latest answered request of the value ended
    since = np.zeros(names, np.int64)  # by which frame it did
    count = 0
    for i in range(len(session)):
        n = name[i]
        if n < 0:
            continue
        if owner[n] != session[i]:
            owner[n], head[n], before[n], since[n] = session[i], -1, UNKNOWN, i
        if ordinal[i] - ordinal[since[n]] > memory:
            before[n] = UNKNOWN
        waiting = head[n]
        state[i] = ACTIVE if waiting >= 0 else before[n]
        if waiting < 0 and before[n] != UNKNOWN:
            known_by[i] = since[n]
        if side[i] == CLIENT:
            if command[i] == CONNECT or command[i] == STOMP:
                before[n], since[n] = ACTIVE, i  # the specification forbids it, brokers answer it in various ways
                continue
            r = count
            count += 1
            asked[r], answered[r], row[i] = i, -1, r
            if waiting < 0:
                head[n] = r
            else:
                following[tail[n]] = r
            tail[n] = r
        else:
            if waiting >= 0:
                answered[waiting], row[i] = i, waiting
                head[n] = following[waiting]
            if state[i] == ACTIVE:
                before[n], since[n] = ENDED if command[i] == RECEIPT else REFUSED, i
    return count


def follow(dialogue: Dialogue, memory: int) -> Receipts:
    """Follow all sessions' receipts; `memory`: see Options."""
    count = len(dialogue)
    asking = np.flatnonzero(dialogue.side == CLIENT)
    answering = np.flatnonzero(
        (dialogue.side == SERVER) & ((dialogue.command == RECEIPT) | (dialogue.command == ERROR))
    )
    wanted, named = dialogue.some("receipt", asking), dialogue.some("receipt_id", answering)
    has_wanted = wanted.is_valid().to_numpy(zero_copy_only=False)
    has_named = named.is_valid().to_numpy(zero_copy_only=False)
    asking, answering = asking[has_wanted], answering[has_named]
    by_wanted, by_named = codes(wanted.filter(pa.array(has_wanted)), named.filter(pa.array(has_named)))
    name = spread(count, asking, by_wanted)
    name[answering] = by_named

    row, known_by, state = np.full(count, -1, np.int64), np.full(count, -1, np.int64), np.full(count, UNNAMED, np.int8)
    asked, answered = np.zeros(len(asking), np.int64), np.zeros(len(asking), np.int64)
    found = _walk(
        dialogue.session, dialogue.command, dialogue.side, dialogue.ordinal, memory, name, int(name.max(initial=-1)) + 1,
        row, state, known_by, asked, answered,
    )
    return Receipts(row, state, known_by, asked[:found], answered[:found])
