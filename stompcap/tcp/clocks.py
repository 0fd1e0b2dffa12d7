"""How far apart the clocks of a connection's two directions may be, by what each side acknowledges.

A segment is never earlier than what it acknowledges. Where a side's segment of time `s` acknowledges one of the other side of time `t`, its
clock is ahead by no more than `s - t`. Acknowledgements both ways give bounds from both sides; the tightest ones count, since the
connection began or since a clock stepped. The bounds contain the true difference, whatever the capture lost, as only first copies of
octets count. They are no closer than the round trip as the capture point sees it.

Three things show that a clock has stepped:
- A direction goes on, by its sequence and acknowledgement numbers, at an earlier time. Segments out of order and copies do not count.
- An acknowledgement contradicts a bound. It does not show which clock stepped, nor when: at some time since an acknowledgement last came
  close to that bound. The difference of the clocks between these two times is unknown.
- A packet is marked STEPPED: the files of a rotation show the step, whatever the connection's own packets do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.segment_columns import ACK, STEPPED
from stompcap.codes import BOTH
from stompcap.columns import I64
from stompcap.kernel import callee, inline
from stompcap.tcp.state import (
    CLOCK_MAX,
    CLOCK_MIN,
    CLOCK_STEPS,
    CLOSE_BY,
    HELD_MAX,
    HELD_MIN,
    NEWEST,
    NEWEST_NS,
    NEWEST_PLACE,
    SIDES,
    TIMED,
    TIMED_NS,
    TIMED_PLACE,
    UNBOUNDED,
    WENT_ACK,
    WENT_NS,
    WENT_ON,
    WIDTH,
    State,
    closed,
    distance,
)

MOST_STEPS = 256  # of a connection: behind more of them, its clocks cannot be compared
OPEN_AT_ONCE = 4  # connections of a flow that go on where a clock is known to have stepped between two captures

NS, PLACE = TIMED_NS - TIMED, TIMED_PLACE - TIMED  # behind the end of a segment: its time, and 1 + its number
STEP = 6  # columns of a step: connection, side, time and number of the first segment behind it, and the bounds up to it


class Sent(NamedTuple):
    """A segment: its side, time, acknowledgement, flags, positions of its octets (SYN and FIN too), and 1 + its number in the flow."""

    side: Int
    ts: Int
    ack: Int
    flags: Int
    begin: Int
    end: Int
    number: Int


@callee
def _stepped(state: State, stream: Int, side: Int, ts: Int, number: Int, steps: I64, count: Int) -> Int:
    """Note a step before that segment; what was known ends there. Returns how many steps there are now."""
    if state[stream, CLOCK_STEPS] == MOST_STEPS:
        return count
    steps[count, 0], steps[count, 1], steps[count, 2], steps[count, 3] = stream, side, ts, number
    steps[count, 4], steps[count, 5] = state[stream, CLOCK_MIN], state[stream, CLOCK_MAX]
    state[stream, CLOCK_STEPS] += 1
    unbounded = -UNBOUNDED if state[stream, CLOCK_STEPS] == MOST_STEPS else UNBOUNDED
    state[stream, CLOCK_MIN], state[stream, CLOCK_MAX] = -unbounded, unbounded
    state[stream, HELD_MIN] = state[stream, HELD_MAX] = number
    for peer in range(2):
        at = SIDES + peer * WIDTH
        state[stream, at + TIMED] = state[stream, at + NEWEST] = 0
    return count + 1


@inline
def take_step(state: State, first: Int, streams: Int, sent: Sent, steps: I64, count: Int) -> Int:
    """Take that all clocks stepped before a packet, if it is marked so; returns how many steps there are now."""
    return _stepped_for_all(state, first, streams, sent.ts, sent.number, steps, count) if sent.flags & STEPPED else count


@callee
def _stepped_for_all(state: State, first: Int, streams: Int, ts: Int, number: Int, steps: I64, count: Int) -> Int:
    """Note a step of all clocks before that segment in a flow's latest connections; returns how many steps there are now."""
    for stream in range(max(first, streams - OPEN_AT_ONCE), streams):
        if closed(state, stream):
            continue
        count = _stepped(state, stream, BOTH, ts, number, steps, count)
        for side in range(2):
            state[stream, SIDES + side * WIDTH + WENT_NS] = 0  # times behind the step are compared with each other alone
    return count


@callee
def _compare(state: State, stream: Int, sent: Sent, of: Int, steps: I64, count: Int) -> Int:
    """Take that a segment acknowledges the one in the columns from `of` on; returns how many steps there are now."""
    ahead, least, most = sent.ts - state[stream, of + NS], state[stream, CLOCK_MIN], state[stream, CLOCK_MAX]
    width = most - least if least > -UNBOUNDED and most < UNBOUNDED else np.int64(0)
    if ahead < least if sent.side else -ahead > most:
        if state[stream, CLOCK_STEPS] == MOST_STEPS:
            return count
        since = min(state[stream, HELD_MIN if sent.side else HELD_MAX], state[stream, of + PLACE])
        count = _stepped(state, stream, BOTH, state[stream, of + NS], since, steps, count)
        state[stream, CLOCK_MIN], state[stream, CLOCK_MAX] = UNBOUNDED, -UNBOUNDED
        return _stepped(state, stream, BOTH, sent.ts, sent.number, steps, count)
    if sent.side:
        state[stream, CLOCK_MAX] = min(most, ahead)
        if ahead <= most + width:
            state[stream, HELD_MAX] = sent.number
    else:
        state[stream, CLOCK_MIN] = max(least, -ahead)
        if -ahead >= least - width:
            state[stream, HELD_MIN] = sent.number
    return count


@inline
def _goes_on(state: State, stream: Int, sent: Sent) -> bool:
    """Whether a segment goes on where its side was: behind none of its segments, and ahead in octets or in what it acknowledges."""
    mine = SIDES + sent.side * WIDTH
    end, highest = state[stream, mine + WENT_ON], state[stream, mine + WENT_ACK]
    if sent.begin < end:
        return False
    heard = np.int64(0)
    if sent.flags & ACK:
        heard = np.int64(1) if highest < 0 else np.int64(distance(sent.ack, highest))
    return bool(heard > 0 or (heard == 0 and sent.end > end))


@inline
def take_clock(state: State, stream: Int, sent: Sent, steps: I64, count: Int) -> Int:
    """Take what a segment tells of the clocks; returns how many steps there are now."""
    mine, peer = SIDES + sent.side * WIDTH, SIDES + (1 - sent.side) * WIDTH
    fresh = sent.end > sent.begin and sent.end > state[stream, mine + WENT_ON]
    if _goes_on(state, stream, sent):
        if state[stream, mine + WENT_ON] and sent.ts < state[stream, mine + WENT_NS]:
            count = _stepped(state, stream, sent.side, sent.ts, sent.number, steps, count)
        state[stream, mine + WENT_NS] = sent.ts
        if sent.flags & ACK:
            state[stream, mine + WENT_ACK] = sent.ack
    state[stream, mine + WENT_ON] = max(state[stream, mine + WENT_ON], sent.end)
    newest = state[stream, peer + NEWEST]
    if sent.flags & ACK and newest:
        heard = distance(sent.ack, newest)
        if 0 <= heard <= CLOSE_BY:
            count = _compare(state, stream, sent, peer + NEWEST, steps, count)
            state[stream, peer + TIMED] = 0
        elif heard < 0 and state[stream, peer + TIMED] and distance(sent.ack, state[stream, peer + TIMED]) >= 0:
            count = _compare(state, stream, sent, peer + TIMED, steps, count)
            state[stream, peer + TIMED] = 0
    if fresh:
        if not state[stream, mine + TIMED]:
            state[stream, mine + TIMED], state[stream, mine + TIMED_NS] = sent.end, sent.ts
            state[stream, mine + TIMED_PLACE] = sent.number
        state[stream, mine + NEWEST], state[stream, mine + NEWEST_NS] = sent.end, sent.ts
        state[stream, mine + NEWEST_PLACE] = sent.number
    return count
