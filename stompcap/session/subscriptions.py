"""Subscriptions: which one each SUBSCRIBE opens, each UNSUBSCRIBE ends and each MESSAGE belongs to.

An id names the newest SUBSCRIBE of that id; where 1.0 gives no id, the destination stands for it. A MESSAGE that was under way when
the id was taken anew shows by its destination: that of the SUBSCRIBE before, not of the newest. A MESSAGE that names no subscription
belongs to the one active subscription of its destination, if there is just one; where octets of the client are missing before it, that
is a guess. What has ended is known by its id for Options.memory frames behind its UNSUBSCRIBE, what is active for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.session.dialogue import CLIENT, I8, I32, I64, MESSAGE, SERVER, SUBSCRIBE, UNSUBSCRIBE, UNTOLD, Bools, Dialogue
from stompcap.session.notes import (
    ACTIVE,
    ENDED,
    MODE_AUTO,
    MODE_OTHER,
    MODE_UNKNOWN,
    UNKNOWN,
    UNNAMED,
)
from stompcap.session.wire import codes, integers, remembered, spread
from stompcap.tables import words


@dataclass(frozen=True)
class Subscriptions:
    """Per frame: row, state, unsubscribed_by, active, same_destination as in `notes.Annotations` (for ACK and NACK not yet filled).

    Per frame besides: `supposed` (a MESSAGE that does not name its subscription, the one active at its destination) and `guessed` (that,
    where another one may be lost).

    Per row: `opened` and `ended` (frame indices, ended -1 while active), `former` (the row that its id named until then, -1), `mode`
    (MODE_*), `name` (code of its id, in one code space with `named`, the subscription named by each MESSAGE, ACK and NACK, -1 where
    none is), `known` (active, or its id still names it).
    """

    row: I64
    state: I8
    unsubscribed_by: I64
    active: I32
    same_destination: I32
    supposed: Bools
    guessed: Bools
    named: I32
    opened: I64
    ended: I64
    former: I64
    mode: I8
    name: I32
    known: Bools


@kernel
def _not_forgotten(r: int, now: int, memory: int, ordinal: I64, ended: I64, under: I64) -> int:
    """That subscription, or the newest one of its id before it, that is known; -1 where none is."""
    while r >= 0 and ended[r] >= 0 and now - ordinal[ended[r]] > memory:
        r = under[r]
    return r


@kernel
def _walk(
    session: I32, command: I8, side: I8, ordinal: I64, memory: int, name: I32, destination: I32, anonymous: I8,
    names: int, destinations: int, missed: Bools, told: I64,
    row: I64, state: I8, unsubscribed_by: I64, active: I32, same: I32, supposed: Bools, opened: I64, ended: I64, former: I64,
) -> int:
    """Walk all sessions; `names` and `destinations` are the sizes of the code spaces. Returns the number of subscriptions.

    `missed`: octets of the client are missing before a frame. `told`: the row that an earlier piece found for a frame, as what was active
    then may be forgotten; else UNTOLD.
    """
    owner, current = np.full(names, -1, np.int32), np.zeros(names, np.int64)
    at, living = np.full(destinations, -1, np.int32), np.zeros(destinations, np.int32)
    rows_at = np.zeros(destinations, np.int64)  # exclusive or of the rows active there: the row itself where there is one
    unnamed_at, unnamed_rows = np.zeros(destinations, np.int32), np.zeros(destinations, np.int64)
    under = np.full(len(opened), -1, np.int64)  # the subscription that had the id before, those that are forgotten left out
    older = np.full(len(opened), -1, np.int64)  # the same, until the id is unsubscribed: that ends all of them
    target = np.full(len(opened), -1, np.int32)  # destination of a row
    nameless = np.zeros(len(opened), np.int8)
    count, alive, last = 0, 0, -1
    for i in range(len(session)):
        s = session[i]
        if s != last:
            last, alive = s, 0
        active[i] = alive
        c, n, d = command[i], name[i], destination[i]
        now, of = ordinal[i], -1
        if n >= 0 and owner[n] == s:
            of = current[n] = _not_forgotten(current[n], now, memory, ordinal, ended, under)
        if d >= 0 and at[d] != s:
            at[d], living[d], rows_at[d], unnamed_at[d], unnamed_rows[d] = s, 0, 0, 0, 0
        if d >= 0 and (c == SUBSCRIBE or c == MESSAGE):
            same[i] = living[d]
        if c == SUBSCRIBE and side[i] == CLIENT:
            r = count
            count += 1
            opened[r], ended[r], former[r], target[r], nameless[r] = i, -1, -1, d, anonymous[i]
            row[i] = r
            if n >= 0:
                state[i] = UNKNOWN
                if of >= 0:
                    state[i] = ACTIVE if ended[of] < 0 else ENDED
                    unsubscribed_by[i] = ended[of]
                former[r] = under[r] = older[r] = of
                owner[n], current[n] = s, r
            if d >= 0:
                living[d] += 1
                rows_at[d] ^= r
                if anonymous[i]:
                    unnamed_at[d] += 1
                    unnamed_rows[d] ^= r
            alive += 1
        elif c == UNSUBSCRIBE and side[i] == CLIENT:
            r = -1
            if n >= 0:
                state[i] = UNKNOWN
                if of >= 0:
                    r = of
                    state[i] = ACTIVE if ended[r] < 0 else ENDED
                    unsubscribed_by[i] = ended[r]
                elif anonymous[i]:
                    if told[i] != UNTOLD:
                        r = told[i]
                    elif d >= 0 and living[d] == 1 and not missed[i]:
                        r = rows_at[d]
                    if r >= 0:
                        state[i] = ACTIVE
            row[i] = r
            while r >= 0:
                if ended[r] < 0:
                    ended[r] = i
                    alive -= 1
                    t = target[r]
                    if t >= 0:
                        living[t] -= 1
                        rows_at[t] ^= r
                        if nameless[r]:
                            unnamed_at[t] -= 1
                            unnamed_rows[t] ^= r
                before, r = r, older[r] if of >= 0 else -1
                if of >= 0:
                    older[before] = -1
        elif c == MESSAGE and side[i] == SERVER:
            r = of
            if told[i] != UNTOLD:
                r = told[i]
            elif n < 0:
                if d >= 0 and living[d] == 1:
                    r, supposed[i] = rows_at[d], True
            elif of >= 0:
                before = under[of] = _not_forgotten(under[of], now, memory, ordinal, ended, under)
                if d >= 0 and target[of] != d and before >= 0 and target[before] == d:
                    r = before
            elif d >= 0 and unnamed_at[d] == 1:
                r, supposed[i] = unnamed_rows[d], True
            row[i] = r
            if of >= 0 and r >= 0:
                state[i] = ACTIVE if ended[r] < 0 else ENDED
                unsubscribed_by[i] = ended[r]
            elif n >= 0:
                state[i] = UNKNOWN
    return count


def modes(header: pa.Array) -> I8:
    """MODE_* of `ack` headers of SUBSCRIBE: absent is auto."""
    listed = integers(pc.index_in(header, value_set=pa.array(words.ACK_MODES)), MODE_OTHER)
    return np.where(header.is_null().to_numpy(zero_copy_only=False), MODE_AUTO, listed).astype(np.int8)


def follow(dialogue: Dialogue, memory: int, missed: Bools) -> Subscriptions:
    """Follow all sessions' subscriptions; `memory`: see Options; `missed`, per frame: octets of the client are missing before it."""
    count = len(dialogue)
    command, side = dialogue.command, dialogue.side
    asking = np.flatnonzero((side == CLIENT) & ((command == SUBSCRIBE) | (command == UNSUBSCRIBE)))
    sent, settling = dialogue.messages, np.flatnonzero(dialogue.settles)

    ids, wanted = dialogue.some("id", asking), dialogue.some("destination", asking)
    by_id, by_name, by_settling = codes(
        pc.coalesce(ids, wanted), dialogue.of_messages("subscription"), dialogue.some("subscription", settling)
    )
    by_wanted, by_sent = codes(wanted, dialogue.of_messages("destination"))
    name, destination = spread(count, asking, by_id), spread(count, asking, by_wanted)
    name[sent], name[settling], destination[sent] = by_name, by_settling, by_sent
    anonymous = np.zeros(count, np.int8)
    anonymous[asking] = ids.is_null().to_numpy(zero_copy_only=False)

    opening = np.flatnonzero((side == CLIENT) & (command == SUBSCRIBE))
    opened, ended, former = (np.zeros(len(opening), np.int64) for _ in range(3))
    row, unsubscribed_by = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    state = np.full(count, UNNAMED, np.int8)
    active, same = np.zeros(count, np.int32), np.zeros(count, np.int32)
    told, supposed = _told(dialogue, opening)
    _walk(
        dialogue.session, command, side, dialogue.ordinal, memory, name, destination, anonymous,
        int(name.max(initial=-1)) + 1, int(destination.max(initial=-1)) + 1, missed, told,
        row, state, unsubscribed_by, active, same, supposed, opened, ended, former,
    )
    named = np.full(count, -1, np.int32)
    named[sent], named[settling] = by_name, by_settling
    return Subscriptions(
        row=row, state=state, unsubscribed_by=unsubscribed_by, active=active, same_destination=same,
        supposed=supposed, guessed=supposed & missed, named=named,
        opened=opened, ended=ended, former=former, mode=modes(dialogue.some("ack", opening)), name=name[opening],
        known=(ended < 0) | (dialogue.now[dialogue.session[opened]] - dialogue.ordinal[ended] <= memory),
    )


def _told(dialogue: Dialogue, opening: I64) -> tuple[I64, Bools]:
    """Per frame the row of the subscription that an earlier piece found for it, UNTOLD where none did; and `supposed`. See `carried`."""
    number = remembered(dialogue.frames, "under", np.full(dialogue.frames.num_rows, -1))[dialogue.row]
    found = np.where(number < 0, UNTOLD, -1)
    at = np.flatnonzero(number > 0)
    opens = dialogue.numbered(at, (number[at] >> 1) - 1)
    found[at] = np.where(opens >= 0, np.searchsorted(opening, opens), -1)
    return found, (number > 0) & (number & 1 > 0)


def carried(dialogue: Dialogue, held: Subscriptions, unsure: I64) -> I64:
    """Per frame, for later pieces: twice one more than the ordinal of the SUBSCRIBE of its subscription, 0 where it has none.

    One more for the frames `unsure`, for which another one may be lost.
    """
    numbers = np.append((dialogue.ordinal[held.opened] + 1) * 2, 0)
    carried: I64 = numbers[held.row]
    carried[unsure] += 1
    return carried


def mode_of(subscriptions: Subscriptions, row: I64) -> I8:
    """MODE_* of subscriptions by row, MODE_UNKNOWN for row -1."""
    if len(subscriptions.mode) == 0:
        return np.full(len(row), MODE_UNKNOWN, np.int8)
    return np.where(row >= 0, subscriptions.mode[row], MODE_UNKNOWN).astype(np.int8)
