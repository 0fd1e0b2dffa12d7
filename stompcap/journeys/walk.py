"""A walk along the SENDs and MESSAGEs of equal content, in order of time: which SEND each MESSAGE can come from, and how sure that is.

In a sequence are the SENDs and MESSAGEs of one content at one destination. A step of 1 is a SEND, of -1 a MESSAGE; of 0 one that a broker
marks as delivered before without saying which it is, or moved from elsewhere. Three spans of a sequence count:

- A chain has no pause of more than a horizon. One that lasts for long tells no order (`endless`).
- A burst begins where no SEND waits and ends where none waits any more. A MESSAGE for which none waits is in excess: a SEND is not
  captured, and its chain tells no order (`spoiled`). SENDs of several connections that wait together have no order either: a broker takes
  them as it likes.
- Where a connection was open before the capture, messages like these may have been waiting: a chain of several that begins within a
  horizon of that tells no order (`inherited`), for its first MESSAGE may come of a SEND from before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.columns import I64, Bools
from stompcap.kernel import callee, kernel

HORIZON_NS = 3600 * 10**9
"""How long a MESSAGE may come behind its SEND to be joined to it."""

LONG = 2
"""Horizons that a sequence of equal messages may last without a pause of one, for its messages to be told apart by their order."""


class Events(NamedTuple):
    """SENDs and MESSAGEs, those of a sequence together and in order of time."""

    sequence: I64  # a number from 1 on
    at_ns: I64
    step: I64
    early: Bools  # within a horizon of the begin of a capture in which its connection was open before
    sender: I64  # the connection of a SEND


class Found(NamedTuple):
    """What is known of each MESSAGE; of SENDs nothing."""

    send: I64  # row of the SEND that it comes from if it can be told, -1 where there is none before it
    possible: Bools  # that SEND was less than a horizon ago
    single: Bools  # and no other was
    certain: Bools  # no other SEND can be one that is not captured, or that another MESSAGE came from
    in_order: Bools  # its burst tells the SEND by the order


def walk(events: Events) -> Found:
    """What is known of the MESSAGEs of some sequences, which are there as a whole."""
    rows = len(events.sequence)
    found = Found(np.full(rows, -1, np.int64), *(np.zeros(rows, np.bool_) for _ in Found._fields[1:]))
    bounds = np.flatnonzero(np.diff(events.sequence, prepend=-1, append=-1))
    _along(bounds, events, found, np.zeros(rows, np.bool_))
    return found


@kernel
def _along(bounds: I64, events: Events, found: Found, inherited: Bools) -> None:
    """`bounds`: the first row of each sequence, and the end of the last."""
    for number in range(bounds.size - 1):
        begin, end = bounds[number], bounds[number + 1]
        at = begin
        while at < end:
            at = _chain(events, found, inherited, at, end)
        _one_by_one(events, found, inherited, begin, end)


@callee
def _chain(events: Events, found: Found, inherited: Bools, begin: int, end: int) -> int:
    """Tell the order within a chain, that of the first event; returns where the next one begins, in a sequence that ends at `end`."""
    sends = messages = 0
    first_ns = last_ns = events.at_ns[begin]
    early = False
    at = begin
    while at < end:
        if events.step[at] != 0:
            if sends + messages > 0 and events.at_ns[at] - last_ns > HORIZON_NS:
                break
            if sends + messages == 0:
                if at > begin:
                    break  # what a broker delivers again before anything else is in no chain
                first_ns = events.at_ns[at]
            last_ns = events.at_ns[at]
            sends += events.step[at] == 1
            messages += events.step[at] == -1
            early |= events.early[at]
        at += 1
    inherited[begin:at] = early and max(sends, messages) > 1
    spoiled = _bursts(events, found, begin, at)
    ordered = not (spoiled or inherited[begin] or last_ns - first_ns > LONG * HORIZON_NS)
    for row in range(begin, at):
        found.in_order[row] &= ordered
        found.certain[row] = ordered
    return at


@callee
def _bursts(events: Events, found: Found, begin: int, end: int) -> bool:
    """Join the MESSAGEs of each burst of a chain to its SENDs by their order; returns whether a MESSAGE is in excess."""
    spoiled = False
    waiting = 0  # SENDs for which no MESSAGE came
    burst = begin
    for row in range(begin, end):
        step = events.step[row]
        excess = step == -1 and waiting == 0
        spoiled |= excess
        if excess or (step == 1 and waiting == 0):
            _by_order(events, found, burst, row)
            burst = row
        if not excess:
            waiting += step
    _by_order(events, found, burst, end)
    return spoiled


@callee
def _by_order(events: Events, found: Found, begin: int, end: int) -> None:
    """The MESSAGEs of a burst come of its SENDs, one by one, if these are as many and of one connection."""
    rest = 0
    of_one = True
    first = -1
    for row in range(begin, end):
        rest += events.step[row]
        if events.step[row] == 1:
            if first < 0:
                first = row
            of_one &= events.sender[row] == events.sender[first]
    if rest != 0 or not of_one or first < 0:
        return
    send = first
    for row in range(begin, end):
        if events.step[row] == -1:
            found.in_order[row] = True
            found.send[row] = send
            send += 1
            while send < end and events.step[send] != 1:
                send += 1


@callee
def _one_by_one(events: Events, found: Found, inherited: Bools, begin: int, end: int) -> None:
    """Of each MESSAGE of a sequence: whether one SEND alone is a horizon before it; the latest one where the order tells none."""
    latest = second = -1  # SENDs
    message = before = -1  # the latest MESSAGE; the one that was the latest at the latest SEND
    since = 0  # MESSAGEs since that
    for row in range(begin, end):
        at_ns = events.at_ns[row]
        if events.step[row] == 1:
            second, latest = latest, row
            before, since = message, 0
            continue
        if events.step[row] == -1:
            message = row
            since += 1
        found.possible[row] = latest >= 0 and at_ns - events.at_ns[latest] <= HORIZON_NS
        found.single[row] = found.possible[row] and (second < 0 or at_ns - events.at_ns[second] > HORIZON_NS)
        if found.single[row] or not found.in_order[row]:
            found.send[row] = latest
        if events.step[row] == 0:
            # it comes of the one SEND if nothing that it may repeat comes of another
            other = before >= 0 and at_ns - events.at_ns[before] <= HORIZON_NS
            doubted = events.early[row] if since == 0 else inherited[message]
            found.certain[row] = not (other or since > 1 or doubted)
