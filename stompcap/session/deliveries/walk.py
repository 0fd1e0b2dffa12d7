"""Settling: which ACK or NACK settles which MESSAGE; kernels, frame by frame.

An ACK names one delivery. In mode client it settles those before it too: of the same subscription, as the specification has it,
or of the whole connection, as RabbitMQ does. Inside a transaction it settles nothing until COMMIT; after ABORT the deliveries may
be acknowledged again, until their subscription delivers the same message once more.

A delivery is `lost` if octets may be missing between it and the frame that settles it. If the capture does not show what else an ACK
settles, the ACK counts as a gap, too, for the deliveries that it may have settled.
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.codes import MODE_AUTO, MODE_CLIENT, MODE_UNKNOWN
from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.session.counters import Counters
from stompcap.session.deliveries.in_flight import settles
from stompcap.session.deliveries.ordered import below
from stompcap.session.deliveries.outstanding import (
    BY_MESSAGE,
    OWN,
    DeliveryIndex,
    Unsettled,
    enclose,
    enter,
    find,
    link,
    put,
    take,
    vague,
)
from stompcap.session.deliveries.records import (
    ABORTED,
    ANY_SUBSCRIPTION,
    AUTOMATIC,
    ENCLOSED,
    NO_TRANSACTION,
    PENDING,
    RENEWED,
    REPLACED,
    SETTLED,
    Delivery,
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
from stompcap.session.products.quirks import Quirks


class DeliveryFrames(NamedTuple):
    """The frames that the walk goes over: MESSAGE, ACK, NACK, COMMIT and ABORT."""

    session: I64
    ordinal: I64
    ns: I64  # the time that it counts by
    command: I64
    version: I64
    named: I64  # of ACK and NACK, as stompcap.session.deliveries.names.DeliveryNames has it, and the next three
    message: I64
    strict: Bools
    compares: Bools
    unsure: Bools  # an ACK or NACK of a session whose version is not known for certain
    transaction: I64  # row of the transaction that the frame names
    gaps_ended: I64  # gaps of both directions that had ended before it
    gaps_begun: I64


class DeliveryFacts(NamedTuple):
    """What the walk finds of each of them; stompcap.session.facts.Facts says what it means."""

    delivery: I64
    target: I64
    unsettled_earlier: I64
    is_message_id: I64
    copy_of: I64
    copy_acked: I64
    ack_in_use: I64


NO_FACTS = (-1, TARGET_NONE, 0, 0, -1, 0, 0)  # of a frame that the walk does not go over


@inline
def _misses(rows: Delivery, k: int, quirks: Quirks, counters: Counters, gaps: int) -> bool:
    """More gaps have begun, or vague ACKs come, than had when the delivery came."""
    s = rows.session[k]
    reached = vague(rows.mode[k], rows.possible[k], quirks.ack_scope_connection[s], counters.ambiguous[s], counters.renewed[s])
    missed: bool = gaps + reached != rows.opened[k]
    return missed


@inline
def _deliver(
    frames: DeliveryFrames, i: int, rows: Delivery, k: int, index: DeliveryIndex, unsettled: Unsettled, quirks: Quirks,
    counters: Counters, facts: DeliveryFacts, retention: int
) -> None:
    """MESSAGE i is delivery k."""
    s, now, mode, gaps = frames.session[i], frames.ordinal[i], rows.mode[k], frames.gaps_begun[i]
    _, copy = find(rows, index, unsettled, BY_MESSAGE, index.codes[BY_MESSAGE, k], s, now, retention)
    facts.delivery[i], facts.copy_of[i] = k, copy
    same = copy >= 0 and rows.subscription[k] >= 0 and rows.subscription[copy] == rows.subscription[k]
    if same and rows.state[copy] == SETTLED and not rows.nack[copy] and rows.transaction[copy] == NO_TRANSACTION:
        facts.copy_acked[i] = 1
    if same and rows.state[copy] == ABORTED:
        take(rows, unsettled, copy, now, frames.ns[i])
        rows.state[copy], rows.latest[copy] = REPLACED, now
        rows.lost[copy] |= _misses(rows, copy, quirks, counters, gaps)
    which = OWN if frames.version[i] == 2 else BY_MESSAGE
    rival, _ = find(rows, index, unsettled, which, index.codes[which, k], s, now, retention)
    facts.ack_in_use[i] = rival >= 0
    if rival >= 0 and mode != MODE_AUTO:
        rows.again[rival] = rows.again[k] = 1
        unknown = rows.mode[rival] == MODE_UNKNOWN or mode == MODE_UNKNOWN
        if unknown or rows.unclear[rival] or _misses(rows, rival, quirks, counters, gaps):
            rows.unclear[rival] = rows.unclear[k] = 1
    reached = vague(mode, rows.possible[k], quirks.ack_scope_connection[s], counters.ambiguous[s], counters.renewed[s])
    rows.opened[k], rows.unread[k] = frames.gaps_ended[i] + reached, counters.unread[s]
    rows.state[k], rows.latest[k] = AUTOMATIC if mode == MODE_AUTO else PENDING, now
    link(index, k, s)
    if rows.state[k] == PENDING:
        put(rows, unsettled, k, now, frames.ns[i])


@inline
def _target(
    frames: DeliveryFrames, i: int, rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, facts: DeliveryFacts, retention: int
) -> int:
    """The delivery that ACK or NACK i settles, -1 for none; fills in its target."""
    s, now = frames.session[i], frames.ordinal[i]
    k, latest = find(rows, index, unsettled, OWN, frames.named[i], s, now, retention)
    if latest < 0 and frames.message[i] >= 0:
        k, latest = find(rows, index, unsettled, BY_MESSAGE, frames.message[i], s, now, retention)
        if frames.compares[i]:
            facts.is_message_id[i] = latest >= 0
            k = latest = -1
        elif frames.strict[i] and latest >= 0 and index.codes[OWN, latest if k < 0 else k] >= 0:
            facts.delivery[i], facts.target[i] = latest, TARGET_OTHER_SUBSCRIPTION
            return -1
    named = latest if k < 0 else k
    facts.delivery[i] = named
    if named >= 0 and unsettled.number[named] >= 0:
        number = unsettled.number[named]
        facts.unsettled_earlier[i] = below(unsettled.words, unsettled.starts, number) >= unsettled.lowest[number]
    if k >= 0:
        facts.target[i] = TARGET_PENDING
    elif latest < 0:
        facts.target[i] = TARGET_UNKNOWN
    elif rows.state[latest] == AUTOMATIC:
        facts.target[i] = TARGET_AUTO
    else:
        facts.target[i] = TARGET_SETTLED if rows.direct[latest] else TARGET_CUMULATED
    return int(k)


@inline
def _settle(
    rows: Delivery, k: int, i: int, frames: DeliveryFrames, index: DeliveryIndex, unsettled: Unsettled, quirks: Quirks, counters: Counters,
    direct: bool,
) -> None:
    """ACK or NACK i settles delivery k, or encloses it in its transaction."""
    subscription, ordinal, ns = rows.subscription[k], frames.ordinal[i], frames.ns[i]
    take(rows, unsettled, k, ordinal, ns)
    if subscription >= 0:
        settles(unsettled.of, subscription, ordinal, ns)
        rows.before_ordinal[k], rows.before_ns[k] = unsettled.of.earlier_ordinal[subscription], unsettled.of.earlier_ns[subscription]
    rows.by[k], rows.nack[k], rows.direct[k], rows.transaction[k] = i, frames.command[i] == NACK, direct, frames.transaction[i]
    rows.latest[k] = ordinal
    if rows.transaction[k] >= 0:
        rows.state[k] = ENCLOSED
        enclose(rows, index, k)
    else:
        rows.state[k] = SETTLED
        rows.lost[k] |= _misses(rows, k, quirks, counters, frames.gaps_begun[i])


@inline
def _acknowledge(
    frames: DeliveryFrames, i: int, rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, quirks: Quirks,
    counters: Counters, facts: DeliveryFacts, retention: int
) -> None:
    """ACK or NACK i."""
    s, k = frames.session[i], -1
    if facts.target[i] != TARGET_NONE:
        k = _target(frames, i, rows, index, unsettled, facts, retention)
    if k < 0:
        t = facts.target[i]
        counters.unread[s] += frames.unsure[i] and (t == TARGET_NONE or t == TARGET_UNKNOWN or t == TARGET_OTHER_SUBSCRIPTION)
        return
    cumulative = rows.mode[k] == MODE_CLIENT and not (frames.command[i] == NACK and quirks.single_nack[s])
    renewed = rows.possible[k] == RENEWED
    over_all = quirks.ack_scope_connection[s] and (renewed or rows.subscription[k] < 0)
    ambiguous = rows.unclear[k] != 0 or rows.possible[k] == ANY_SUBSCRIPTION or over_all
    number = unsettled.number[k]
    _settle(rows, k, i, frames, index, unsettled, quirks, counters, True)
    counters.ambiguous[s] += ambiguous
    counters.renewed[s] += renewed
    while cumulative and number >= 0:
        lower = below(unsettled.words, unsettled.starts, number)
        if lower < unsettled.lowest[number]:
            break
        _settle(rows, unsettled.delivery[lower], i, frames, index, unsettled, quirks, counters, False)
        number = lower


@inline
def _end_transaction(
    frames: DeliveryFrames, i: int, rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, quirks: Quirks, counters: Counters
) -> None:
    """COMMIT or ABORT i."""
    transaction = frames.transaction[i]
    k = index.enclosed[transaction]
    while k >= 0:
        rows.latest[k] = frames.ordinal[i]
        if frames.command[i] == COMMIT:
            rows.state[k] = SETTLED
            rows.lost[k] |= _misses(rows, k, quirks, counters, frames.gaps_begun[i])
        else:
            rows.state[k] = ABORTED
            rows.aborts[k] += 1
            put(rows, unsettled, k, frames.ordinal[i], frames.ns[i])
        k = index.enclosed_before[k]
    index.enclosed[transaction] = -1


@kernel
def walk(
    frames: DeliveryFrames, rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, quirks: Quirks,
    counters: Counters, facts: DeliveryFacts, retention: int
) -> None:
    """Walk all frames. Deliveries of a session stand in a block, those of earlier steps first; a MESSAGE takes up the next one."""
    k = 0
    for i in range(len(frames.session)):
        s, now, c = frames.session[i], frames.ordinal[i], frames.command[i]
        while k < len(rows.session) and (rows.session[k] < s or (rows.session[k] == s and rows.ordinal[k] < now)):
            enter(rows, index, unsettled, k)
            k += 1
        if c == MESSAGE:
            _deliver(frames, i, rows, k, index, unsettled, quirks, counters, facts, retention)
            k += 1
        elif (c == COMMIT or c == ABORT) and frames.transaction[i] >= 0:
            _end_transaction(frames, i, rows, index, unsettled, quirks, counters)
        elif c == ACK or c == NACK:
            _acknowledge(frames, i, rows, index, unsettled, quirks, counters, facts, retention)
