"""From positions to streams: which octets of which segments make up each side of a connection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.integers import Int
from stompcap.kernel import kernel
from stompcap.tcp import state as s
from stompcap.tcp.layout import ABSURD_GAP, BEGIN, CAPTURED, CUT_OFF, END, PIECE_ROW, SORT, as_they_come, in_order, swept
from stompcap.tcp.state import Int64s, State

MID_STREAM_WINDOW = 1 << 20  # how far before the first segment seen a stream may begin whose SYN was not
NO_END = 1 << 62

# columns of a side's tallies
OCTETS, SEGMENTS, AGAIN, OUT_OF_ORDER, GAP, TRUNCATED, STRAY, SYNCED, HAVE = 0, 1, 2, 3, 4, 5, 6, 7, 8
TALLIES = 9


@kernel
def put(rows: NDArray[np.int64], count: Int, stream: Int, side: Int, offset: Int, length: Int, row: Int, skip: Int) -> NDArray[np.int64]:
    """Append one row, doubling the room where it is full; returns where the rows are now."""
    if count == len(rows):
        more = np.empty((2 * count + 16, 6), np.int64)
        more[:count] = rows
        rows = more
    rows[count, 0], rows[count, 1], rows[count, 2] = stream, side, offset
    rows[count, 3], rows[count, 4], rows[count, 5] = length, row, skip
    return rows


@kernel
def grouped(
    stream_of: NDArray[np.int32], forward: NDArray[np.uint8], marks: NDArray[np.uint8], wire: Int64s, streams: Int
) -> tuple[Int64s, Int64s]:
    """The rows that carry octets, by side of a connection, in wire order: (start of each side in `rows`, rows)."""
    starts = np.zeros(2 * streams + 1, np.int64)
    for row in range(len(stream_of)):
        if wire[row] > 0 and not marks[row] & (s.STRAY | s.PROBE):
            starts[2 * stream_of[row] + (0 if forward[row] else 1) + 1] += 1
    for i in range(2 * streams):
        starts[i + 1] += starts[i]
    rows, fill = np.empty(starts[2 * streams], np.int64), starts.copy()
    for row in range(len(stream_of)):
        if wire[row] > 0 and not marks[row] & (s.STRAY | s.PROBE):
            group = 2 * stream_of[row] + (0 if forward[row] else 1)
            rows[fill[group]] = row
            fill[group] += 1
    return starts, rows


@kernel
def bounds(state: State, stream: Int, side: Int, rows: Int64s, position: Int64s) -> tuple[Int, Int, bool]:
    """Where a side's stream begins, where it must end, and whether its beginning is known."""
    at = s.SIDES + side * s.WIDTH
    synced = state[stream, at + s.SYNCED] != 0
    if synced:
        base = state[stream, at + s.START]
    else:
        base = state[stream, at + s.FIRST_DATA]
        for row in rows:
            if base - MID_STREAM_WINDOW <= position[row] < base:
                base = position[row]
    end = state[stream, at + s.FIN_AT] if state[stream, at + s.FIN_SEEN] else np.int64(NO_END)
    return base, end, synced


@kernel
def length_known(state: State, stream: Int, side: Int, base: Int, end: Int, fin: Int) -> Int:
    """Where a side's stream ends: its FIN says, or its octets, or what was acknowledged or sent beyond them."""
    at = s.SIDES + side * s.WIDTH
    if state[stream, at + s.FIN_SEEN]:
        return max(end, fin) if fin - end <= ABSURD_GAP else end
    if end == base and not state[stream, at + s.SYNCED]:
        return end
    beyond = state[stream, at + s.SENT]
    if state[stream, at + s.ACK_SEEN]:
        beyond = max(beyond, state[stream, at + s.ACKED])
    return beyond if end + 1 < beyond <= end + ABSURD_GAP else end  # one more may stand for a FIN that was not captured


@kernel
def plausible(state: State, stream: Int, side: Int, pieces: Int64s, number: Int64s, low: Int) -> tuple[Int, Int]:
    """How many pieces may be believed, and where they end: not beyond an absurd gap that acknowledgements deny."""
    at = s.SIDES + side * s.WIDTH
    acked = state[stream, at + s.ACKED] if state[stream, at + s.ACK_SEEN] else np.int64(NO_END)
    end = low
    for p in range(len(pieces)):
        begin = pieces[p, BEGIN]
        if begin - end > ABSURD_GAP and acked < begin and number[pieces[p, PIECE_ROW]] < state[stream, at + s.ACK_ROW]:
            return p, end
        end = pieces[p, END]
    return len(pieces), end


@kernel
def order(
    state: State,
    starts: Int64s,
    rows: Int64s,
    position: Int64s,
    marks: NDArray[np.uint8],
    wire: Int64s,
    captured: Int64s,
    number: Int64s,
    last_wins: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Extents, overlaps and tallies of all sides.

    `extents` and `overlaps` have a row each of stream, side, offset, length, row, octets of the segment's payload
    to skip; extents are sorted and don't overlap; `tallies` has a row per side (2 * stream + side).
    """
    streams = len(state)
    extents, overlaps = np.empty((len(rows) + 16, 6), np.int64), np.empty((16, 6), np.int64)
    tallies = np.zeros((2 * streams, TALLIES), np.int64)
    n = lost = np.int64(0)
    for group in range(2 * streams):
        stream, side = group >> 1, group & 1
        mine = rows[starts[group] : starts[group + 1]]
        base, limit, synced = bounds(state, stream, side, mine, position)
        tally = tallies[group]
        tally[SYNCED] = synced
        for row in mine:
            if marks[row] & s.COPY:
                continue
            outside = position[row] + wire[row] <= base or position[row] >= limit
            tally[STRAY if outside else SEGMENTS] += 1
        if in_order(mine, position, wire, marks, base, limit):
            pieces, losses = as_they_come(mine, position, wire, captured)
        else:
            pieces, losses = swept(mine, position, wire, captured, marks, base, limit, last_wins)
        believed, end = plausible(state, stream, side, pieces, number, base)
        tally[STRAY] += len(pieces) - believed + state[stream, s.SIDES + side * s.WIDTH + s.STRAYS]
        for p in range(believed):
            row, begin, length = pieces[p, PIECE_ROW], pieces[p, BEGIN], pieces[p, END] - pieces[p, BEGIN]
            if pieces[p, SORT] == CUT_OFF:
                tally[TRUNCATED] += length
                continue
            tally[HAVE] += length
            extents = put(extents, n, stream, side, begin - base, length, row, begin - position[row])
            n += 1
            if marks[row] & s.BEHIND:
                tally[OUT_OF_ORDER] += 1
                marks[row] &= ~np.uint8(s.BEHIND)  # counted
        for p in range(len(losses)):
            row, begin, length = losses[p, PIECE_ROW], losses[p, BEGIN], losses[p, END] - losses[p, BEGIN]
            if losses[p, SORT] == CUT_OFF:
                continue
            if losses[p, SORT] == CAPTURED:
                tally[AGAIN] += length
            overlaps = put(overlaps, lost, stream, side, begin - base, length, row, begin - position[row])
            lost += 1
        tally[OCTETS] = length_known(state, stream, side, base, end, limit) - base
        tally[GAP] = tally[OCTETS] - tally[HAVE]
    return extents[:n], overlaps[:lost], tallies
