"""What is outstanding: deliveries by name, by transaction, and those that a cumulative ACK would settle, as kernels work on them.

Deliveries that a cumulative ACK would settle are in an ordered set (deliveries.ordered): by subscription, or by connection if the
broker's cumulative ACKs cover all of it, and within that in wire order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stompcap.codes import MODE_CLIENT, MODE_CLIENT_INDIVIDUAL
from stompcap.columns import I64, Bools
from stompcap.kernel import inline
from stompcap.session.deliveries.in_flight import InFlight, one_less, one_more
from stompcap.session.deliveries.ordered import add, remove
from stompcap.session.deliveries.records import ABORTED, ENCLOSED, PENDING, RENEWED, Delivery

OWN, BY_MESSAGE = range(2)  # by what a delivery is named: `DeliveryNames.own`, `DeliveryNames.message`
MAX_ABORTS = 64  # so often aborted, a delivery is no more settled along with others: the work would grow with their product
MAX_COPIES = 64  # a name means one of so many deliveries that had it last


class DeliveryIndex(NamedTuple):
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

    Per subscription how many are in flight, and for how long.
    """

    words: I64
    starts: I64
    number: I64
    delivery: I64
    lowest: I64
    of: InFlight


@inline
def _is_open(state: Any, mode: Any) -> Any:
    asks = (mode == MODE_CLIENT) | (mode == MODE_CLIENT_INDIVIDUAL)
    return (state == ENCLOSED) | (state == ABORTED) | ((state == PENDING) & asks)


are_open: Callable[[I64, I64], Bools] = getattr(_is_open, "py_func", _is_open)  # as it is written; numba hands it back so with no JIT
"""Whether an ACK or NACK of deliveries is still awaited, or the end of their transaction."""


@inline
def find(
    rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, which: int, code: int, session: int, now: int, retention: int
) -> tuple[int, int]:
    """The delivery that a name means, and the latest that has it; -1 where there is none.

    It means the first unsettled of an active subscription, else the first unsettled, else the first whose transaction was aborted.
    """
    active = ended = aborted = latest = -1
    if code < 0 or index.session[code] != session:
        return -1, -1
    k = index.latest[code]
    for _ in range(MAX_COPIES):
        if k < 0:
            break
        if _is_open(rows.state[k], rows.mode[k]) or now - rows.latest[k] <= retention:
            if latest < 0:
                latest = k
            if rows.state[k] == PENDING:
                subscription = rows.subscription[k]
                if subscription < 0 or unsettled.of.ended_ordinal[subscription] < 0 or unsettled.of.ended_ordinal[subscription] > now:
                    active = k
                else:
                    ended = k
            elif rows.state[k] == ABORTED:
                aborted = k
        k = index.previous[which, k]
    meant = active if active >= 0 else ended if ended >= 0 else aborted
    return meant, latest


@inline
def link(index: DeliveryIndex, k: int, session: int) -> None:
    """Put a delivery behind the others of its names."""
    for which in range(2):
        code = index.codes[which, k]
        index.previous[which, k] = -1
        if code >= 0:
            if index.session[code] == session:
                index.previous[which, k] = index.latest[code]
            index.session[code], index.latest[code] = session, k


@inline
def put(rows: Delivery, unsettled: Unsettled, k: int, ordinal: int, ns: int) -> None:
    """Put a delivery into the ordered set, at a frame; `ordinal` is below 0 where it was in there already at the end of the last step."""
    if unsettled.number[k] >= 0 and rows.aborts[k] < MAX_ABORTS:
        subscription = rows.subscription[k]
        add(unsettled.words, unsettled.starts, unsettled.number[k])
        if ordinal >= 0:
            one_more(unsettled.of, subscription, ordinal, ns)
        else:
            unsettled.of.in_flight[subscription] += 1


@inline
def take(rows: Delivery, unsettled: Unsettled, k: int, ordinal: int, ns: int) -> None:
    """Take a delivery out of the ordered set, at a frame."""
    if unsettled.number[k] >= 0 and rows.aborts[k] < MAX_ABORTS:
        remove(unsettled.words, unsettled.starts, unsettled.number[k])
        one_less(unsettled.of, rows.subscription[k], ordinal, ns)


@inline
def enter(rows: Delivery, index: DeliveryIndex, unsettled: Unsettled, k: int) -> None:
    """Take up a delivery of an earlier step."""
    link(index, k, rows.session[k])
    if rows.state[k] == PENDING or rows.state[k] == ABORTED:
        put(rows, unsettled, k, -1, -1)
    elif rows.state[k] == ENCLOSED and rows.transaction[k] >= 0:
        enclose(rows, index, k)


@inline
def enclose(rows: Delivery, index: DeliveryIndex, k: int) -> None:
    """Note a delivery with its transaction."""
    index.enclosed_before[k] = index.enclosed[rows.transaction[k]]
    index.enclosed[rows.transaction[k]] = k


@inline
def vague(mode: Any, possible: Any, ack_scope_connection: Any, ambiguous: Any, renewed: Any) -> Any:
    """How many ACKs of its session so far may have reached a delivery, had it been there.

    Of the session's ACKs, `ambiguous` may be cumulative, and nobody knows from which delivery on; `renewed` name deliveries of
    subscriptions that may have been renewed in mode client.
    """
    of_renewed = possible == RENEWED
    return ((mode == MODE_CLIENT) | ack_scope_connection | of_renewed) * ambiguous + of_renewed * renewed


vague_each: Callable[[I64, I64, Bools, I64, I64], I64] = getattr(vague, "py_func", vague)
"""The same of a column of deliveries."""
