"""Settling: which ACK or NACK settles which MESSAGE; kernels, frame by frame.

An ACK names one delivery. In mode client it settles those before it too: of the same subscription, as the specification has it,
or of the whole connection, as RabbitMQ does. Inside a transaction it settles nothing until COMMIT; after ABORT the deliveries may
be acknowledged again, until their subscription delivers the same message anew.

Where octets may be missing between a delivery and what became of it, it is `lost`. An ACK whose reach the capture leaves open
counts as a gap, too, for deliveries that it may have reached.
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.codes import MODE_AUTO, MODE_CLIENT, MODE_UNKNOWN
from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.session.deliveries.ordered import below
from stompcap.session.deliveries.outstanding import (
    ABORTED,
    ANY_SUBSCRIPTION,
    AUTOMATIC,
    BY_MESSAGE,
    ENCLOSED,
    NO_TRANSACTION,
    OWN,
    PENDING,
    RENEWED,
    REPLACED,
    SETTLED,
    Habits,
    Lists,
    Rows,
    Unsettled,
    enclose,
    enter,
    find,
    link,
    misses,
    put,
    take,
    vague,
)
from stompcap.session.dialogue import ABORT, ACK, COMMIT, MESSAGE, NACK
from stompcap.session.facts import (
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_PENDING,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)


class Frames(NamedTuple):
    """MESSAGE, ACK, NACK, COMMIT and ABORT frames: names of ACKs (stompcap.session.deliveries.names), rows of transactions, gaps before.

    `unsure`: an ACK or NACK of a session whose version is not known for certain.
    """

    session: I64
    ordinal: I64
    command: I64
    version: I64
    named: I64
    message: I64
    strict: Bools
    compares: Bools
    unsure: Bools
    transaction: I64
    gaps_ended: I64
    gaps_begun: I64


class Found(NamedTuple):
    """What is found of each frame, as in stompcap.session.facts.Facts."""

    delivery: I64
    target: I64
    unsettled_earlier: I64
    is_message_id: I64
    copy_of: I64
    copy_acked: I64
    ack_in_use: I64


@inline
def _deliver(
    frames: Frames, i: int, rows: Rows, k: int, lists: Lists, unsettled: Unsettled, habits: Habits, found: Found, retention: int
) -> None:
    """MESSAGE i is delivery k."""
    s, now, mode, gaps = frames.session[i], frames.ordinal[i], rows.mode[k], frames.gaps_begun[i]
    _, copy = find(rows, lists, unsettled, BY_MESSAGE, lists.codes[BY_MESSAGE, k], s, now, retention)
    found.delivery[i], found.copy_of[i] = k, copy
    same = copy >= 0 and rows.subscription[k] >= 0 and rows.subscription[copy] == rows.subscription[k]
    if same and rows.state[copy] == SETTLED and not rows.nack[copy] and rows.transaction[copy] == NO_TRANSACTION:
        found.copy_acked[i] = 1
    if same and rows.state[copy] == ABORTED:
        take(rows, unsettled, copy)
        rows.state[copy], rows.latest[copy] = REPLACED, now
        rows.lost[copy] |= misses(rows, copy, habits, gaps)
    which = OWN if frames.version[i] == 2 else BY_MESSAGE
    rival, _ = find(rows, lists, unsettled, which, lists.codes[which, k], s, now, retention)
    found.ack_in_use[i] = rival >= 0
    if rival >= 0 and mode != MODE_AUTO:
        rows.again[rival] = rows.again[k] = 1
        unknown = rows.mode[rival] == MODE_UNKNOWN or mode == MODE_UNKNOWN
        if unknown or rows.unclear[rival] or misses(rows, rival, habits, gaps):
            rows.unclear[rival] = rows.unclear[k] = 1
    rows.opened[k], rows.unread[k] = frames.gaps_ended[i] + vague(rows, k, habits), habits.unread[s]
    rows.state[k], rows.latest[k] = AUTOMATIC if mode == MODE_AUTO else PENDING, now
    link(lists, k, s)
    if rows.state[k] == PENDING:
        put(rows, unsettled, k, True)


@inline
def _target(
    frames: Frames, i: int, rows: Rows, lists: Lists, unsettled: Unsettled, found: Found, retention: int
) -> int:
    """The delivery that ACK or NACK i settles, -1 for none; fills in its target."""
    s, now = frames.session[i], frames.ordinal[i]
    k, latest = find(rows, lists, unsettled, OWN, frames.named[i], s, now, retention)
    if latest < 0 and frames.message[i] >= 0:
        k, latest = find(rows, lists, unsettled, BY_MESSAGE, frames.message[i], s, now, retention)
        if frames.compares[i]:
            found.is_message_id[i] = latest >= 0
            k = latest = -1
        elif frames.strict[i] and latest >= 0 and lists.codes[OWN, latest if k < 0 else k] >= 0:
            found.delivery[i], found.target[i] = latest, TARGET_OTHER_SUBSCRIPTION
            return -1
    named = latest if k < 0 else k
    found.delivery[i] = named
    if named >= 0 and unsettled.number[named] >= 0:
        number = unsettled.number[named]
        found.unsettled_earlier[i] = below(unsettled.words, unsettled.starts, number) >= unsettled.lowest[number]
    if k >= 0:
        found.target[i] = TARGET_PENDING
    elif latest < 0:
        found.target[i] = TARGET_UNKNOWN
    elif rows.state[latest] == AUTOMATIC:
        found.target[i] = TARGET_AUTO
    else:
        found.target[i] = TARGET_SETTLED if rows.direct[latest] else TARGET_CUMULATED
    return int(k)


@inline
def _settle(rows: Rows, k: int, i: int, frames: Frames, lists: Lists, unsettled: Unsettled, habits: Habits, direct: bool) -> None:
    """ACK or NACK i settles delivery k, or encloses it in its transaction."""
    take(rows, unsettled, k)
    rows.by[k], rows.nack[k], rows.direct[k], rows.transaction[k] = i, frames.command[i] == NACK, direct, frames.transaction[i]
    rows.latest[k] = frames.ordinal[i]
    if rows.transaction[k] >= 0:
        rows.state[k] = ENCLOSED
        enclose(rows, lists, k)
    else:
        rows.state[k] = SETTLED
        rows.lost[k] |= misses(rows, k, habits, frames.gaps_begun[i])


@inline
def _acknowledge(
    frames: Frames, i: int, rows: Rows, lists: Lists, unsettled: Unsettled, habits: Habits, found: Found, retention: int
) -> None:
    """ACK or NACK i."""
    s, k = frames.session[i], -1
    if found.target[i] != TARGET_NONE:
        k = _target(frames, i, rows, lists, unsettled, found, retention)
    if k < 0:
        t = found.target[i]
        habits.unread[s] += frames.unsure[i] and (t == TARGET_NONE or t == TARGET_UNKNOWN or t == TARGET_OTHER_SUBSCRIPTION)
        return
    cumulative = rows.mode[k] == MODE_CLIENT and not (frames.command[i] == NACK and habits.single_nack[s])
    renewed = rows.possible[k] == RENEWED
    ambiguous = rows.unclear[k] != 0 or rows.possible[k] == ANY_SUBSCRIPTION or (habits.wide[s] and (renewed or rows.subscription[k] < 0))
    number = unsettled.number[k]
    _settle(rows, k, i, frames, lists, unsettled, habits, True)
    habits.ambiguous[s] += ambiguous
    habits.renewed[s] += renewed
    while cumulative and number >= 0:
        lower = below(unsettled.words, unsettled.starts, number)
        if lower < unsettled.lowest[number]:
            break
        _settle(rows, unsettled.delivery[lower], i, frames, lists, unsettled, habits, False)
        number = lower


@inline
def _end_transaction(frames: Frames, i: int, rows: Rows, lists: Lists, unsettled: Unsettled, habits: Habits) -> None:
    """COMMIT or ABORT i."""
    transaction = frames.transaction[i]
    k = lists.enclosed[transaction]
    while k >= 0:
        rows.latest[k] = frames.ordinal[i]
        if frames.command[i] == COMMIT:
            rows.state[k] = SETTLED
            rows.lost[k] |= misses(rows, k, habits, frames.gaps_begun[i])
        else:
            rows.state[k] = ABORTED
            rows.aborts[k] += 1
            put(rows, unsettled, k, True)
        k = lists.enclosed_before[k]
    lists.enclosed[transaction] = -1


@kernel
def walk(
    frames: Frames, rows: Rows, lists: Lists, unsettled: Unsettled, habits: Habits, found: Found, retention: int
) -> None:
    """Walk all frames. Deliveries of a session stand in a block, those of earlier steps first; a MESSAGE takes up the next one."""
    k = 0
    for i in range(len(frames.session)):
        s, now, c = frames.session[i], frames.ordinal[i], frames.command[i]
        while k < len(rows.session) and (rows.session[k] < s or (rows.session[k] == s and rows.ordinal[k] < now)):
            enter(rows, lists, unsettled, k)
            k += 1
        if c == MESSAGE:
            _deliver(frames, i, rows, k, lists, unsettled, habits, found, retention)
            k += 1
        elif (c == COMMIT or c == ABORT) and frames.transaction[i] >= 0:
            _end_transaction(frames, i, rows, lists, unsettled, habits)
        elif c == ACK or c == NACK:
            _acknowledge(frames, i, rows, lists, unsettled, habits, found, retention)
