"""What the sides of TLS connections have opened and said, put into columns for all connections at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from stompcap.columns import I64, Bools
from stompcap.transport.carried import Carried
from stompcap.transport.events import Event
from stompcap.transport.stretches import NO_STRETCHES, Stretches
from stompcap.transport.tls_side import Side

TOGETHER = 1 << 14
"""Opened octets that a row carries, about."""


class Packets:
    """By which packets octets of directions can be read. A direction is 2 * stream + side."""

    def __init__(self, below: Carried, streams: I64) -> None:
        streams = np.sort(streams)
        found = below.stretches.take(below.of(streams))
        direction, ends = found.direction, found.offset + found.length
        self._row, self._order = found.row, found.order
        wanted = np.stack((2 * streams, 2 * streams + 1), axis=1).reshape(-1)
        self._first, self._behind = np.searchsorted(direction, wanted), np.searchsorted(direction, wanted, "right")
        lengths = np.zeros(wanted.size, np.int64)  # of the directions, with one place more: their offsets follow one another
        there = self._behind > self._first
        lengths[there] = ends[self._behind[there] - 1] + 1
        self._directions, self._base = wanted, np.cumsum(lengths) - lengths
        self._ends = ends + np.repeat(self._base, self._behind - self._first)
        same = direction[1:] == direction[:-1]
        self._ascending = not bool((same & ((found.row[1:] < found.row[:-1]) | (found.order[1:] < found.order[:-1]))).any())

    def came(self, direction: I64) -> Bools:
        """Whether something came of a direction."""
        at = np.searchsorted(self._directions, direction)
        found: Bools = self._behind[at] > self._first[at]
        return found

    def of(self, direction: I64, begins: I64, ends: I64) -> tuple[I64, I64]:
        """The rows and the places in wire order of the packets by which what lies between these offsets can be read.

        What was held since an earlier step, for a hello of the other side, is read by the first packet of a side that came.
        """
        came = self.came(direction)
        at = np.searchsorted(self._directions, np.where(came, direction, direction ^ 1))
        begins, ends = np.where(came, begins, 0), np.where(came, ends, 0)
        base, most = self._base[at], self._behind[at] - 1
        start = np.minimum(np.searchsorted(self._ends, base + begins, "right"), most)
        stop = np.maximum(np.minimum(np.searchsorted(self._ends, base + ends), most), start)
        if self._ascending:
            return self._row[stop], self._order[stop]
        between = np.stack((start, stop + 1), axis=1).reshape(-1)
        row, order = (np.maximum.reduceat(np.append(values, 0), between)[::2] for values in (self._row, self._order))
        return row, order


def opened(below: Carried, packets: Packets, streams: Sequence[int], sides: Sequence[Side]) -> tuple[Carried, Stretches]:
    """Rows that carry what these sides of these streams, in their order, have opened, and the stretches that point to them."""
    mine = [(stream, side) for stream, side in zip(streams, sides, strict=True) if side.given.records]
    if not mine:
        return below, NO_STRETCHES
    given = [side.given for _, side in mine]
    counts = np.array([one.records for one in given])
    firsts = np.cumsum(counts) - counts
    lengths = np.concatenate([some for one in given for some in one.lengths])
    hidden, unsure = np.zeros(lengths.size, np.int64), np.zeros(lengths.size, np.bool_)
    for first, one in zip(firsts.tolist(), given, strict=True):
        for record, (count, by_guess) in one.hidden.items():
            hidden[first + record], unsure[first + record] = count, by_guess
    direction = np.repeat([2 * stream + side.side for stream, side in mine], counts)
    begins = np.concatenate([some for one in given for some in one.begins])
    ends = np.concatenate([some for one in given for some in one.ends])
    row, order = packets.of(direction, begins, ends)
    offset = _counted(lengths + hidden, firsts, counts) - lengths + np.repeat([side.offset for _, side in mine], counts)
    for (_, side), last in zip(mine, (firsts + counts - 1).tolist(), strict=True):
        side.offset = int(offset[last] + lengths[last])
    before = _counted(lengths, firsts, counts) - lengths
    new_row = _changes(direction) | _changes(before // TOGETHER)
    chunk = np.cumsum(new_row) - 1
    of_chunk = np.flatnonzero(new_row)
    sizes = np.add.reduceat(lengths, of_chunk)
    first = np.flatnonzero(new_row | _changes(row) | _changes(order) | (hidden > 0))
    octets = b"".join(chain.from_iterable(one.octets for one in given))
    after, at = below.adding(row[np.append(of_chunk[1:], lengths.size) - 1], sizes, octets)
    stream, side_of = np.divmod(direction[first], 2)
    stretches = Stretches(
        stream.astype(np.int32), side_of.astype(np.int8), offset[first], np.add.reduceat(lengths, first), row[first], order[first],
        at[chunk[first]], (before - before[of_chunk][chunk])[first], unsure[first],
    )  # fmt: skip
    return after, stretches


def _counted(lengths: I64, firsts: I64, counts: I64) -> I64:
    """Running sums, begun anew at each of `firsts`."""
    found = np.cumsum(lengths)
    return found - np.repeat(found[firsts] - lengths[firsts], counts)


def _changes(values: I64) -> Bools:
    """Whether each differs from the one before; the first does."""
    found = np.ones(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def events(packets: Packets, streams: Sequence[int], sides: Sequence[Side]) -> list[Event]:
    """What these sides of these streams said beside their payload."""
    said = [(stream, side.side, *one) for stream, side in zip(streams, sides, strict=True) for one in side.events]
    if not said:
        return []
    stream, side_of, begins, ends, *_ = (np.array(values) for values in zip(*(one[:4] for one in said), strict=True))
    rows, _ = packets.of(2 * stream + side_of, begins, ends)
    return [
        Event(of, side, row, kind, begin, count, detail)
        for row, (of, side, begin, _, kind, count, detail) in zip(rows.tolist(), said, strict=True)
    ]


def note_closes(packets: Packets, streams: Sequence[int], sides: Sequence[Side]) -> None:
    """Enter where the first close_notify of each side stands in wire order."""
    mine = [(2 * stream + side.side, side) for stream, side in zip(streams, sides, strict=True) if side.closed and not side.closed_order]
    if mine:
        ends, direction = np.array([side.closed for _, side in mine]), np.array([direction for direction, _ in mine])
        _, order = packets.of(direction, ends - 1, ends)
        for (_, side), at in zip(mine, (order + packets.came(direction)).tolist(), strict=True):  # one that was held came before
            side.closed_order = at
