"""Both directions of a connection in one order: the wire order of its octets.

Inside a direction octets stand in the order of the stream. Every segment with octets says how many of the other direction its sender
had received, and these stand before it; that number never falls along a direction. A segment that was captured behind octets that follow
its own may be sent again, with a newer number, so the number of what follows bounds its own. Where two segments acknowledge each other,
the later one is such a copy too, and what was acknowledged comes first. Where neither acknowledges the other they crossed, and stand as
their packets were captured (stompcap.tcp.merging). A FIN or RST stands behind all octets of its own direction, and those of the other
whose packets were captured before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I64, U8
from stompcap.kernel import allocating, inline
from stompcap.tcp import finality as t
from stompcap.tcp import state as s
from stompcap.tcp.layout import BEGIN, CUT_OFF, PIECE_ROW, SORT
from stompcap.tcp.state import State

WAITS = 2  # blocks; what the other direction holds up for so long is ordered all the same


class BlockSegments(NamedTuple):
    """Columns of a block's segments, those kept from earlier blocks first; `keep` and `late` are filled."""

    ts_ns: I64
    position: I64
    marks: U8
    wire: I64
    captured: I64
    number: I64
    heard: I64
    born: I64
    keep: U8
    late: U8


class Laid(NamedTuple):
    """One side of a connection, laid out: its rows, its pieces by position, of which so many are believed, and up to where it is final.

    `edge` is how far they go on without a hole, `reach` how far they go at all.
    """

    tally: I64
    mine: I64
    pieces: I64
    losses: I64
    believed: Int
    base: Int
    low: Int
    limit: Int
    edge: Int
    reach: Int
    cut: Int
    quiet: bool
    edge_before: Int
    reach_before: Int


@allocating
def heard_along(pieces: I64, believed: Int, heard: I64, marks: U8) -> I64:
    """Per piece how much of the other direction its sender had received."""
    found = np.empty(believed, np.int64)
    for p in range(believed - 1, -1, -1):
        row = pieces[p, PIECE_ROW]
        found[p] = heard[row]
        if marks[row] & s.BEHIND and p + 1 < believed:
            found[p] = min(found[p], found[p + 1])
    return found


@inline
def comes_first(low: I64, high: I64, low_heard: Int, high_heard: Int, number: I64) -> bool:
    """Whether the next piece of the low endpoint stands before that of the high one."""
    waits, holds_back = high[BEGIN] < low_heard, low[BEGIN] < high_heard
    if waits != holds_back:
        return bool(holds_back)
    return bool((number[low[PIECE_ROW]] < number[high[PIECE_ROW]]) != waits)


@inline
def has_arrived(state: State, stream: Int, other: Laid, side: Int, heard: Int) -> bool:
    """Whether all octets of the other side are here that a sender had received up to `heard`; none was captured before its first."""
    return bool(min(heard, other.limit) <= other.edge or not state[stream, s.SIDES + side * s.WIDTH + s.DATA_SEEN])


@allocating
def interleave(
    state: State, stream: Int, sides: tuple[Laid, Laid], segments: BlockSegments, block: t.Block, done: bool
) -> tuple[tuple[I64, I64], I64]:
    """Number the pieces of both sides in wire order, behind those before; also returns how far each side is numbered, thus final.

    A piece gets its number only when all that may stand before it is final, unless it has waited for that too long. Between blocks it
    waits for all octets that its sender had received.
    """
    ts_ns, _, marks, _, _, number, heard, born, _, _ = segments
    wire_orders = (np.zeros(sides[0].believed, np.int64), np.zeros(sides[1].believed, np.int64))
    along = (
        heard_along(sides[0].pieces, sides[0].believed, heard, marks), heard_along(sides[1].pieces, sides[1].believed, heard, marks),
    )  # fmt: skip
    at, received = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for side in range(2):
        received[side] = state[stream, s.SIDES + side * s.WIDTH + s.HEARD]
    last, last_side, last_begin, last_ns = np.int64(-1), state[stream, s.PLACED] - 1, state[stream, s.PLACED_AT], state[stream, s.PLACED_NS]
    while at[0] < sides[0].believed or at[1] < sides[1].believed:
        side = 0 if at[1] == sides[1].believed else 1
        if at[0] < sides[0].believed and at[1] < sides[1].believed:
            low_heard, high_heard = max(received[0], along[0][at[0]]), max(received[1], along[1][at[1]])
            side = 0 if comes_first(sides[0].pieces[at[0]], sides[1].pieces[at[1]], low_heard, high_heard, number) else 1
        if not done and sides[side].pieces[at[side], BEGIN] >= sides[side].cut:
            side = 1 - side
            if not block.full or at[side] == sides[side].believed or sides[side].pieces[at[side], BEGIN] >= sides[side].cut:
                break
            row = sides[side].pieces[at[side], PIECE_ROW]
            if not sides[side].quiet and (number[row] >= block.begin or sides[side].tally[t.BLOCKS] - born[row] < WAITS):
                break
        p = at[side]
        if not (done or block.full) and not has_arrived(state, stream, sides[1 - side], 1 - side, along[side][p]):
            break
        row, begin = sides[side].pieces[p, PIECE_ROW], sides[side].pieces[p, BEGIN]
        received[side] = max(received[side], along[side][p])
        at[side] += 1
        if sides[side].pieces[p, SORT] == CUT_OFF:
            continue
        if row != last:
            state[stream, s.ORDERED] += 1
            if last_side == 1 - side and last_begin < received[side] and ts_ns[row] < last_ns:
                state[stream, s.AGAINST] += 1
        wire_orders[side][p] = state[stream, s.ORDERED]
        for closer in range(2):
            at_close = s.SIDES + closer * s.WIDTH
            if side == closer or number[row] < state[stream, at_close + s.CLOSE_NUMBER]:
                state[stream, at_close + s.CLOSE_ORDER] = state[stream, s.ORDERED]
        last, last_side, last_begin, last_ns = row, side, begin, ts_ns[row]
    state[stream, s.PLACED], state[stream, s.PLACED_AT], state[stream, s.PLACED_NS] = last_side + 1, last_begin, last_ns
    cuts = np.empty(2, np.int64)
    for side in range(2):
        state[stream, s.SIDES + side * s.WIDTH + s.HEARD] = received[side]
        cuts[side] = sides[side].cut
        if not done and at[side] < sides[side].believed and sides[side].pieces[at[side], BEGIN] < cuts[side]:
            cuts[side] = sides[side].pieces[at[side], BEGIN]
    return wire_orders, cuts
