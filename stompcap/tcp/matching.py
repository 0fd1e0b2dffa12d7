"""Which connection of a flow a segment belongs to.

A flow (two endpoints) may have several connections, its incarnations: a SYN with a new initial sequence number begins one (RFC 9293,
3.6.1), and so do segments whose sequence and acknowledgement numbers are both far from all that is known of the flow. A segment that
no incarnation can have sent is a stray: its octets are left out, so a forged number cannot make a gap of gigabytes.

A packet behind an idle time (stompcap.tcp.idle) begins another connection. So the state of a flow can be dropped after that time, and the
result does not depend on how captures are cut.
"""

from __future__ import annotations

from stompcap.capture.integers import Int
from stompcap.capture.segment_columns import ACK, RST, SYN
from stompcap.kernel import callee, inline
from stompcap.tcp.idle import RECENT
from stompcap.tcp.state import (
    CLOSE_BY,
    DATA_SEEN,
    FAR,
    FIRST_DATA,
    HINTED,
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

TIMELESS = 0  # the time of a packet whose time is not known


@callee
def find_syn(state: State, first: Int, streams: Int, side: Int, seq: Int, ack: Int, flags: Int, ts: Int) -> Int:
    """The connection that a SYN belongs to, or -1 for a new one."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    for stream in range(streams - 1, max(first, streams - RECENT) - 1, -1):
        if state[stream, mine + SYNCED] and not state[stream, mine + HINTED]:
            same_syn = distance(seq + 1, state[stream, mine + START]) == 0
            if same_syn and (not closed(state, stream) or TIMELESS < ts <= state[stream, LAST_NS]):
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


@callee
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
