"""How the captures of a flow follow one another, by the headers of its segments: which flows are in doubt, and which captures go on.

Captures that follow each other in time and in sequence numbers are one sequence, as a program rotates its files; others were taken at the
same time, at another card or by another clock, and are merged (stompcap.tcp.merging).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.rotation import SAME_CLOCK, STEPS
from stompcap.capture.segment_columns import ACK, FIN, RST, SYN
from stompcap.columns import I32, I64, U8, Bools
from stompcap.kernel import allocating, inline
from stompcap.tcp.idle import LINGER_NS
from stompcap.tcp.state import CLOSE_BY

LINES = 64  # sequences of captures that a flow is merged from
UNSEEN = -1


class Rows(NamedTuple):
    """Columns of segments as in SEGMENTS; rows of a flow are adjacent, by capture and packet. `clocks` are those of captures, by rank."""

    capture: I32
    ts_ns: I64
    forward: U8
    seq: I64
    ack: I64
    flags: I32
    wire: I64
    clocks: I64


@inline
def stepped(clock: Int, later: Int) -> bool:
    """Whether a clock stepped between two captures of a rotation, by the clocks that they have; the later one is given last."""
    return bool(clock >> STEPS == later >> STEPS and later > clock >= 0)


@inline
def apart(number: Int, other: Int) -> Int:
    """Signed 32-bit distance of a sequence number from another."""
    d = (number - other) & 0xFFFFFFFF
    return d - (1 << 32) if d >= 1 << 31 else d


@inline
def size_of(flags: Int, wire: Int) -> Int:
    """How many sequence numbers a segment takes (RFC 9293, 3.4)."""
    if flags & RST:
        return 0
    return wire + (1 if flags & SYN else 0) + (1 if flags & FIN else 0)


@inline
def brings(reach: Int, seq: Int, size: Int) -> bool:
    """Whether a segment has numbers that its direction has not reached: of a new connection, too, whose numbers are far from those."""
    if size == 0:
        return False
    ahead = apart(seq + size, reach)
    return bool(reach == UNSEEN or ahead > 0 or ahead < -CLOSE_BY)


@inline
def sent_before(seq: Int, ack: Int, reach: Int, heard: Int) -> bool:
    """Whether a segment was sent before others of its direction, by what these reached and acknowledged; a copy acknowledges no less."""
    return bool(-CLOSE_BY < apart(seq, reach) < 0 and heard != UNSEEN and -CLOSE_BY < apart(ack, heard) < 0)


@allocating
def in_doubt(begins: I64, rows: Rows) -> Bools:
    """Per flow, whether its rows may not be in order: a time falls, or octets follow their acknowledgement or later octets.

    `begins` has the first row of each flow and one past the last.
    """
    capture, ts_ns, forward, seqs, acks, flag_bits, wire, _ = rows
    found = np.zeros(len(begins) - 1, np.bool_)
    reach, acked, since = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(2, np.int64)
    for flow in range(len(begins) - 1):
        reach[:] = UNSEEN
        acked[:] = UNSEEN
        since[:] = -1
        last = ts_ns[begins[flow]]
        for row in range(begins[flow], begins[flow + 1]):
            if capture[row] < 0:
                last = ts_ns[min(row + 1, len(ts_ns) - 1)]
                continue
            if ts_ns[row] < last:
                found[flow] = True
                break
            if ts_ns[row] - last > LINGER_NS:
                reach[:] = UNSEEN
                acked[:] = UNSEEN
            last = ts_ns[row]
            side, flags = 0 if forward[row] else 1, np.int64(flag_bits[row])
            size = size_of(flags, wire[row])
            if since[side] != capture[row]:
                if since[side] >= 0 and not flags & SYN and sent_before(seqs[row] + size, acks[row], reach[side], acked[1 - side]):
                    found[flow] = True
                    break
                since[side] = capture[row]
            if brings(reach[side], seqs[row], size):
                if acked[side] != UNSEEN and 0 < apart(acked[side], seqs[row]) <= size:
                    found[flow] = True
                    break
                reach[side] = (seqs[row] + size) & 0xFFFFFFFF
            elif reach[side] == UNSEEN and not flags & RST:
                reach[side] = seqs[row]
            if flags & ACK and not flags & RST:
                ahead = apart(acks[row], acked[1 - side])
                if acked[1 - side] == UNSEEN or ahead > 0 or ahead < -CLOSE_BY:
                    acked[1 - side] = acks[row]
    return found


@inline
def heard_of(row: Int, reach: Int, heard: Int, rows: Rows) -> bool:
    """Whether an earlier capture has acknowledgements of what the first packet of a direction in a later one brings."""
    flags = np.int64(rows.flags[row])
    if heard == UNSEEN or flags & RST:
        return False
    size, ahead = size_of(flags, rows.wire[row]), apart(heard, rows.seq[row])
    least = 1 if size == 0 else 0  # a keep-alive stands one before what is next
    return bool(least < ahead < CLOSE_BY and (size == 0 or brings(reach, rows.seq[row], size)))


@inline
def goes_on(first: I64, reach: I64, heard: I64, behind: bool, rows: Rows) -> bool:
    """Whether a capture's `first` rows of each direction have no number from before those of others; `behind`: where the clock stepped."""
    for side in range(2):
        row = first[side]
        if row == UNSEEN:
            continue
        if reach[side] != UNSEEN and sent_before(rows.seq[row], rows.ack[row], reach[side], heard[side]):
            return False
        if behind and heard_of(row, reach[side], heard[1 - side], rows):
            return False
    return True


@allocating
def sequences(begin: Int, end: Int, rows: Rows) -> tuple[I64, Int]:
    """Per row of a flow the sequence of captures that it belongs to, and how many there are; -1 for what is no segment.

    A capture follows those of a sequence if neither its times nor its numbers begin before theirs end, or a clock stepped between.
    """
    capture, ts_ns, forward, seqs, acks, flag_bits, wire, clocks = rows
    found = np.full(end - begin, -1, np.int64)
    last, reach, first = np.empty(LINES, np.int64), np.full((LINES, 2), UNSEEN, np.int64), np.full(2, UNSEEN, np.int64)
    heard, clock = np.full((LINES, 2), UNSEEN, np.int64), np.full(LINES, SAME_CLOCK, np.int64)
    count, row = 0, begin
    while row < end and capture[row] < 0:
        row += 1
    while row < end:
        stop, earliest, latest = row, ts_ns[row], ts_ns[row]
        first[:] = UNSEEN
        while stop < end and capture[stop] == capture[row]:
            side = 0 if forward[stop] else 1
            if first[side] == UNSEEN:
                first[side] = stop
            earliest, latest = min(earliest, ts_ns[stop]), max(latest, ts_ns[stop])
            stop += 1
        line = 0
        while line < count:
            behind = stepped(clock[line], clocks[capture[row]])
            if (behind or earliest >= last[line]) and goes_on(first, reach[line], heard[line], behind, rows):
                break
            line += 1
        if line == count:
            if count < LINES:
                count += 1
            else:
                line = LINES - 1
        last[line], clock[line] = latest, clocks[capture[row]]
        for at in range(row, stop):
            found[at - begin] = line
            side = 0 if forward[at] else 1
            size = size_of(np.int64(flag_bits[at]), wire[at])
            ahead = apart(seqs[at] + size, reach[line, side])
            if reach[line, side] == UNSEEN or ahead > 0 or ahead < -CLOSE_BY:
                reach[line, side] = (seqs[at] + size) & 0xFFFFFFFF
            if flag_bits[at] & ACK:
                heard[line, side] = acks[at]
        row = stop
    return found, count
