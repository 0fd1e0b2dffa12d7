"""From positions to streams: which octets of which segments make up each side of a connection, as far as it is final."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I32, I64, U8
from stompcap.kernel import allocating, callee
from stompcap.tcp import finality as t
from stompcap.tcp import state as s
from stompcap.tcp.copies import COPY_NS
from stompcap.tcp.idle import RECENT
from stompcap.tcp.interleave import BlockSegments, Laid, interleave
from stompcap.tcp.layout import ABSURD_GAP, BEGIN, CAPTURED, CUT_OFF, END, PIECE_ROW, SORT, as_they_come, in_order, swept
from stompcap.tcp.state import State

MID_STREAM_WINDOW = 1 << 20  # how far before its first captured segment a stream without a captured SYN may begin
NO_END = 1 << 62


@allocating
def put(rows: I64, count: Int, stream: Int, side: Int, offset: Int, length: Int, row: Int, skip: Int, wire_order: Int) -> I64:
    """Append one row, doubling the array where it is full; returns the array."""
    if count == len(rows):
        more = np.empty((2 * count + 16, 7), np.int64)
        more[:count] = rows
        rows = more
    rows[count, 0], rows[count, 1], rows[count, 2] = stream, side, offset
    rows[count, 3], rows[count, 4], rows[count, 5], rows[count, 6] = length, row, skip, wire_order
    return rows


@allocating
def grouped(stream_of: I32, forward: U8, marks: U8, wire: I64, streams: Int) -> tuple[I64, I64]:
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


@callee
def bounds(state: State, tally: I64, stream: Int, side: Int, rows: I64, position: I64) -> tuple[Int, Int]:
    """Where a side's stream begins, and where it must end; notes in the state whether it is the true beginning."""
    at = s.SIDES + side * s.WIDTH
    if tally[t.BASED]:
        base = tally[t.BASE]
    else:
        base = state[stream, at + s.START] if state[stream, at + s.SYNCED] else state[stream, at + s.FIRST_DATA]
        tally[t.SYNCED] = state[stream, at + s.SYNCED]
        if not tally[t.SYNCED]:
            for row in rows:
                if base - MID_STREAM_WINDOW <= position[row] < base:
                    base = position[row]
    end = state[stream, at + s.FIN_AT] if state[stream, at + s.FIN_SEEN] else np.int64(NO_END)
    return base, end


@callee
def length_known(state: State, stream: Int, side: Int, base: Int, end: Int, fin: Int) -> Int:
    """Where a side's stream ends: by its FIN, its octets, or what was acknowledged or sent beyond them."""
    at = s.SIDES + side * s.WIDTH
    if state[stream, at + s.FIN_SEEN]:
        return max(end, fin) if fin - end <= ABSURD_GAP else end
    if end == base and not state[stream, at + s.SYNCED]:
        return end
    beyond = state[stream, at + s.SENT]
    if state[stream, at + s.ACK_SEEN]:
        beyond = max(beyond, state[stream, at + s.ACKED])
    return beyond if end + 1 < beyond <= end + ABSURD_GAP else end  # one more may be a FIN that was not captured


@callee
def plausible(state: State, stream: Int, side: Int, pieces: I64, number: I64, low: Int) -> tuple[Int, Int]:
    """How many pieces are plausible, and where they end: not beyond a gap too large to be true that acknowledgements contradict."""
    at = s.SIDES + side * s.WIDTH
    acked = state[stream, at + s.ACKED] if state[stream, at + s.ACK_SEEN] else np.int64(NO_END)
    end = low
    for p in range(len(pieces)):
        begin = pieces[p, BEGIN]
        if begin - end > ABSURD_GAP and acked < begin and number[pieces[p, PIECE_ROW]] < state[stream, at + s.ACK_ROW]:
            return p, end
        end = pieces[p, END]
    return len(pieces), end


@callee
def count_segments(tally: I64, rows: I64, held: Int, position: I64, marks: U8, wire: I64, number: I64, base: Int, limit: Int) -> None:
    """Count the segments that came now."""
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        if row < held:
            break
        tally[t.NEWEST] = max(tally[t.NEWEST], number[row] + 1)
        if not marks[row] & s.COPY:
            outside = position[row] + wire[row] <= base or position[row] >= limit
            tally[t.STRAY if outside else t.SEGMENTS] += 1
            tally[t.STRAYED] += wire[row] if outside else 0


@callee
def count_late(
    tally: I64,
    rows: I64,
    held: Int,
    position: I64,
    marks: U8,
    captured: I64,
    ts_ns: I64,
    late: U8,
) -> None:
    """Count octets that came after they were final; marks those that cannot be copies."""
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        if row < held:
            break
        octets = min(position[row] + captured[row], tally[t.CUT]) - max(position[row], tally[t.BASE])
        if octets > 0 and not marks[row] & s.COPY:
            tally[t.AGAIN] += octets
            late[row] = ts_ns[row] > tally[t.FINAL_NS] + COPY_NS


class Side(NamedTuple):
    """One side of a connection: where its stream begins, and up to where it is final now."""

    stream: Int
    side: Int
    base: Int
    cut: Int


@allocating
def put_extents(extents: I64, n: Int, of: Side, pieces: I64, wire_orders: I64, tally: I64, position: I64, marks: U8) -> tuple[I64, Int]:
    """Append the pieces that are final, and count their octets; returns the extents and how many there are now."""
    for p in range(len(pieces)):
        row, begin, length = pieces[p, PIECE_ROW], pieces[p, BEGIN], pieces[p, END] - pieces[p, BEGIN]
        if begin >= of.cut:
            break
        if pieces[p, SORT] == CUT_OFF:
            tally[t.TRUNCATED] += length
            continue
        tally[t.HAVE] += length
        extents = put(extents, n, of.stream, of.side, begin - of.base, length, row, begin - position[row], wire_orders[p])
        n += 1
        if marks[row] & s.BEHIND and not marks[row] & s.COUNTED:
            tally[t.OUT_OF_ORDER] += 1
            marks[row] |= np.uint8(s.COUNTED)
    return extents, n


@allocating
def put_overlaps(overlaps: I64, n: Int, of: Side, losses: I64, tally: I64, position: I64) -> tuple[I64, Int]:
    """Append the final octets that lost to other segments, as `put_extents`."""
    for p in range(len(losses)):
        row, begin, end = losses[p, PIECE_ROW], losses[p, BEGIN], min(losses[p, END], of.cut)
        if losses[p, SORT] == CUT_OFF or begin >= end:
            continue
        if losses[p, SORT] == CAPTURED:
            tally[t.AGAIN] += end - begin
        overlaps = put(overlaps, n, of.stream, of.side, begin - of.base, end - begin, row, begin - position[row], 0)
        n += 1
    return overlaps, n


@allocating
def lay_out(
    state: State, tally: I64, stream: Int, side: Int, mine: I64, held: Int, segments: BlockSegments, block: t.Block, done: bool
) -> Laid:
    """Lay out one side, and say up to where it is final as far as its own octets tell."""
    ts_ns, position, marks, wire, captured, number, _, _, _, late = segments
    edge_before, reach_before = tally[t.EDGE], tally[t.REACH]
    base, limit = bounds(state, tally, stream, side, mine, position)
    low = max(base, tally[t.CUT])
    if len(mine) == 0 and not done:
        none, cut = np.empty((0, 4), np.int64), tally[t.CUT]
        return Laid(tally, mine, none, none, np.int64(0), tally[t.BASE], cut, limit, low, cut, cut, False, edge_before, reach_before)
    count_segments(tally, mine, held, position, marks, wire, number, base, limit)
    if tally[t.BASED]:
        count_late(tally, mine, held, position, marks, captured, ts_ns, late)
    if in_order(mine, position, wire, marks, low, limit):
        pieces, losses = as_they_come(mine, position, wire, captured)
    else:
        pieces, losses = swept(mine, position, wire, captured, marks, low, limit, block.last_wins)
    believed, reach = plausible(state, stream, side, pieces, number, low)
    edge = t.edge_from(pieces, believed, low)
    ended = s.closed(state, stream) or stream < len(state) - 1
    quiet = bool(block.full and len(mine) > 0 and tally[t.NEWEST] <= block.begin and ended)
    if done or quiet:
        cut = reach
        tally[t.STRAY] += len(pieces) - believed
        for p in range(believed, len(pieces)):
            tally[t.STRAYED] += pieces[p, END] - pieces[p, BEGIN]
    elif block.full:
        cut = t.final_until(tally, pieces, believed, low, reach, t.came_behind(mine, number, block.begin, position, edge, reach))
    else:
        at = s.SIDES + side * s.WIDTH
        heard = not block.last_wins and state[stream, at + s.ACK_SEEN]
        cut = t.acknowledged(pieces, believed, position, wire, low, state[stream, at + s.ACKED]) if heard else np.int64(low)
    return Laid(tally, mine, pieces, losses, np.int64(believed), base, low, limit, edge, reach, cut, quiet, edge_before, reach_before)


@allocating
def hand_on(
    state: State, stream: Int, held: Int, sides: tuple[Laid, Laid], segments: BlockSegments, block: t.Block, done: bool, extents: I64,
    n: Int, overlaps: I64, lost: Int,
) -> tuple[I64, Int, I64, Int]:  # fmt: skip
    """Number both sides in wire order, and append what is final of them."""
    _, position, marks, wire, _, _, _, born, keep, _ = segments
    wire_orders, cuts = interleave(state, stream, sides, segments, block, done)
    for side in range(2):
        one = sides[side]
        tally, cut = one.tally, cuts[side]
        if len(one.mine) == 0 and not done:
            continue
        of = Side(stream, side, one.base, cut)
        extents, n = put_extents(extents, n, of, one.pieces[: one.believed], wire_orders[side], tally, position, marks)
        overlaps, lost = put_overlaps(overlaps, lost, of, one.losses, tally, position)
        if done:
            tally[t.OCTETS] = length_known(state, stream, side, one.base, one.reach, one.limit) - one.base
            continue
        if cut > one.low or tally[t.BASED] or one.quiet:
            tally[t.BASED], tally[t.BASE], tally[t.CUT], tally[t.OCTETS] = 1, one.base, cut, cut - one.base
            tally[t.FINAL_NS] = state[stream, s.LAST_NS]
            state[stream, s.HANDED_ON] = 1
        if block.full and cut < one.cut:
            tally[t.EDGE], tally[t.REACH] = one.edge_before, one.reach_before  # as it was: it is examined again
        if not one.quiet:
            t.keep_open(tally, one.mine, held, position, wire, marks, born, keep, block)
    return extents, n, overlaps, lost


@allocating
def order(state: State, tallies: I64, starts: I64, rows: I64, held: Int, segments: BlockSegments, block: t.Block) -> tuple[I64, I64]:
    """Extents and overlaps of all sides, up to where each is final: to its end if the block is `final`.

    `extents` and `overlaps` have a row each of stream, side, offset, length, row, octets of the segment's payload
    to skip, and the number in wire order; extents are sorted and do not overlap. `tallies` has a row per side (2 * stream + side) and is
    carried on, as are the rows marked in `keep`; the first `held` rows were kept before. `late` marks segments that brought octets again
    that were final.
    """
    streams = len(state)
    extents, overlaps = np.empty((len(rows) + 16, 7), np.int64), np.empty((16, 7), np.int64)
    n = lost = np.int64(0)
    for stream in range(streams):
        done = bool(block.final or stream < streams - RECENT)
        first, middle, end = starts[2 * stream], starts[2 * stream + 1], starts[2 * stream + 2]
        if first == end and not done:
            continue
        low = lay_out(state, tallies[2 * stream], stream, 0, rows[first:middle], held, segments, block, done)
        high = lay_out(state, tallies[2 * stream + 1], stream, 1, rows[middle:end], held, segments, block, done)
        extents, n, overlaps, lost = hand_on(state, stream, held, (low, high), segments, block, done, extents, n, overlaps, lost)
    return extents[:n], overlaps[:lost]
