"""Which connection a segment belongs to, and at which position of its 64-bit sequence space it lies.

One pass in wire order over whole flows. A flow (two endpoints) may see several connections, its incarnations: a SYN
with a new initial sequence number begins one, and so do segments whose sequence and acknowledgement numbers both lie
far from all that is known of the flow. Sequence numbers are unwrapped by their signed 32-bit distance to the furthest
one seen (RFC 9293, 3.4). A segment no incarnation can have sent is marked stray: it is counted, and its octets are left
out, so a forged number cannot make a gap of gigabytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.columns import ACK, FIN, RST, SYN
from stompcap.capture.integers import Int
from stompcap.kernel import inline, kernel

Int64s = NDArray[np.int64]
State = NDArray[np.int64]

# columns of the state of a connection
FIRST_ROW, FIRST_NS, LAST_NS, INITIATOR, ORIGIN_NS, ORIGIN_SEQ, ORIGIN_SYN, SYN_SEEN, SYNACK_SEEN = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
)
CLOSE_KIND, CLOSED_BY, CLOSE_NS, LETTERS, FLOW_FIRST = 9, 10, 11, 12, 13
SIDES, WIDTH = 14, 21  # where the sides' columns begin, and how many each has
SEEN, REF, SYNCED, START, FIRST_DATA, DATA_END, FIN_SEEN, FIN_AT, FIN_NS = 0, 1, 2, 3, 4, 5, 6, 7, 8
ACK_SEEN, ACKED, SENT, ZERO_SINCE, STRAYS, HISTORY_BITS, DATA_SEEN, HINTED, RST_NS = 9, 10, 11, 12, 13, 14, 15, 16, 17
JUMPED, JUMP, ACK_ROW = 18, 19, 20
COLUMNS = SIDES + 2 * WIDTH

CLOSE_FIN, CLOSE_RST, CLOSE_OPEN = 0, 1, 2  # indexes of words.CLOSE_KINDS
LOW, HIGH, BOTH, NOBODY = 0, 1, 2, -1

FAR = 1 << 30  # the largest window TCP can offer (RFC 7323, 2.3)
CLOSE_BY = 1 << 24  # surely the same connection
AFTER_CLOSE = 1 << 20  # how far late segments of a closed connection may lie
RECENT = 256  # how many incarnations of a flow a segment is compared with

# marks of a row
STRAY, BEHIND, PROBE = 1, 2, 4  # no octets of the stream; behind a later segment; a keep-alive

HISTORY_LETTERS = b"shadfrtwqi"
H_SYN, H_SYNACK, H_ACK, H_DATA, H_FIN, H_RST, H_AGAIN, H_ZERO, H_MULTI, H_ODD = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
HISTORY_WIDTH = 20


@inline
def distance(number: Int, position: Int) -> Int:
    """Signed 32-bit distance from a 64-bit position to a sequence number."""
    d = (number - position) & 0xFFFFFFFF
    return d - (1 << 32) if d >= 1 << 31 else d


@kernel
def note(state: State, history: NDArray[np.uint8], stream: Int, side: Int, letter: Int) -> None:
    """Add a letter to a connection's history, once a side: code in the low bits, side in bit 7."""
    bits = SIDES + side * WIDTH + HISTORY_BITS
    if not state[stream, bits] >> letter & 1:
        state[stream, bits] |= 1 << letter
        history[stream, state[stream, LETTERS]] = letter | side << 7
        state[stream, LETTERS] += 1


@kernel
def open_stream(state: State, stream: Int, row: Int, ts: Int, seq: Int, flow_first: Int) -> None:
    """Start a connection's state at its first row."""
    for i in range(COLUMNS):
        state[stream, i] = 0
    state[stream, FIRST_ROW] = row
    state[stream, FIRST_NS] = state[stream, LAST_NS] = state[stream, ORIGIN_NS] = ts
    state[stream, ORIGIN_SEQ] = seq
    state[stream, INITIATOR] = state[stream, CLOSED_BY] = NOBODY
    state[stream, CLOSE_KIND] = CLOSE_OPEN
    state[stream, FLOW_FIRST] = flow_first
    for side in range(2):
        state[stream, SIDES + side * WIDTH + ZERO_SINCE] = -1


@inline
def closed(state: State, stream: Int) -> bool:
    """Whether both sides are done: a RST, or a FIN from each."""
    both = state[stream, SIDES + FIN_SEEN] and state[stream, SIDES + WIDTH + FIN_SEEN]
    return bool(state[stream, CLOSE_KIND] == CLOSE_RST or both != 0)


@inline
def delta(state: State, stream: Int, side: Int, seq: Int) -> Int:
    """How far a number lies from the furthest position of a side; 0: nothing is known; FAR + 1: it cannot be its."""
    at = SIDES + side * WIDTH
    if state[stream, at + SEEN]:
        d = distance(seq, state[stream, at + REF])
        if state[stream, at + SYNCED] and d < 0:  # what it has sent, or what no segment of it can be
            return d if state[stream, at + REF] + d >= state[stream, at + START] - 1 else FAR + 1
    elif state[stream, at + ACK_SEEN]:
        d = distance(seq, state[stream, at + ACKED])
    else:
        return 0
    limit = AFTER_CLOSE if closed(state, stream) else FAR
    return d if -limit <= d <= limit else FAR + 1


@kernel
def find_syn(state: State, first: Int, streams: Int, side: Int, seq: Int, ack: Int, flags: Int, ts: Int) -> Int:
    """The connection that a SYN belongs to, or -1 for a new one."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    for stream in range(streams - 1, max(first, streams - RECENT) - 1, -1):
        if state[stream, mine + SYNCED] and not state[stream, mine + HINTED]:
            again = distance(seq + 1, state[stream, mine + START]) == 0
            if again and (not closed(state, stream) or ts <= state[stream, LAST_NS]):
                return stream  # sent again, or captured again
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
    return stream if state[stream, peer + SYNCED] and not closed(state, stream) else -1  # both sides open at once


@inline
def find_stream(state: State, first: Int, streams: Int, side: Int, seq: Int, ack: Int, flags: Int) -> tuple[Int, Int]:
    """The connection of any other segment, and its distance there: FAR + 1 for a stray, (-1, 0) for a new one."""
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


@inline
def confirmed(state: State, stream: Int, side: Int, seq: Int) -> bool:
    """Whether a far number lies where a far one was seen before: a loss, a reuse, but no lone forgery."""
    at = SIDES + side * WIDTH
    return bool(state[stream, at + JUMPED] and abs(distance(seq, state[stream, at + JUMP])) <= CLOSE_BY)


@kernel
def handshake(state: State, stream: Int, side: Int, row: Int, ts: Int, seq: Int, ack: Int, flags: Int) -> None:
    """Take what a SYN or SYN-ACK says."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    if not state[stream, mine + SEEN]:
        state[stream, mine + REF] = seq + 1 + (1 << 32)
        state[stream, mine + SEEN] = 1
    if not state[stream, mine + SYNCED] or state[stream, mine + HINTED]:
        state[stream, mine + START] = state[stream, mine + REF] + distance(seq + 1, state[stream, mine + REF])
        state[stream, mine + SYNCED], state[stream, mine + HINTED] = 1, 0
    if not state[stream, ORIGIN_SYN]:
        state[stream, ORIGIN_SYN] = 1
        state[stream, ORIGIN_NS], state[stream, ORIGIN_SEQ] = ts, seq
    if state[stream, INITIATOR] == NOBODY:
        state[stream, INITIATOR] = 1 - side if flags & ACK else side
    state[stream, SYNACK_SEEN if flags & ACK else SYN_SEEN] = 1
    if flags & ACK and not state[stream, peer + SEEN]:
        state[stream, peer + SEEN] = state[stream, peer + SYNCED] = state[stream, peer + HINTED] = 1
        state[stream, peer + START] = state[stream, peer + REF] = ack + (1 << 32)


@kernel
def take_close(state: State, stream: Int, side: Int, ts: Int, ack: Int, flags: Int, end: Int) -> None:
    """Take a FIN at position `end` or a RST."""
    mine, peer = SIDES + side * WIDTH, SIDES + (1 - side) * WIDTH
    if flags & RST:
        if not state[stream, mine + RST_NS]:
            state[stream, mine + RST_NS] = ts
        if not closed(state, stream):
            state[stream, CLOSE_KIND], state[stream, CLOSED_BY], state[stream, CLOSE_NS] = CLOSE_RST, side, ts
    elif flags & FIN and not state[stream, mine + FIN_SEEN]:
        if state[stream, mine + DATA_SEEN] and end < state[stream, mine + DATA_END]:
            return
        state[stream, mine + FIN_SEEN] = 1
        state[stream, mine + FIN_AT], state[stream, mine + FIN_NS] = end, ts
        if state[stream, CLOSE_KIND] == CLOSE_OPEN:
            state[stream, CLOSE_KIND], state[stream, CLOSED_BY], state[stream, CLOSE_NS] = CLOSE_FIN, side, ts
        elif state[stream, CLOSE_KIND] == CLOSE_FIN and state[stream, CLOSED_BY] == 1 - side:
            unaware = not flags & ACK or distance(ack, state[stream, peer + FIN_AT]) <= 0
            state[stream, CLOSED_BY] = BOTH if unaware else 1 - side


@inline
def take_ack(state: State, stream: Int, peer: Int, ack: Int) -> None:
    """Take an acknowledgement of the octets of side `peer`."""
    at = SIDES + peer * WIDTH
    if state[stream, at + ACK_SEEN]:
        d = distance(ack, state[stream, at + ACKED])
        if 0 < d <= FAR and (not state[stream, at + SEEN] or distance(ack, state[stream, at + REF]) <= FAR):
            state[stream, at + ACKED] += d
    elif state[stream, at + SEEN]:
        d = distance(ack, state[stream, at + REF])
        if -FAR <= d <= FAR:
            state[stream, at + ACK_SEEN], state[stream, at + ACKED] = 1, state[stream, at + REF] + d
    else:
        state[stream, at + ACK_SEEN], state[stream, at + ACKED] = 1, ack + (1 << 32)


@inline
def keep_alive(state: State, stream: Int, side: Int, position: Int, octets: Int, flags: Int) -> bool:
    """One octet just below the next one (RFC 9293, 3.8.4); one not yet acknowledged is a retransmission instead."""
    at = SIDES + side * WIDTH
    if octets != 1 or flags & (SYN | FIN | RST) or not state[stream, at + SEEN] or position + 1 != state[stream, at + REF]:
        return False
    return not state[stream, at + ACK_SEEN] or state[stream, at + ACKED] >= position + 1 or not state[stream, at + DATA_SEEN]


@kernel
def grown(state: State, history: NDArray[np.uint8]) -> tuple[State, NDArray[np.uint8]]:
    """The same states with room for twice as many connections."""
    more = np.empty((2 * len(state), COLUMNS), np.int64)
    for i in range(len(state)):
        for k in range(COLUMNS):
            more[i, k] = state[i, k]
    letters = np.zeros((2 * len(history), HISTORY_WIDTH), np.uint8)
    for i in range(len(history)):
        for k in range(HISTORY_WIDTH):
            letters[i, k] = history[i, k]
    return more, letters


@kernel
def assign(
    flow: Int64s,
    endpoints: NDArray[np.uint8],
    forward: NDArray[np.uint8],
    ts_ns: Int64s,
    seqs: Int64s,
    acks: Int64s,
    flag_bits: NDArray[np.int32],
    window: NDArray[np.int32],
    wire_octets: Int64s,
    stream_of: NDArray[np.int32],
    position: Int64s,
    marks: NDArray[np.uint8],
    zeros: Int64s,
) -> tuple[State, NDArray[np.uint8], Int]:
    """Assign every row; returns connection states, their histories, and how many rows of `zeros` were filled.

    Fills `stream_of`, `position` (unwrapped, of the first payload octet), `marks`, and a row of `zeros` per stall
    by a zero window: stream, blocked side, begin, end. `zeros` has a row for each segment that offers no window.
    """
    state, history = np.empty((64, COLUMNS), np.int64), np.zeros((64, HISTORY_WIDTH), np.uint8)
    streams = first = stalls = np.int64(0)
    for row in range(len(flow)):
        fresh = row == 0 or flow[row] != flow[row - 1]
        if not fresh:
            for i in range(36):
                if endpoints[row, i] != endpoints[row - 1, i]:
                    fresh = True
                    break
        if fresh:
            first = streams
        side = 0 if forward[row] else 1
        seq, ack, flags, ts, octets = seqs[row], acks[row], np.int64(flag_bits[row]), ts_ns[row], wire_octets[row]
        away = 0
        syn = flags & SYN and not flags & RST
        if syn:
            stream = find_syn(state, first, streams, side, seq, ack, flags, ts)
        else:
            stream, away = find_stream(state, first, streams, side, seq, ack, flags)
        if stream < 0:
            stream, away = streams, 0
            streams += 1
            if streams > len(state):
                state, history = grown(state, history)
            open_stream(state, stream, row, ts, seq, first)
        stream_of[row] = stream
        state[stream, FIRST_NS] = min(state[stream, FIRST_NS], ts)
        state[stream, LAST_NS] = max(state[stream, LAST_NS], ts)
        mine = SIDES + side * WIDTH
        if away == FAR + 1:
            marks[row] = STRAY
            state[stream, mine + STRAYS] += 1
            if not flags & RST:
                state[stream, mine + JUMPED], state[stream, mine + JUMP] = 1, seq + octets
            note(state, history, stream, side, H_RST if flags & RST else H_ODD)
            fits = flags & RST and not state[stream, mine + SEEN]
            if fits or (flags & RST and flags & ACK and seq == 0):
                take_close(state, stream, side, ts, ack, flags, 0)
            continue
        if syn:
            handshake(state, stream, side, row, ts, seq, ack, flags)
            note(state, history, stream, side, H_MULTI if flags & FIN else (H_SYNACK if flags & ACK else H_SYN))
            seq += 1
        elif not state[stream, mine + SEEN] and (octets > 0 or not flags & RST):
            if state[stream, mine + ACK_SEEN]:
                state[stream, mine + REF] = state[stream, mine + ACKED] + distance(seq, state[stream, mine + ACKED])
            else:
                state[stream, mine + REF] = seq + (1 << 32)
            state[stream, mine + SEEN] = 1
        at = state[stream, mine + REF] + distance(seq, state[stream, mine + REF])
        position[row] = at
        end = at + octets
        believed = away <= CLOSE_BY or confirmed(state, stream, side, seq)
        if not believed:
            state[stream, mine + JUMPED], state[stream, mine + JUMP] = 1, end
        if flags & RST:
            note(state, history, stream, side, H_RST)
            if abs(away) <= CLOSE_BY:
                take_close(state, stream, side, ts, ack, flags, end)
            if octets == 0 or abs(away) > CLOSE_BY:
                marks[row] = STRAY
                continue
        if octets > 0:
            if keep_alive(state, stream, side, at, octets, flags):
                marks[row] = PROBE
            else:
                again = state[stream, mine + DATA_SEEN] and end <= state[stream, mine + DATA_END]
                note(state, history, stream, side, H_AGAIN if again and at < state[stream, mine + ACKED] else H_DATA)
                if not state[stream, mine + DATA_SEEN]:
                    state[stream, mine + DATA_SEEN], state[stream, mine + FIRST_DATA] = 1, at
                    state[stream, mine + DATA_END] = end
                else:
                    if at < state[stream, mine + DATA_END]:
                        marks[row] = BEHIND
                    if believed:
                        state[stream, mine + DATA_END] = max(state[stream, mine + DATA_END], end)
        elif flags & ACK and not flags & (SYN | FIN):
            note(state, history, stream, side, H_ACK)
            if believed:
                state[stream, mine + SENT] = max(state[stream, mine + SENT], at)
        if believed:
            state[stream, mine + REF] = max(state[stream, mine + REF], end)
        if flags & FIN and not flags & RST:
            note(state, history, stream, side, H_FIN)
            if believed:
                take_close(state, stream, side, ts, ack, flags, end)
        if flags & ACK and not flags & RST:
            take_ack(state, stream, 1 - side, ack)
            state[stream, SIDES + (1 - side) * WIDTH + ACK_ROW] = row
        if not flags & (SYN | FIN | RST):
            if window[row] == 0:
                note(state, history, stream, side, H_ZERO)
                if state[stream, mine + ZERO_SINCE] < 0:
                    state[stream, mine + ZERO_SINCE] = stalls
                    zeros[stalls, 0], zeros[stalls, 1], zeros[stalls, 2], zeros[stalls, 3] = stream, 1 - side, ts, -1
                    stalls += 1
            elif state[stream, mine + ZERO_SINCE] >= 0:
                zeros[state[stream, mine + ZERO_SINCE], 3] = ts
                state[stream, mine + ZERO_SINCE] = -1
    for i in range(stalls):
        if zeros[i, 3] < 0:
            zeros[i, 3] = state[zeros[i, 0], LAST_NS]
    return state[:streams], history[:streams], stalls
