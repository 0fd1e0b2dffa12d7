"""From positions to streams: which octets of which segments make up each side of a connection.

Sides whose segments lie in order are taken as they come; any other side is swept by offset, the candidates for an octet
in a heap by priority: the first to arrive wins, or the last, by policy. The result depends on what was captured, not on
how it was cut into segments, so a side's stream is the same in any order of arrival.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stompcap.capture.integers import Int
from stompcap.kernel import kernel
from stompcap.tcp import assign as a

Int64s = NDArray[np.int64]

ABSURD_GAP = 1 << 26  # a larger hole, what lies behind it not acknowledged by any later acknowledgement: forged
MID_STREAM_WINDOW = 1 << 20  # how far before the first segment seen a stream may begin whose SYN was not

# columns of an extent or overlap
STREAM, SIDE, OFFSET, LENGTH, ROW, SKIP = 0, 1, 2, 3, 4, 5
# columns of a side's tallies
OCTETS, SEGMENTS, AGAIN, OUT_OF_ORDER, GAP, TRUNCATED, STRAY, SYNCED, BASE = 0, 1, 2, 3, 4, 5, 6, 7, 8
TALLIES = 9


@kernel
def put(rows: NDArray[np.int64], count: Int, stream: Int, side: Int, offset: Int, length: Int, row: Int, skip: Int) -> NDArray[np.int64]:
    """Append one row, doubling the room where it is full; returns where the rows are now."""
    if count == len(rows):
        more = np.empty((2 * count + 16, 6), np.int64)
        for i in range(count):
            for k in range(6):
                more[i, k] = rows[i, k]
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
        if wire[row] > 0 and not marks[row] & (a.STRAY | a.PROBE):
            starts[2 * stream_of[row] + (0 if forward[row] else 1) + 1] += 1
    for i in range(2 * streams):
        starts[i + 1] += starts[i]
    rows, fill = np.empty(starts[2 * streams], np.int64), starts.copy()
    for row in range(len(stream_of)):
        if wire[row] > 0 and not marks[row] & (a.STRAY | a.PROBE):
            group = 2 * stream_of[row] + (0 if forward[row] else 1)
            rows[fill[group]] = row
            fill[group] += 1
    return starts, rows


@kernel
def bounds(state: NDArray[np.int64], stream: Int, side: Int, rows: Int64s, position: Int64s, wire: Int64s) -> tuple[Int, Int, bool]:
    """Where a side's stream begins, where it must end, and whether its beginning is known."""
    at = a.SIDES + side * a.WIDTH
    synced = state[stream, at + a.SYNCED] != 0
    if synced:
        base = state[stream, at + a.START]
    else:
        base = state[stream, at + a.FIRST_DATA]
        for row in rows:
            if base - MID_STREAM_WINDOW <= position[row] < base:
                base = position[row]
    end = state[stream, at + a.FIN_AT] if state[stream, at + a.FIN_SEEN] else np.int64(1) << 62
    return base, end, synced


@kernel
def length_known(state: NDArray[np.int64], stream: Int, side: Int, base: Int, end: Int, fin: Int) -> Int:
    """Where a side's stream ends: its FIN says, or its octets, or what was acknowledged or sent beyond them."""
    at = a.SIDES + side * a.WIDTH
    if state[stream, at + a.FIN_SEEN]:
        return max(end, fin) if fin - end <= ABSURD_GAP else end
    if end == base and not state[stream, at + a.SYNCED]:
        return end
    beyond = state[stream, at + a.SENT]
    if state[stream, at + a.ACK_SEEN]:
        beyond = max(beyond, state[stream, at + a.ACKED])
    return beyond if end + 1 < beyond <= end + ABSURD_GAP else end  # one more may stand for a FIN that was not captured


@kernel
def higher(heap: Int64s, i: Int, j: Int, priority: Int64s) -> bool:
    """Heap order of two entries."""
    return bool(priority[heap[i]] < priority[heap[j]])


@kernel
def push(heap: Int64s, size: Int, item: Int, priority: Int64s) -> None:
    """Add an item to a binary heap of `size` items."""
    heap[size] = item
    i = size
    while i > 0 and higher(heap, i, (i - 1) >> 1, priority):
        heap[i], heap[(i - 1) >> 1] = heap[(i - 1) >> 1], heap[i]
        i = (i - 1) >> 1


@kernel
def pop(heap: Int64s, size: Int, priority: Int64s) -> None:
    """Remove the first item of a binary heap of `size` items."""
    heap[0] = heap[size - 1]
    size -= 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and higher(heap, child + 1, child, priority):
            child += 1
        if not higher(heap, child, i, priority):
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@kernel
def sweep(begins: Int64s, ends: Int64s, priority: Int64s) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who has each octet of overlapping items: (pieces, losses), rows of item, begin, end.

    Pieces come by offset and do not overlap; an item has an octet if no item of smaller priority covers it. Losses
    are what an item covers and does not have.
    """
    count = len(begins)
    by_begin = np.argsort(begins, kind="mergesort")
    pieces, losses = np.empty((2 * count, 3), np.int64), np.empty((3 * count, 3), np.int64)
    heap, done = np.empty(count, np.int64), begins.copy()
    size = next_item = n = lost = np.int64(0)
    at = np.int64(0)
    while size or next_item < count:
        if size == 0:
            at = begins[by_begin[next_item]]
        while next_item < count and begins[by_begin[next_item]] <= at:
            push(heap, size, by_begin[next_item], priority)
            size += 1
            next_item += 1
        while size and ends[heap[0]] <= at:
            pop(heap, size, priority)
            size -= 1
        if size == 0:
            continue
        item = heap[0]
        to = ends[item]
        if next_item < count:
            to = min(to, begins[by_begin[next_item]])
        if done[item] < at:
            losses[lost, 0], losses[lost, 1], losses[lost, 2] = item, done[item], at
            lost += 1
        if n and pieces[n - 1, 0] == item and pieces[n - 1, 2] == at:
            pieces[n - 1, 2] = to
        else:
            pieces[n, 0], pieces[n, 1], pieces[n, 2] = item, at, to
            n += 1
        done[item] = at = to
    for item in range(count):
        if done[item] < ends[item]:
            losses[lost, 0], losses[lost, 1], losses[lost, 2] = item, done[item], ends[item]
            lost += 1
    return pieces[:n], losses[:lost]


@kernel
def order(
    state: NDArray[np.int64],
    starts: Int64s,
    rows: Int64s,
    position: Int64s,
    marks: NDArray[np.uint8],
    wire: Int64s,
    captured: Int64s,
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
        base, limit, synced = bounds(state, stream, side, mine, position, wire)
        tally = tallies[group]
        tally[STRAY] = state[stream, a.SIDES + side * a.WIDTH + a.STRAYS]
        tally[SYNCED], tally[BASE] = synced, base
        acked = (
            state[stream, a.SIDES + side * a.WIDTH + a.ACKED] if state[stream, a.SIDES + side * a.WIDTH + a.ACK_SEEN] else np.int64(1) << 62
        )
        last_ack = state[stream, a.SIDES + side * a.WIDTH + a.ACK_ROW]
        in_order, at = True, base
        for row in mine:
            if position[row] < at or position[row] + wire[row] > limit or position[row] - at > ABSURD_GAP:
                in_order = False
                break
            at = position[row] + wire[row]
        have = truncated = np.int64(0)
        if in_order:
            for row in mine:
                if captured[row] > 0:
                    extents = put(extents, n, stream, side, position[row] - base, captured[row], row, 0)
                    n += 1
                have += captured[row]
                truncated += wire[row] - captured[row]
            tally[SEGMENTS] = len(mine)
        else:
            # items: the captured part of each segment, then the truncated tails, which any captured octet beats
            begins, ends = np.empty(2 * len(mine), np.int64), np.empty(2 * len(mine), np.int64)
            priority, owner = np.empty(2 * len(mine), np.int64), np.empty(2 * len(mine), np.int64)
            items = 0
            for tail in range(2):
                for i in range(len(mine)):
                    row = mine[i]
                    begin = position[row] + captured[row] if tail else position[row]
                    end = position[row] + (wire[row] if tail else captured[row])
                    begin, end = max(begin, base), min(end, limit)
                    if not tail and (position[row] + wire[row] <= base or position[row] >= limit):
                        tally[STRAY] += 1
                    elif not tail:
                        tally[SEGMENTS] += 1
                    if begin < end:
                        begins[items], ends[items], owner[items] = begin, end, row
                        priority[items] = (1 << 40 if tail else 0) + (-i if last_wins else i)
                        items += 1
            pieces, losses = sweep(begins[:items], ends[:items], priority[:items])
            at = base
            for p in range(len(pieces)):
                item, begin, end = pieces[p, 0], pieces[p, 1], pieces[p, 2]
                if begin - at > ABSURD_GAP and acked < begin and owner[item] < last_ack:
                    tally[STRAY] += len(pieces) - p
                    break
                at = end
                row = owner[item]
                if priority[item] >= 1 << 39:
                    truncated += end - begin
                    continue
                have += end - begin
                extents = put(extents, n, stream, side, begin - base, end - begin, row, begin - position[row])
                n += 1
                if marks[row] & a.BEHIND:
                    tally[OUT_OF_ORDER] += 1
                    marks[row] &= ~np.uint8(a.BEHIND)  # counted
            for p in range(len(losses)):
                item, begin, end = losses[p, 0], losses[p, 1], losses[p, 2]
                if priority[item] < 1 << 39:
                    tally[AGAIN] += end - begin
                    overlaps = put(
                        overlaps,
                        lost,
                        stream,
                        side,
                        begin - base,
                        end - begin,
                        owner[item],
                        begin - position[owner[item]],
                    )
                    lost += 1
        end = length_known(state, stream, side, base, max(at, base), limit)
        tally[OCTETS] = end - base
        tally[TRUNCATED] = truncated
        tally[GAP] = tally[OCTETS] - have
    return extents[:n], overlaps[:lost], tallies
