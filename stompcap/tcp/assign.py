"""One pass over segments in wire order: assigns each to a connection and to a position in its 64-bit sequence space.

The state of each connection is returned, so the next call continues where an earlier one over the same flow ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.segment_columns import ACK, ELSEWHERE, FIN, RST, STEPPED, SYN, URG
from stompcap.columns import I32, I64, U8
from stompcap.kernel import allocating, callee, inline
from stompcap.tcp import history as h
from stompcap.tcp import state as s
from stompcap.tcp.clocks import Sent, take_clock, take_step
from stompcap.tcp.copies import NOWHERE, POSITION, STREAM, find_copy, key_of, remember, slot_of
from stompcap.tcp.events import handshake, heard_at, keep_alive, shake, take_ack, take_close
from stompcap.tcp.history import note
from stompcap.tcp.idle import first_after_idle, idle, last_time
from stompcap.tcp.matching import TIMELESS, find_elsewhere, find_stream, find_syn
from stompcap.tcp.state import CLOSE_BY, FAR, SIDES, WIDTH, State


@callee
def same_flow(flow: I64, endpoints: U8, row: Int) -> bool:
    """Whether a row belongs to the same flow as the row before it."""
    if flow[row] != flow[row - 1]:
        return False
    for i in range(36):
        if endpoints[row, i] != endpoints[row - 1, i]:
            return False
    return True


@callee
def take_octets(state: State, history: U8, stream: Int, side: Int, at: Int, octets: Int, flags: Int, believed: bool) -> Int:
    """Take a segment's octets at position `at`; returns its marks."""
    mine, end = SIDES + side * WIDTH, at + octets
    if keep_alive(state, stream, side, at, octets, flags):
        return s.PROBE
    resent = state[stream, mine + s.DATA_SEEN] and end <= state[stream, mine + s.DATA_END]
    note(state, history, stream, side, h.H_AGAIN if resent and at < state[stream, mine + s.ACKED] else h.H_DATA)
    if not state[stream, mine + s.DATA_SEEN]:
        state[stream, mine + s.DATA_SEEN], state[stream, mine + s.FIRST_DATA] = 1, at
        state[stream, mine + s.DATA_END], state[stream, mine + s.LATEST_AT] = end, at
        return 0
    marks = s.BEHIND if at < state[stream, mine + s.DATA_END] else 0
    if believed and end > state[stream, mine + s.DATA_END]:
        state[stream, mine + s.DATA_END], state[stream, mine + s.LATEST_AT] = end, at
    return marks


@callee
def take_window(state: State, history: U8, stream: Int, side: Int, window: Int, ts: Int, stalls: I64, count: Int) -> Int:
    """Take the window that a side offers: a zero window stalls the other side until it opens; returns how many stalls there are now."""
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


class Segments(NamedTuple):
    """Columns of segments in wire order, as in `stompcap.capture.segment_columns`; `number` counts packets of the flow."""

    flow: I64
    endpoints: U8
    forward: U8
    capture: I32
    packet: I64
    ts_ns: I64
    seq: I64
    ack: I64
    flags: I32
    window: I32
    ip_id: I32
    wire: I64
    bad_checksum: U8
    number: I64


class Assigned(NamedTuple):
    """Results for each segment: its connection, the position of its first payload octet, its marks.

    `heard` is the position up to which its sender had received the other side's octets, 0 where it does not say. `stalls` gets a row for
    each zero-window period that ended: stream, blocked side, begin, end; `steps` one for each step of a clock (stompcap.tcp.clocks).
    """

    stream_of: I32
    position: I64
    marks: U8
    heard: I64
    stalls: I64
    steps: I64


class Segment(NamedTuple):
    """The fields of one segment."""

    side: Int
    ts: Int
    seq: Int
    ack: Int
    flags: Int
    octets: Int


@callee
def take_stray(state: State, history: U8, stream: Int, seg: Segment) -> None:
    """Take a segment with an impossible sequence number; a RST is still accepted if nothing else is known of its side."""
    mine = SIDES + seg.side * WIDTH
    reset = seg.flags & RST
    state[stream, mine + s.STRAYS] += 1
    state[stream, mine + s.STRAYED] += seg.octets
    if not reset:
        state[stream, mine + s.JUMPED], state[stream, mine + s.JUMP] = 1, seg.seq + seg.octets
    note(state, history, stream, seg.side, h.H_RST if reset else h.H_ODD)
    if reset and (not state[stream, mine + s.SEEN] or (seg.flags & ACK and seg.seq == 0)):
        take_close(state, stream, seg.side, seg.ts, seg.ack, seg.flags, 0)


@inline
def take_number(state: State, history: U8, stream: Int, seg: Segment) -> Int:
    """The position of a segment's first octet, behind a SYN; on a side not seen before, its sequence number defines it."""
    mine, flags, seq = SIDES + seg.side * WIDTH, seg.flags, seg.seq
    if flags & SYN and not flags & RST:
        handshake(state, stream, seg.side, seg.ts, seq, seg.ack, flags)
        note(state, history, stream, seg.side, h.H_MULTI if flags & FIN else (h.H_SYNACK if flags & ACK else h.H_SYN))
        seq += 1
    elif not state[stream, mine + s.SEEN] and (seg.octets > 0 or not flags & RST):
        if state[stream, mine + s.ACK_SEEN]:
            state[stream, mine + s.REF] = state[stream, mine + s.ACKED] + s.distance(seq, state[stream, mine + s.ACKED])
        else:
            state[stream, mine + s.REF] = seq + (1 << 32)
        state[stream, mine + s.SEEN] = 1
    return state[stream, mine + s.REF] + s.distance(seq, state[stream, mine + s.REF])


@callee
def take_reset(state: State, history: U8, stream: Int, seg: Segment, end: Int, away: Int) -> bool:
    """Take a RST; returns whether it carries no octets of the stream."""
    note(state, history, stream, seg.side, h.H_RST)
    if abs(away) <= CLOSE_BY:
        take_close(state, stream, seg.side, seg.ts, seg.ack, seg.flags, end)
    return bool(seg.octets == 0 or abs(away) > CLOSE_BY)


@inline
def take_segment(state: State, history: U8, stream: Int, seg: Segment, at: Int, believed: bool) -> Int:
    """Take a segment at position `at`, with its octets and flags; returns its marks."""
    mine, flags, end = SIDES + seg.side * WIDTH, seg.flags, at + seg.octets
    marks = np.int64(0)
    if flags & URG:
        note(state, history, stream, seg.side, h.H_URGENT)
    if seg.octets > 0:
        marks = np.int64(take_octets(state, history, stream, seg.side, at, seg.octets, flags, believed))
    elif flags & ACK and not flags & (SYN | FIN):
        note(state, history, stream, seg.side, h.H_ACK)
        if believed:
            state[stream, mine + s.SENT] = max(state[stream, mine + s.SENT], at)
    if believed:
        state[stream, mine + s.REF] = max(state[stream, mine + s.REF], end)
    if flags & FIN and not flags & RST:
        note(state, history, stream, seg.side, h.H_FIN)
        if believed:
            take_close(state, stream, seg.side, seg.ts, seg.ack, flags, end)
    return marks


@inline
def note_close(state: State, stream: Int, side: Int, flags: Int, number: Int) -> None:
    """Note a side's first FIN or RST."""
    mine = SIDES + side * WIDTH
    accepted = state[stream, mine + s.FIN_SEEN] or state[stream, mine + s.RST_NS]
    if flags & (FIN | RST) and accepted and not state[stream, mine + s.CLOSE_NUMBER]:
        state[stream, mine + s.CLOSE_NUMBER], state[stream, mine + s.CLOSE_ORDER] = number + 1, state[stream, s.ORDERED]


@inline
def hear(state: State, stream: Int, seg: Segment, number: Int) -> Int:
    """Take what a segment acknowledges, `number` being its number in the flow; how far its sender had received, 0 where it does not say."""
    if not seg.flags & ACK or seg.flags & RST:
        return np.int64(0)
    take_ack(state, stream, 1 - seg.side, seg.ack)
    state[stream, SIDES + (1 - seg.side) * WIDTH + s.ACK_ROW] = number
    return np.int64(heard_at(state, stream, 1 - seg.side, seg.ack))


@callee
def count_elsewhere(state: State, rows: Segments, found: Assigned, begin: Int, end: Int, stream: Int) -> None:
    """Count packets that another capture has, or another capture point gives, in a connection; nothing else comes of them."""
    for row in range(begin, end):
        found.stream_of[row], found.position[row], found.marks[row] = stream, NOWHERE, s.COPY | s.STRAY
        state[stream, SIDES + (0 if rows.forward[row] else 1) * WIDTH + s.COPIES] += rows.wire[row] > 0


@callee
def take_elsewhere(state: State, rows: Segments, found: Assigned, row: Int, first: Int, streams: Int) -> bool:
    """Count such a packet, or have it wait for the flow's first connection; False where no other packets of the flow are here."""
    side = 0 if rows.forward[row] else 1
    stream = find_elsewhere(state, first, streams, side, rows.seq[row], np.int64(rows.flags[row]))
    if stream >= 0:
        count_elsewhere(state, rows, found, row, row + 1, stream)
        return True
    return row + 1 < len(rows.flow) and same_flow(rows.flow, rows.endpoints, row + 1)


@allocating
def assign(
    rows: Segments, found: Assigned, memory: I64, state: State, history: U8, known: Int, gone: Int, idle_ns: Int
) -> tuple[State, U8, Int, Int]:
    """Assign every row; returns the states of connections, their histories, and how many rows of `stalls` and `steps` were filled.

    The first row's flow has `known` connections with a state, and `gone` older ones that are over. After a silence of more
    than `idle_ns` a flow goes on as another connection.
    """
    flow, endpoints, forward, capture, packet, times, seqs, acks, flag_bits, window, ip_id, wire, bad_checksum, number = rows
    stream_of, position, marks, heard, stalls, steps = found
    streams, first = np.int64(known), np.int64(first_after_idle(state, known))
    ended = stepped = np.int64(0)
    last_ns, after_idle = np.int64(last_time(state, known)), False
    of_flow, waiting = np.int64(0), np.int64(0)  # the flow's first connection; packets from elsewhere that came before it had any
    for row in range(len(flow)):
        side = 0 if forward[row] else 1
        seq, ack, flags, ts, octets = seqs[row], acks[row], np.int64(flag_bits[row]), times[row], wire[row]
        if row > 0 and not same_flow(flow, endpoints, row):
            first, last_ns, after_idle = streams, ts, False
            of_flow, waiting = streams, np.int64(0)
        if flags & ELSEWHERE and take_elsewhere(state, rows, found, row, of_flow, streams):
            waiting += streams == of_flow
            continue
        if streams > first and idle(state, first, streams, ts - last_ns, idle_ns):
            first, after_idle = streams, True
        last_ns = max(last_ns, ts)
        stepped = take_step(state, first, streams, Sent(side, ts, ack, flags, 0, 0, number[row] + 1), steps, stepped)
        flags &= ~STEPPED
        seg = Segment(side, ts, seq, ack, flags, octets)
        key = key_of(flow[row], side, seq, ack, flags, np.int64(window[row]), octets, np.int64(ip_id[row]))
        slot = slot_of(key)
        entry = find_copy(memory, slot, key, ts)
        of_closed = ts == TIMELESS and entry >= 0 and s.closed(state, max(memory[slot, entry + STREAM] - gone, 0))
        if entry >= 0 and memory[slot, entry + STREAM] >= gone + first and not of_closed:
            stream_of[row], position[row] = memory[slot, entry + STREAM] - gone, memory[slot, entry + POSITION]
            marks[row] = s.COPY if position[row] != NOWHERE else s.COPY | s.STRAY
            state[stream_of[row], SIDES + side * WIDTH + s.COPIES] += octets > 0
            continue
        if flags & SYN and not flags & RST:
            stream, away = find_syn(state, first, streams, side, seq, ack, flags, ts), 0
        else:
            stream, away = find_stream(state, first, streams, side, seq, ack, flags)
        if stream < 0:
            stream, away = streams, 0
            streams += 1
            if streams > len(state):
                state, history = s.grown(state, history)
            s.open_stream(state, stream, row, ts, seq)
            state[stream, s.AFTER_IDLE] = after_idle and stream == first
            count_elsewhere(state, rows, found, row - waiting, row, stream)
            waiting = np.int64(0)
        stream_of[row] = stream
        remember(memory, slot, key, ts, stream + gone)
        s.take_time(state, stream, ts, capture[row], packet[row])
        mine = SIDES + side * WIDTH
        state[stream, mine + s.BAD_SUMS] += bad_checksum[row]
        if away == FAR + 1:
            marks[row] = s.STRAY
            take_stray(state, history, stream, seg)
            continue
        at = take_number(state, history, stream, seg)
        position[row] = at
        believed = away <= CLOSE_BY or s.confirmed(state, stream, side, seq + (1 if flags & SYN and not flags & RST else 0))
        if not believed:
            state[stream, mine + s.JUMPED], state[stream, mine + s.JUMP] = 1, at + octets
        if flags & RST and take_reset(state, history, stream, seg, at + octets, away):
            marks[row] = s.STRAY
            note_close(state, stream, side, flags, number[row])
            continue
        marks[row] = take_segment(state, history, stream, seg, at, believed)
        note_close(state, stream, side, flags, number[row])
        if believed and not flags & RST:
            begin, end = at - (flags & SYN != 0), at + octets + (flags & FIN != 0)
            stepped = take_clock(state, stream, Sent(side, ts, ack, flags, begin, end, number[row] + 1), steps, stepped)
        if octets > 0 and marks[row] != s.PROBE:
            memory[slot, POSITION] = at
        heard[row] = hear(state, stream, seg, number[row])
        shake(state, stream, side, ts, flags)
        if not flags & (SYN | FIN | RST):
            ended = take_window(state, history, stream, side, window[row], ts, stalls, ended)
    return state[:streams], history[:streams], ended, stepped
