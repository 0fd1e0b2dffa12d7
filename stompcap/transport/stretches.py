"""Stretches of octets: which octets of a stream they are, the packet by which they can be read, and where they lie.

Reassembly gives extents, by TCP's offsets. A layer gives stretches, whose offsets count the octets that it gives. An octet of plain TCP
can be read when its packet is there, one inside a record when all of the record is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stompcap.columns import I8, I32, I64, Bools, distinct
from stompcap.tcp.results import Extents

_INT64 = np.empty(0, np.int64)


@dataclass(frozen=True)
class Stretches:
    """Stretches of the octets that a layer gives, sorted by stream, side and offset.

    stream  the stream's number
    side    whose octets they are
    offset  of the first, in what the layer gives of that side
    length  how many they are
    row     the segment by which they can be read: the last of those that they had to wait for
    order   where that stands in wire order (stompcap.tcp.results.Extents)
    at      the segment that has them: one of those they had to wait for, or a row that a layer has added
    skip    octets of its payload before them
    unsure  how many octets are missing before them is not known: the offsets have what the layer below lacks there
    """

    stream: I32
    side: I8
    offset: I64
    length: I64
    row: I64
    order: I64
    at: I64
    skip: I64
    unsure: Bools

    @staticmethod
    def of_extents(e: Extents) -> Stretches:
        """The octets of TCP themselves."""
        return Stretches(e.stream, e.side, e.offset, e.length, e.row, e.order, e.row, e.skip, np.zeros(len(e), np.bool_))

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: I64 | Bools | slice) -> Stretches:
        """Some of them, by index, mask or slice."""
        row = self.row[which]
        at = row if self.at is self.row else self.at[which]
        return Stretches(
            self.stream[which], self.side[which], self.offset[which], self.length[which], row, self.order[which], at,
            self.skip[which], self.unsure[which],
        )  # fmt: skip

    def between(self, begin: I64 | int, end: I64 | int) -> Stretches:
        """What they have of the octets from `begin` to `end`, of which each has some."""
        start, stop = np.maximum(self.offset, begin), np.minimum(self.offset + self.length, end)
        return replace(self, offset=start, length=stop - start, skip=self.skip + start - self.offset)

    def moved(self, streams: int, rows: I64) -> Stretches:
        """The same with other numbers: those of streams grow by `streams`, rows become those of `rows`."""
        row = rows[self.row]
        return replace(self, stream=self.stream + np.int32(streams), row=row, at=row if self.at is self.row else rows[self.at])

    def in_order(self) -> Stretches:
        """The same, sorted."""
        return self.take(np.lexsort((self.offset, self.side, self.stream)))

    @property
    def direction(self) -> I64:
        """Of each its stream and side as one number."""
        return self.stream.astype(np.int64) * 2 + self.side

    def with_own_rows(self) -> tuple[Stretches, I64]:
        """The segments that they need, ascending, and the same stretches with the rows of these."""
        one = self.at is self.row
        rows = distinct(self.row if one else np.concatenate((self.row, self.at)))
        row = np.searchsorted(rows, self.row)
        return replace(self, row=row, at=row if one else np.searchsorted(rows, self.at)), rows


NO_STRETCHES = Stretches.of_extents(Extents(np.empty(0, np.int32), np.empty(0, np.int8), *(_INT64,) * 5))
