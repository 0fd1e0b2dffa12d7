"""Decides when octets are final, and are handed on, before a connection has ended.

A connection may carry everything in a capture, so its state must not grow with it. Each side is examined once per block, a fixed
number of packets of the flow that is far more than any TCP window:
- Octets that had no hole before them a block ago are final, as their first copy, or their last, has arrived by now.
- If a block fills none of the first hole although octets behind it arrive, the hole stays a gap, and all that arrived until a block ago
  is final.
- Octets that wait behind a hole for four blocks, while the stream goes on before it, were never sent by this side: they are strays.
- Copies of final octets are retransmissions.

Only packets of the flow are counted, so how the input is cut changes nothing. A flow of one block or less is final at its end.

Between two blocks, octets are final as soon as they are captured without a hole before them and the receiver has acknowledged them. With
`--overlap first` no later segment can change these.
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.capture.integers import Int
from stompcap.columns import I64, U8
from stompcap.kernel import callee
from stompcap.tcp.layout import BEGIN, CUT_OFF, END, PIECE_ROW, SORT
from stompcap.tcp.state import COPY

BLOCK = 1 << 13  # packets of a flow: with full segments and their acknowledgements more than Linux offers as a window by default, 6 MiB
PATIENCE = 4  # blocks that octets may wait behind a hole that others fill

# columns of a side's tallies: its counters
OCTETS, SEGMENTS, AGAIN, OUT_OF_ORDER, TRUNCATED, STRAY, SYNCED, HAVE = 0, 1, 2, 3, 4, 5, 6, 7
# up to where it is final: from the base to the cut; a block ago octets came without a hole up to the edge, and with holes up to the reach
EXAMINED, BASED, BASE, CUT, EDGE, REACH, BLOCKS, FINAL_NS = 8, 9, 10, 11, 12, 13, 14, 15
STRAYED = 16  # octets of strays
NEWEST = 17  # 1 + number of the latest packet that brought it octets
TALLIES = 18


class Block(NamedTuple):
    """What is final now: a `full` block, or its packets up to now; the number of its first packet; the policy; the end of all flows."""

    begin: Int
    full: bool
    last_wins: bool
    final: bool


@callee
def edge_from(pieces: I64, believed: Int, low: Int) -> Int:
    """How far pieces continue from a position without a hole."""
    edge = low
    for p in range(believed):
        if pieces[p, BEGIN] > edge:
            break
        edge = max(edge, pieces[p, END])
    return edge


@callee
def final_until(tally: I64, pieces: I64, believed: Int, low: Int, reach: Int, behind: bool) -> Int:
    """Up to where a side is final now; `behind`: whether this block brought octets behind the first hole."""
    edge = edge_from(pieces, believed, low)
    cut = low
    if tally[EXAMINED]:
        stuck = edge == tally[EDGE] and behind
        cut = max(low, min(reach, tally[REACH]) if stuck else min(edge, tally[EDGE]))
        for p in range(believed):
            if pieces[p, BEGIN] < cut < pieces[p, END]:
                cut = pieces[p, END]  # segments are not split
        if cut > edge:
            edge = edge_after(pieces, believed, cut)
    tally[EXAMINED], tally[EDGE], tally[REACH] = 1, edge, max(reach, cut)
    return cut


@callee
def acknowledged(pieces: I64, believed: Int, position: I64, wire: I64, low: Int, acked: Int) -> Int:
    """Up to where octets are captured without a hole and acknowledged; segments are not split."""
    cut = low
    for p in range(believed):
        row = pieces[p, PIECE_ROW]
        if pieces[p, BEGIN] > cut or pieces[p, SORT] == CUT_OFF or position[row] + wire[row] > acked:
            break
        cut = max(cut, pieces[p, END])
    return cut


@callee
def edge_after(pieces: I64, believed: Int, cut: Int) -> Int:
    """How far pieces continue without a hole behind a cut."""
    first = 0
    while first < believed and pieces[first, BEGIN] < cut:
        first += 1
    return edge_from(pieces[first:], believed - first, cut)


@callee
def came_behind(rows: I64, number: I64, begin: Int, position: I64, edge: Int, reach: Int) -> bool:
    """Whether a row of the block that begins with packet `begin` lies behind the first hole."""
    for i in range(len(rows) - 1, -1, -1):
        if number[rows[i]] < begin:
            return False
        if edge < position[rows[i]] < reach:
            return True
    return False


@callee
def keep_open(
    tally: I64,
    rows: I64,
    held: Int,
    position: I64,
    wire: I64,
    marks: U8,
    born: I64,
    keep: U8,
    block: Block,
) -> None:
    """Mark the rows that lie at least partly behind the cut: they are needed again, unless they have waited too long."""
    for row in rows:
        if row >= held:
            born[row] = tally[BLOCKS]
        if position[row] + wire[row] > tally[CUT] or not tally[BASED]:
            if not block.full or tally[BLOCKS] - born[row] < PATIENCE:
                keep[row] = 1
            elif not marks[row] & COPY:
                tally[STRAY] += 1
                tally[STRAYED] += wire[row]
    if block.full and tally[NEWEST] > block.begin:
        tally[BLOCKS] += 1
