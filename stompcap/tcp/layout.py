"""Lays out one side's segments by position: which segment supplies each octet.

Segments in order are taken as they come; others go through a sweep. The first to arrive wins, or the last, by policy; copies of a packet
fill what the packet itself lacks, and octets cut by the snapshot length yield to any captured ones. The result depends on the octets
captured, not on how they were cut into segments.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I64, U8
from stompcap.kernel import allocating, callee
from stompcap.tcp.state import COPY
from stompcap.tcp.sweep import sweep

ABSURD_GAP = 1 << 26  # a larger hole, with octets behind it that no later segment acknowledges, is forged

# columns of a piece: row of the segment, positions, kind of octets; kinds in order of precedence
PIECE_ROW, BEGIN, END, SORT = 0, 1, 2, 3
CAPTURED, COPIED, CUT_OFF = 0, 1, 2
PRECEDENCE = 40  # bits below the kind in a priority


@callee
def in_order(rows: I64, position: I64, wire: I64, marks: U8, low: Int, limit: Int) -> bool:
    """Whether segments follow one another, with no more than plausible gaps."""
    at = low
    for row in rows:
        if position[row] < at or position[row] + wire[row] > limit or position[row] - at > ABSURD_GAP or marks[row] & COPY:
            return False
        at = position[row] + wire[row]
    return True


@allocating
def as_they_come(rows: I64, position: I64, wire: I64, captured: I64) -> tuple[I64, I64]:
    """Pieces of segments that are in order: (pieces, no losses)."""
    pieces, n = np.empty((2 * len(rows), 4), np.int64), 0
    for row in rows:
        begin, cut, end = position[row], position[row] + captured[row], position[row] + wire[row]
        if begin < cut:
            pieces[n, PIECE_ROW], pieces[n, BEGIN], pieces[n, END], pieces[n, SORT] = row, begin, cut, CAPTURED
            n += 1
        if cut < end:
            pieces[n, PIECE_ROW], pieces[n, BEGIN], pieces[n, END], pieces[n, SORT] = row, cut, end, CUT_OFF
            n += 1
    return pieces[:n], np.empty((0, 4), np.int64)


@allocating
def swept(
    rows: I64,
    position: I64,
    wire: I64,
    captured: I64,
    marks: U8,
    low: Int,
    limit: Int,
    last_wins: bool,
) -> tuple[I64, I64]:
    """Pieces of segments in any order, between two positions: (pieces, losses)."""
    count = len(rows)
    begins, ends, priority = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
    owner, sort = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
    items = 0
    for cut_off in range(2):
        for i in range(count):
            row = rows[i]
            cut = position[row] + captured[row]
            begin, end = (cut, position[row] + wire[row]) if cut_off else (position[row], cut)
            begin, end = max(begin, low), min(end, limit)
            if begin < end:
                begins[items], ends[items], owner[items] = begin, end, row
                sort[items] = CUT_OFF if cut_off else (COPIED if marks[row] & COPY else CAPTURED)
                priority[items] = (sort[items] << PRECEDENCE) + (-i if last_wins and sort[items] == CAPTURED else i)
                items += 1
    pieces, losses = sweep(begins[:items], ends[:items], priority[:items])
    return named(pieces, owner, sort), named(losses, owner, sort)


@allocating
def named(found: I64, owner: I64, sort: I64) -> I64:
    """Items as rows of segments, with the kind of their octets."""
    pieces = np.empty((len(found), 4), np.int64)
    for i in range(len(found)):
        item = found[i, 0]
        pieces[i, PIECE_ROW], pieces[i, BEGIN], pieces[i, END], pieces[i, SORT] = owner[item], found[i, 1], found[i, 2], sort[item]
    return pieces
