"""One pass over segments in wire order: the connection of each, and its position in that connection's 64-bit sequence space.

What a connection is known by is kept in its state, so the pass goes on where an earlier one over the same flow ended.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.columns import ACK, FIN, RST, SYN, URG
from stompcap.capture.integers import Int
from stompcap.kernel import kernel
from stompcap.tcp import history as h
from stompcap.tcp import state as s
from stompcap.tcp.copies import NOWHERE, POSITION, STREAM, find_copy, key_of, remember, slot_of
from stompcap.tcp.events import handshake, keep_alive, take_ack, take_close
from stompcap.tcp.history import note
from stompcap.tcp.matching import find_stream, find_syn
from stompcap.tcp.state import CLOSE_BY, FAR, SIDES, WIDTH, Int64s, State


@kernel
def same_flow(flow: Int64s, endpoints: NDArray[np.uint8], row: Int) -> bool:
    """Whether a row is of the flow of the row before it."""
    if flow[row] != flow[row - 1]:
        return False
    for i in range(36):
        if endpoints[row, i] != endpoints[row - 1, i]:
            return False
    return True


@kernel
def take_octets(state: State, history: NDArray[np.uint8], stream: Int, side: Int, at: Int, octets: Int, flags: Int, believed: bool) -> Int:
    """Take a segment's octets at position `at`; returns its marks."""
    mine, end = SIDES + side * WIDTH, at + octets
    if keep_alive(state, stream, side, at, octets, flags):
        return s.PROBE
    again = state[stream, mine + s.DATA_SEEN] and end <= state[stream, mine + s.DATA_END]
    note(state, history, stream, side, h.H_AGAIN if again and at < state[stream, mine + s.ACKED] else h.H_DATA)
    if not state[stream, mine + s.DATA_SEEN]:
        state[stream, mine + s.DATA_SEEN], state[stream, mine + s.FIRST_DATA] = 1, at
        state[stream, mine + s.DATA_END] = end
        return 0
    marks = s.BEHIND if at < state[stream, mine + s.DATA_END] else 0
    if believed:
        state[stream, mine + s.DATA_END] = max(state[stream, mine + s.DATA_END], end)
    return marks


@kernel
def take_window(state: State, history: NDArray[np.uint8], stream: Int, side: Int, window: Int, ts: Int, stalls: Int64s, count: Int) -> Int:
    """Take the window a side offers: none stalls the other side until some is offered; returns how many stalls there are now."""
    mine = SIDES + side * WIDTH
    since = state[stream, mine + s.ZERO_SINCE]
    if window == 0:
        note(state, history, stream, side, h.H_ZERO)
        if since < 0:
            state[stream, mine + s.ZERO_SINCE] = ts
    elif since >= 0:
        stalls[count, 0], stalls[count, 1], stalls[count, 2], stalls[count, 3] = stream, 1 - side, since, ts
        state[stream, mine + s.ZERO_SINCE] = -1
        return count + 1
    return count


@kernel
def assign(
    flow: Int64s,
    endpoints: NDArray[np.uint8],
    forward: NDArray[np.uint8],
    capture: NDArray[np.int32],
    ts_ns: Int64s,
    seqs: Int64s,
    acks: Int64s,
    flag_bits: NDArray[np.int32],
    window: NDArray[np.int32],
    ip_id: NDArray[np.int32],
    wire_octets: Int64s,
    bad_checksum: NDArray[np.uint8],
    number: Int64s,
    stream_of: NDArray[np.int32],
    position: Int64s,
    marks: NDArray[np.uint8],
    stalls: Int64s,
    memory: Int64s,
    state: State,
    history: NDArray[np.uint8],
    known: Int,
    gone: Int,
) -> tuple[State, NDArray[np.uint8], Int]:
    """Assign every row; returns the states of connections, their histories, and how many rows of `stalls` were filled.

    `known` connections of the first row's flow have a state already, `gone` older ones have none any more. Fills `stream_of`,
    `position` (of the first payload octet), `marks`, and a row of `stalls` for each time without a window that ended: stream,
    blocked side, begin, end.
    """
    streams, first, ended = np.int64(known), np.int64(0), np.int64(0)
    for row in range(len(flow)):
        if row > 0 and not same_flow(flow, endpoints, row):
            first = streams
        side = 0 if forward[row] else 1
        seq, ack, flags, ts, octets = seqs[row], acks[row], np.int64(flag_bits[row]), ts_ns[row], wire_octets[row]
        key = key_of(flow[row], side, seq, ack, flags, np.int64(window[row]), octets, np.int64(ip_id[row]))
        slot = slot_of(key)
        entry = find_copy(memory, slot, key, ts)
        if entry >= 0 and memory[slot, entry + STREAM] >= gone + first:
            stream_of[row], position[row] = memory[slot, entry + STREAM] - gone, memory[slot, entry + POSITION]
            marks[row] = s.COPY if position[row] != NOWHERE else s.COPY | s.STRAY
            state[stream_of[row], SIDES + side * WIDTH + s.COPIES] += octets > 0
            continue
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
                state, history = s.grown(state, history)
            s.open_stream(state, stream, row, ts, seq)
        stream_of[row] = stream
        remember(memory, slot, key, ts, stream + gone)
        s.take_time(state, stream, ts, capture[row])
        mine = SIDES + side * WIDTH
        state[stream, mine + s.BAD_SUMS] += bad_checksum[row]
        if away == FAR + 1:
            marks[row] = s.STRAY
            state[stream, mine + s.STRAYS] += 1
            if not flags & RST:
                state[stream, mine + s.JUMPED], state[stream, mine + s.JUMP] = 1, seq + octets
            note(state, history, stream, side, h.H_RST if flags & RST else h.H_ODD)
            fits = flags & RST and not state[stream, mine + s.SEEN]
            if fits or (flags & RST and flags & ACK and seq == 0):
                take_close(state, stream, side, ts, ack, flags, 0)
            continue
        if syn:
            handshake(state, stream, side, ts, seq, ack, flags)
            note(state, history, stream, side, h.H_MULTI if flags & FIN else (h.H_SYNACK if flags & ACK else h.H_SYN))
            seq += 1
        elif not state[stream, mine + s.SEEN] and (octets > 0 or not flags & RST):
            if state[stream, mine + s.ACK_SEEN]:
                state[stream, mine + s.REF] = state[stream, mine + s.ACKED] + s.distance(seq, state[stream, mine + s.ACKED])
            else:
                state[stream, mine + s.REF] = seq + (1 << 32)
            state[stream, mine + s.SEEN] = 1
        at = state[stream, mine + s.REF] + s.distance(seq, state[stream, mine + s.REF])
        position[row] = at
        end = at + octets
        believed = away <= CLOSE_BY or s.confirmed(state, stream, side, seq)
        if not believed:
            state[stream, mine + s.JUMPED], state[stream, mine + s.JUMP] = 1, end
        if flags & RST:
            note(state, history, stream, side, h.H_RST)
            if abs(away) <= CLOSE_BY:
                take_close(state, stream, side, ts, ack, flags, end)
            if octets == 0 or abs(away) > CLOSE_BY:
                marks[row] = s.STRAY
                continue
        if flags & URG:
            note(state, history, stream, side, h.H_URGENT)
        if octets > 0:
            marks[row] = take_octets(state, history, stream, side, at, octets, flags, believed)
            if marks[row] != s.PROBE:
                memory[slot, POSITION] = at
        elif flags & ACK and not flags & (SYN | FIN):
            note(state, history, stream, side, h.H_ACK)
            if believed:
                state[stream, mine + s.SENT] = max(state[stream, mine + s.SENT], at)
        if believed:
            state[stream, mine + s.REF] = max(state[stream, mine + s.REF], end)
        if flags & FIN and not flags & RST:
            note(state, history, stream, side, h.H_FIN)
            if believed:
                take_close(state, stream, side, ts, ack, flags, end)
        if flags & ACK and not flags & RST:
            take_ack(state, stream, 1 - side, ack)
            state[stream, SIDES + (1 - side) * WIDTH + s.ACK_ROW] = number[row]
        if not flags & (SYN | FIN | RST):
            ended = take_window(state, history, stream, side, window[row], ts, stalls, ended)
    return state[:streams], history[:streams], ended
