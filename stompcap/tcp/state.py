"""The state of a connection between its segments: one row of numbers per connection, its columns named here.

Sides are named by endpoint: side 0 is what the low endpoint sent. Positions are sequence numbers unwrapped to 64 bits by their
signed 32-bit distance to the furthest one seen (RFC 9293, 3.4).
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.codes import CLOSE_OPEN, NOBODY
from stompcap.columns import I64, U8
from stompcap.kernel import allocating, callee, inline

State = I64

# columns of the connection
FIRST_ROW, FIRST_CAPTURE, FIRST_PACKET, FIRST_NS, LAST_NS = 0, 1, 2, 3, 4
INITIATOR, ORIGIN_NS, ORIGIN_SEQ, ORIGIN_SYN, SYN_SEEN, SYNACK_SEEN = 5, 6, 7, 8, 9, 10
CLOSE_KIND, CLOSED_BY, CLOSE_NS, LETTERS = 11, 12, 13, 14
LATEST_NS, LATEST_CAPTURE, STEPS_BACK = 15, 16, 17  # of the packet before, and how often time went back
HANDED_ON = 18  # octets of it were handed on, so its identity is final
OUTER = 19  # encapsulation of its first packet (stompcap.capture.outer)
AFTER_IDLE = 20  # it began behind a silence: nothing goes to the connections before it
RST_BY = 21  # 1 + side of the first RST, 0: none
CLOCK_MIN, CLOCK_MAX, CLOCK_STEPS = 22, 23, 24  # bounds of the high side's clock less the low side's, and how often a clock stepped
ORDERED, AGAINST = 25, 26  # the last number given in wire order; how many acknowledgements decided against time
NUMBER = 27  # how many connections of its flow before it have the same first time and sequence number
HELD_MIN, HELD_MAX = 28, 29  # 1 + number of the latest segment whose acknowledgement showed that the bound still held
LATEST_PACKET = 30  # number in its capture of the packet before
PLACED, PLACED_AT, PLACED_NS = 31, 32, 33  # 1 + side, position and time of the octets that are last in wire order; 0: none
# the handshake: time of the first SYN, and SYNs before the SYN-ACK; the same of SYN-ACKs, before they are acknowledged; when that was
SYN_NS, SYNS, SYNACK_NS, SYNACKS, SHAKEN_NS = 34, 35, 36, 37, 38
SIDES, WIDTH = 39, 37  # where the sides' columns begin, and how many a side has
SEEN, REF, SYNCED, START, FIRST_DATA, DATA_END, FIN_SEEN, FIN_AT, FIN_NS = 0, 1, 2, 3, 4, 5, 6, 7, 8
ACK_SEEN, ACKED, SENT, ZERO_SINCE, STRAYS, HISTORY_BITS, DATA_SEEN, HINTED, RST_NS = 9, 10, 11, 12, 13, 14, 15, 16, 17
JUMPED, JUMP, ACK_ROW, COPIES, BAD_SUMS = 18, 19, 20, 21, 22
# end, time and 1 + number of a segment that waits for its acknowledgement, and of the newest; end, time and acknowledgement of the furthest
TIMED, TIMED_NS, TIMED_PLACE, NEWEST, NEWEST_NS, NEWEST_PLACE, WENT_ON, WENT_NS, WENT_ACK = 23, 24, 25, 26, 27, 28, 29, 30, 31
LATEST_AT = 32  # where the segment begins that came furthest
HEARD = 33  # of the other side's octets, how many its segments in wire order had received
CLOSE_NUMBER, CLOSE_ORDER = 34, 35  # of its first FIN or RST: 1 + number of the packet in the flow, the last number in wire order before it
STRAYED = 36  # octets of strays
COLUMNS = SIDES + 2 * WIDTH


FAR = 1 << 30  # the largest window TCP can offer (RFC 7323, 2.3)
CLOSE_BY = 1 << 24  # surely the same connection
UNBOUNDED = 1 << 62  # of clocks: nothing is known
AFTER_CLOSE = 1 << 20  # how far late segments of a closed connection may lie

# marks of a row: no octets of the stream; behind a later segment; a keep-alive; the same packet captured again; counted as out of order
STRAY, BEHIND, PROBE, COPY, COUNTED = 1, 2, 4, 8, 16


@inline
def distance(number: Int, position: Int) -> Int:
    """Signed 32-bit distance from a 64-bit position to a sequence number."""
    d = (number - position) & 0xFFFFFFFF
    return d - (1 << 32) if d >= 1 << 31 else d


@callee
def open_stream(state: State, stream: Int, row: Int, ts: Int, seq: Int) -> None:
    """Start a connection's state at its first row."""
    for i in range(COLUMNS):
        state[stream, i] = 0
    state[stream, FIRST_ROW] = row
    state[stream, FIRST_NS] = state[stream, LAST_NS] = state[stream, ORIGIN_NS] = ts
    state[stream, ORIGIN_SEQ] = seq
    state[stream, INITIATOR] = state[stream, CLOSED_BY] = NOBODY
    state[stream, CLOSE_KIND] = CLOSE_OPEN
    state[stream, LATEST_CAPTURE] = -1
    state[stream, CLOCK_MIN], state[stream, CLOCK_MAX] = -UNBOUNDED, UNBOUNDED
    for side in range(2):
        state[stream, SIDES + side * WIDTH + ZERO_SINCE] = state[stream, SIDES + side * WIDTH + WENT_ACK] = -1


@inline
def take_time(state: State, stream: Int, ts: Int, capture: Int, packet: Int) -> None:
    """Take a packet's time. It does not order packets, for a clock may step; steps back within a capture are counted."""
    state[stream, FIRST_NS] = min(state[stream, FIRST_NS], ts)
    state[stream, LAST_NS] = max(state[stream, LAST_NS], ts)
    if state[stream, LATEST_CAPTURE] == capture and state[stream, LATEST_PACKET] < packet and ts < state[stream, LATEST_NS]:
        state[stream, STEPS_BACK] += 1
    state[stream, LATEST_NS], state[stream, LATEST_CAPTURE], state[stream, LATEST_PACKET] = ts, capture, packet


@inline
def closed(state: State, stream: Int) -> bool:
    """Whether both sides are closed: by a RST, or a FIN from each."""
    both = state[stream, SIDES + FIN_SEEN] and state[stream, SIDES + WIDTH + FIN_SEEN]
    return bool(state[stream, RST_BY] or both != 0)


@inline
def delta(state: State, stream: Int, side: Int, seq: Int) -> Int:
    """Distance of a number from the furthest position of a side; 0: nothing is known; FAR + 1: impossible for this side."""
    at = SIDES + side * WIDTH
    if state[stream, at + SEEN]:
        d = distance(seq, state[stream, at + REF])
        if state[stream, at + SYNCED] and d < 0:  # sent before, or impossible
            return d if state[stream, at + REF] + d >= state[stream, at + START] - 1 else FAR + 1
        if state[stream, at + FIN_SEEN] and state[stream, at + REF] + d > state[stream, at + FIN_AT] + 1 and closed(state, stream):
            # where Linux uses a port again at once, the new connection begins 65,537 octets behind the FIN; its SYN may not be captured
            return FAR + 1
    elif state[stream, at + ACK_SEEN]:
        d = distance(seq, state[stream, at + ACKED])
    else:
        return 0
    limit = AFTER_CLOSE if closed(state, stream) else FAR
    return d if -limit <= d <= limit else FAR + 1


@inline
def confirmed(state: State, stream: Int, side: Int, seq: Int) -> bool:
    """Whether a far number is near an earlier far one: a loss or a reuse of the port, but no lone forgery."""
    at = SIDES + side * WIDTH
    return bool(state[stream, at + JUMPED] and abs(distance(seq, state[stream, at + JUMP])) <= CLOSE_BY)


@allocating
def grown(state: State, history: U8) -> tuple[State, U8]:
    """The same states, with room for twice as many connections."""
    more = np.empty((2 * len(state), state.shape[1]), np.int64)
    more[: len(state)] = state
    letters = np.zeros((2 * len(history), history.shape[1]), np.uint8)
    letters[: len(history)] = history
    return more, letters
