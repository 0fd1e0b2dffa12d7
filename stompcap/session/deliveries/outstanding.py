"""What is outstanding: deliveries by name, by transaction, and those that a cumulative ACK would settle, as kernels work on them.

Deliveries that a cumulative ACK would settle stand in an ordered set (deliveries.ordered), by their subscription or, where ACKs reach
over it, their connection, and then as they came.
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.codes import MODE_CLIENT, MODE_CLIENT_INDIVIDUAL
from stompcap.columns import I64, Bools
from stompcap.kernel import inline
from stompcap.session.deliveries.ordered import add, remove

PENDING, SETTLED, ENCLOSED, ABORTED, AUTOMATIC, REPLACED = range(6)
"""ENCLOSED: in a transaction that has not ended; ABORTED: in one that was aborted; REPLACED: aborted, and then delivered anew."""
OWN, BY_MESSAGE = range(2)  # names of a delivery
NO_TRANSACTION, PAST_TRANSACTION = -1, -2  # of a delivery: settled outside of any; in one that is no longer known
ANY_SUBSCRIPTION, RENEWED = 1, 2
"""`possible` of a delivery: it may be of any subscription; its subscription may have been renewed in another mode."""
MAX_ABORTS = 64  # so often aborted, a delivery is no more settled along with others: the work would grow with their product
MAX_COPIES = 64  # a name means one of so many deliveries that had it last


class Rows(NamedTuple):
    """Deliveries; subscription, transaction and `by` are a row, a row, and an index into the frames."""

    session: I64
    ordinal: I64
    mode: I64
    subscription: I64
    state: I64
    by: I64
    nack: I64
    direct: I64
    transaction: I64
    latest: I64
    aborts: I64
    opened: I64
    again: I64
    unclear: I64
    possible: I64
    lost: I64
    unread: I64


class Lists(NamedTuple):
    """Deliveries by name: per code its session and latest delivery; per delivery its codes and the ones before it, shape (2, rows).

    And by transaction: per transaction the latest delivery enclosed, per delivery the one enclosed before it.
    """

    session: I64
    latest: I64
    codes: I64
    previous: I64
    enclosed: I64
    enclosed_before: I64


class Unsettled(NamedTuple):
    """The ordered set: per delivery its number (-1: never settled along), per number its delivery and the lowest that an ACK reaches.

    Per subscription how many are in flight, the most so far, and the ordinal of its UNSUBSCRIBE (-1).
    """

    words: I64
    starts: I64
    number: I64
    delivery: I64
    lowest: I64
    in_flight: I64
    most: I64
    ended_ordinal: I64


class Habits(NamedTuple):
    """What brokers do differently, per session; and how many of its ACKs and NACKs so far may have settled more than is known."""

    wide: Bools  # a cumulative ACK settles deliveries of the whole connection
    single_nack: Bools  # a NACK settles one message in mode client too
    ambiguous: I64  # may be cumulative, and nobody knows from where on
    renewed: I64  # may be cumulative, of a subscription that may have been renewed
    unread: I64  # name nothing by the version, which is not sure


@inline
def is_open(rows: Rows, k: int) -> bool:
    """An ACK or NACK is still waited for, or the end of its transaction."""
    state, mode = rows.state[k], rows.mode[k]
    waits: bool = state == ENCLOSED or state == ABORTED or (state == PENDING and (mode == MODE_CLIENT or mode == MODE_CLIENT_INDIVIDUAL))
    return waits


@inline
def find(
    rows: Rows, lists: Lists, unsettled: Unsettled, which: int, code: int, session: int, now: int, retention: int
) -> tuple[int, int]:
    """The delivery that a name means, and the latest that has it; -1 where there is none.

    It means the first unsettled of an active subscription, else the first unsettled, else the first whose transaction was aborted.
    """
    active = ended = aborted = latest = -1
    if code < 0 or lists.session[code] != session:
        return -1, -1
    k = lists.latest[code]
    for _ in range(MAX_COPIES):
        if k < 0:
            break
        if is_open(rows, k) or now - rows.latest[k] <= retention:
            if latest < 0:
                latest = k
            if rows.state[k] == PENDING:
                subscription = rows.subscription[k]
                if subscription < 0 or unsettled.ended_ordinal[subscription] < 0 or unsettled.ended_ordinal[subscription] > now:
                    active = k
                else:
                    ended = k
            elif rows.state[k] == ABORTED:
                aborted = k
        k = lists.previous[which, k]
    meant = active if active >= 0 else ended if ended >= 0 else aborted
    return meant, latest


@inline
def link(lists: Lists, k: int, session: int) -> None:
    """Put a delivery behind the others of its names."""
    for which in range(2):
        code = lists.codes[which, k]
        lists.previous[which, k] = -1
        if code >= 0:
            if lists.session[code] == session:
                lists.previous[which, k] = lists.latest[code]
            lists.session[code], lists.latest[code] = session, k


@inline
def put(rows: Rows, unsettled: Unsettled, k: int, counts: bool) -> None:
    """Put a delivery into the ordered set; the most in flight `counts` it."""
    if unsettled.number[k] >= 0 and rows.aborts[k] < MAX_ABORTS:
        subscription = rows.subscription[k]
        add(unsettled.words, unsettled.starts, unsettled.number[k])
        unsettled.in_flight[subscription] += 1
        if counts:
            unsettled.most[subscription] = max(unsettled.most[subscription], unsettled.in_flight[subscription])


@inline
def take(rows: Rows, unsettled: Unsettled, k: int) -> None:
    """Take a delivery out of the ordered set."""
    if unsettled.number[k] >= 0 and rows.aborts[k] < MAX_ABORTS:
        remove(unsettled.words, unsettled.starts, unsettled.number[k])
        unsettled.in_flight[rows.subscription[k]] -= 1


@inline
def enter(rows: Rows, lists: Lists, unsettled: Unsettled, k: int) -> None:
    """Take up a delivery of an earlier step."""
    link(lists, k, rows.session[k])
    if rows.state[k] == PENDING or rows.state[k] == ABORTED:
        put(rows, unsettled, k, False)
    elif rows.state[k] == ENCLOSED and rows.transaction[k] >= 0:
        enclose(rows, lists, k)


@inline
def enclose(rows: Rows, lists: Lists, k: int) -> None:
    """Note a delivery with its transaction."""
    lists.enclosed_before[k] = lists.enclosed[rows.transaction[k]]
    lists.enclosed[rows.transaction[k]] = k


@inline
def vague(rows: Rows, k: int, habits: Habits) -> int:
    """ACKs so far that may have reached a delivery, had it been there."""
    s, renewed, count = rows.session[k], rows.possible[k] == RENEWED, 0
    if rows.mode[k] == MODE_CLIENT or habits.wide[s] or renewed:
        count += habits.ambiguous[s]
    if renewed:
        count += habits.renewed[s]
    return count


@inline
def misses(rows: Rows, k: int, habits: Habits, gaps: int) -> bool:
    """More gaps and vague ACKs than when the delivery came."""
    missed: bool = gaps + vague(rows, k, habits) != rows.opened[k]
    return missed
