"""Lineage of raw frames: when the octets of each row arrived, in which packets, and where they stand in wire order.

Rows tile a stream direction and so do extents and gaps, both in offset order; one walk over both tells each row the packet of its
first octet and the latest packet among its octets. A run of EOLs is cut where the capture time changes: each heart-beat is a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.codes import EOL, GAP
from stompcap.columns import I64, U8
from stompcap.kernel import kernel


class RowArrivals(NamedTuple):
    """Rows with their packets: `source` is the row's index before EOL runs were cut; first and last are segment rows, -1 for gaps.

    `begin` and `order` are the numbers in wire order of the first octet and of the last; a gap has that of the octet behind it in both, and
    0 where there is none.
    """

    source: I64
    offset: I64
    length: I64
    first: I64
    last: I64
    order: I64
    begin: I64


@kernel
def _walk(
    row_direction: I64,
    row_offset: I64,
    row_length: I64,
    row_kind: U8,
    extent_direction: I64,
    extent_offset: I64,
    extent_length: I64,
    extent_row: I64,
    extent_order: I64,
    ts_ns: I64,
    out: I64,
) -> int:
    n = 0
    e = 0
    for r in range(row_direction.size):
        d = row_direction[r]
        begin = row_offset[r]
        end = begin + row_length[r]
        out[0, n], out[1, n], out[2, n], out[3, n], out[4, n], out[5, n] = r, begin, row_length[r], -1, -1, 0
        out[6, n] = 0
        while e < extent_direction.size and (
            extent_direction[e] < d or (extent_direction[e] == d and extent_offset[e] + extent_length[e] <= begin)
        ):
            e += 1
        if row_kind[r] == GAP:
            if e < extent_direction.size and extent_direction[e] == d:
                out[5, n] = out[6, n] = extent_order[e]
            n += 1
            continue
        at = e
        while at < extent_direction.size and extent_direction[at] == d and extent_offset[at] < end:
            segment = extent_row[at]
            if out[3, n] < 0:
                out[6, n] = extent_order[at]
                out[3, n] = segment
                out[4, n] = segment
            elif row_kind[r] == EOL and ts_ns[segment] != ts_ns[out[4, n]]:
                cut = extent_offset[at]
                out[2, n] = cut - out[1, n]
                n += 1
                out[0, n], out[1, n], out[2, n], out[3, n], out[4, n] = r, cut, end - cut, segment, segment
                out[6, n] = extent_order[at]
            elif segment > out[4, n]:
                out[4, n] = segment
            out[5, n] = extent_order[at]
            at += 1
        n += 1
    return n


def row_arrivals(
    direction: I64,
    offset: I64,
    length: I64,
    kind: U8,
    extents: tuple[I64, I64, I64, I64],
    ts_ns: I64,
    order: I64 | None = None,
) -> RowArrivals:
    """Give rows their packets and cut EOL runs by arrival.

    Rows and `extents` (direction, offset, length, segment row) are sorted by direction and offset; segment rows count in wire
    order, so that the larger of two is the later arrival. `ts_ns` is indexed by segment row; `order` is the number of each
    extent in wire order.
    """
    out = np.empty((7, direction.size + extents[0].size + 1), np.int64)
    n = _walk(direction, offset, length, kind, *extents, np.zeros(extents[0].size, np.int64) if order is None else order, ts_ns, out)
    return RowArrivals(*(np.ascontiguousarray(column[:n]) for column in out))
