"""Which connection of a flow a segment belongs to.

A flow (two endpoints) may have several connections, its incarnations: a SYN with a new initial sequence number begins one (RFC 9293,
3.6.1), and so do segments whose sequence and acknowledgement numbers are both far from all that is known of the flow. A segment that
no incarnation can have sent is a stray: its octets are left out, so a forged number cannot make a gap of gigabytes.

A flow that was silent for the idle timeout goes on as another connection; two minutes are enough if all its connections had closed, or no
SYN was acknowledged. What is remembered of a flow can then be dropped after that time, and captures give the same however they are cut.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.columns import ACK, RST, SYN
from stompcap.capture.integers import Int
from stompcap.columns import I64, Bools
from stompcap.kernel import inline, kernel
from stompcap.tcp.history import H_SYN, H_SYNACK, H_ZERO
from stompcap.tcp.results import Streams
from stompcap.tcp.state import (
    AFTER_IDLE,
    CLOSE_BY,
    DATA_SEEN,
    FAR,
    FIRST_DATA,
    HINTED,
    HISTORY_BITS,
    LAST_NS,
    REF,
    SEEN,
    SIDES,
    START,
    SYNCED,
    WIDTH,
    State,
    closed,
    confirmed,
    delta,
    distance,
)

RECENT = 256  # how many incarnations of a flow a segment is compared with
IDLE_NS = 24 * 3600 * 10**9  # the idle timeout where none is given
LINGER_NS = 120 * 10**9  # longer than a connection stays in TIME-WAIT, and than a client waits before it sends a SYN again
HANDSHAKE = 1 << H_SYN | 1 << H_SYNACK | 1 << H_ZERO  # what the history of a connection has that nobody has acknowledged
TIMELESS = 0  # the time of a packet whose time is not known
CLOCK_STEP_NS = 365 * 24 * 3600 * 10**9  # a time as far ahead tells of a clock that was stepped, not of silence


@kernel
def first_after_idle(state: State, known: Int) -> Int:
    """The first connection of a flow that segments may still belong to."""
    for stream in range(known - 1, 0, -1):
        if state[stream, AFTER_IDLE]:
            return stream
    return 0


@kernel
def last_time(state: State, known: Int) -> Int:
    """The time of a flow's latest packet; 0 where it has none."""
    at = 0
    for stream in range(known):
        at = max(at, state[stream, LAST_NS])
    return at


@kernel
def idle(state: State, first: Int, streams: Int, silence_ns: Int, idle_ns: Int) -> bool:
    """Whether a flow has been silent for so long that none of its connections goes on."""
    if silence_ns > idle_ns:
        return bool(silence_ns < CLOCK_STEP_NS)
    if silence_ns <= LINGER_NS:
        return False
    for stream in range(max(first, streams - RECENT), streams):
        history = state[stream, SIDES + HISTORY_BITS] | state[stream, SIDES + WIDTH + HISTORY_BITS]
        if not closed(state, stream) and history & ~HANDSHAKE:
            return False
    return True


def may_go_on(streams: Streams, flow: I64, now_ns: int, idle_ns: int) -> Bools:
    """Of each stream, whether it or one beside it in its flow may get segments that come at `now_ns` or later.

    `flow` numbers the flow of each stream; the streams of a flow are adjacent, and in order of time.
    """
    flows, number = int(flow.max(initial=-1)) + 1, np.arange(len(streams))
    first, last = np.zeros(flows, np.int64), np.zeros(flows, np.int64)
    np.maximum.at(last, flow, streams.last_ns)
    first[flow[::-1]] = number[::-1]
    np.maximum.at(first, flow[streams.after_idle], number[streams.after_idle])
    recent = number >= first[flow]
    open_still = np.zeros(flows, np.bool_)
    unanswered = np.array([not history.strip("SsHhWw") for history in streams.history], np.bool_)
    closed_ones = (streams.rst_by >= 0) | (streams.sides.fin_ns >= 0).all(axis=1)
    open_still[flow[recent & ~closed_ones & ~unanswered]] = True
    silence = now_ns - last
    over = np.where(silence > idle_ns, silence < CLOCK_STEP_NS, (silence > LINGER_NS) & ~open_still)
    return recent & ~over[flow]


@kernel
def find_syn(state: State, first: Int, streams: Int, side: Int, seq: Int, ack: Int, flags: Int, ts: Int) -> Int:
    """The connection that a SYN belongs to, or -1 for a new one."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    for stream in range(streams - 1, max(first, streams - RECENT) - 1, -1):
        if state[stream, mine + SYNCED] and not state[stream, mine + HINTED]:
            again = distance(seq + 1, state[stream, mine + START]) == 0
            if again and (not closed(state, stream) or TIMELESS < ts <= state[stream, LAST_NS]):
                return stream  # retransmitted, or captured twice
    stream = streams - 1
    if stream < first or (state[stream, mine + SYNCED] and not state[stream, mine + HINTED]):
        return -1
    if state[stream, mine + HINTED]:
        return stream if distance(seq + 1, state[stream, mine + START]) == 0 else -1
    if flags & ACK and state[stream, peer + SYNCED]:
        behind = distance(ack, state[stream, peer + START])
        return stream if 0 <= behind <= 1 << 16 else -1
    if state[stream, mine + SEEN]:  # its own SYN, captured behind its first data
        ahead = distance(seq + 1, state[stream, mine + FIRST_DATA] if state[stream, mine + DATA_SEEN] else state[stream, mine + REF])
        return stream if -(1 << 16) <= ahead <= 0 and not closed(state, stream) else -1
    if flags & ACK:
        return stream if abs(delta(state, stream, 1 - side, ack)) <= 1 << 16 and not closed(state, stream) else -1
    return stream if state[stream, peer + SYNCED] and not closed(state, stream) else -1  # simultaneous open


@kernel
def find_elsewhere(state: State, first: Int, streams: Int, side: Int, seq: Int, flags: Int) -> Int:
    """The connection that a packet of another capture point counts in: the nearest by its numbers, else the latest; -1: none is there."""
    best, nearest = streams - 1 if streams > first else -1, FAR + 1
    for stream in range(streams - 1, max(first, streams - RECENT) - 1, -1):
        at = SIDES + side * WIDTH
        if flags & SYN and state[stream, at + SYNCED] and distance(seq + 1, state[stream, at + START]) == 0:
            return stream
        d = abs(delta(state, stream, side, seq))
        if d < nearest:
            best, nearest = stream, d
    return best


@inline
def find_stream(state: State, first: Int, streams: Int, side: Int, seq: Int, ack: Int, flags: Int) -> tuple[Int, Int]:
    """The connection of any other segment, and its distance there; a distance of FAR + 1 for a stray, (-1, 0) for a new connection."""
    best, nearest = -1, FAR + 1
    for stream in range(streams - 1, max(first, streams - RECENT) - 1, -1):
        d = delta(state, stream, side, seq)
        if abs(d) < abs(nearest):
            best, nearest = stream, d
        if abs(d) <= CLOSE_BY:
            break
    if best >= 0:
        return best, nearest
    if streams == first:
        return -1, 0
    last = streams - 1
    if flags & RST:
        return last, FAR + 1
    peer = SIDES + (1 - side) * WIDTH
    near_ack = flags & ACK and state[last, peer + SEEN] and delta(state, last, 1 - side, ack) != FAR + 1
    if not near_ack or closed(state, last) or confirmed(state, last, side, seq):
        return -1, 0
    return last, FAR + 1
