"""What a layer gives of one direction, gathered: octets that lie where they did, octets that it opened, and holes between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, Octets
from stompcap.tcp.join import end_to_end
from stompcap.tcp.octets import copy_runs
from stompcap.transport.carried import Carried
from stompcap.transport.stretches import NO_STRETCHES, Stretches

IN_PLACE, UNMASKED, OPENED = range(3)
"""Where the octets of a piece lie: where the layer below has them; in the buffer of what was read of it; in a buffer of their own."""
MOST_AT_ONCE = 1 << 30
"""Octets of one column of added rows; its offsets have 32 bits."""


@dataclass
class Given:
    """Pieces of a direction in order, each read by one of the stretches `below`; `offset` is how long it is, holes included.

    `buffer` has what was read of the stretches, back to back. Behind `unsure` a hole has no known length.
    """

    below: Stretches
    buffer: Octets
    offset: int
    unsure: bool = False
    floor: int = 0
    _pieces: list[tuple[I64, I64, I64, I64, int, bool]] = field(default_factory=list)
    _opened: list[bytes] = field(default_factory=list)
    _size: int = 0
    _one_by_one: list[tuple[int, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends = np.cumsum(self.below.length)
        self.starts: I64 = ends - self.below.length

    def piece_at(self, position: int) -> int:
        """The stretch that has the octet at a position of the buffer."""
        return int(np.searchsorted(self.starts, position, "right")) - 1

    def plain(self, position: I64, length: I64, masked: bool, floor: int = 0) -> None:
        """Octets of the buffer; those of the first `floor` stretches are read by the one behind them."""
        if not position.size:
            return
        self._take_opened()
        first, last = (np.searchsorted(self.starts, at, "right") - 1 for at in (position, position + length - 1))
        pieces = last - first + 1
        which = np.repeat(np.arange(position.size), pieces)
        of = first[which] + np.arange(which.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        begin = np.maximum(position[which], self.starts[of])
        size = np.minimum((position + length)[which], self.starts[of] + self.below.length[of]) - begin
        offset = self.offset + np.cumsum(size) - size
        self._add(offset, size, np.maximum(of, floor), begin, UNMASKED if masked or floor else IN_PLACE)
        self.offset += int(size.sum())

    def opened(self, octets: bytes, by: int) -> None:
        """Octets that were opened, read by a stretch."""
        if not octets:
            return
        if self.unsure:
            self._take_opened()
        self._one_by_one.append((self.offset, len(octets), by, self._size))
        self._opened.append(octets)
        self._size += len(octets)
        self.offset += len(octets)

    def missing(self, octets: int, *, unsure: bool = False) -> None:
        """Octets that nobody can read; `unsure`: nobody knows how many."""
        self.offset += octets
        if unsure and not self.unsure:
            self._take_opened()
            self.unsure = True

    def _take_opened(self) -> None:
        """Put what was opened one by one among the pieces."""
        if self._one_by_one:
            columns = np.array(self._one_by_one, np.int64).T
            self._one_by_one.clear()
            self._add(columns[0], columns[1], columns[2], columns[3], OPENED)

    def _add(self, offset: I64, length: I64, by: I64, position: I64, where: int) -> None:
        self._pieces.append((offset, length, by, position, where, self.unsure))
        self.unsure = False

    def result(self) -> tuple[Stretches, Bools, I64, Octets]:
        """The stretches; which of them are rows to be added, in order; where the octets of each of these begin and end; and the octets."""
        self._take_opened()
        if not self._pieces:
            return NO_STRETCHES, np.empty(0, np.bool_), np.zeros(1, np.int64), np.empty(0, np.uint8)
        offset, length, by, position = (np.concatenate([one[k] for one in self._pieces]) for k in range(4))
        sizes = [one[0].size for one in self._pieces]
        where = np.repeat([one[4] for one in self._pieces], sizes)
        unsure = np.zeros(offset.size, np.bool_)
        unsure[np.cumsum(sizes) - sizes] = [one[5] for one in self._pieces]
        added = where != IN_PLACE
        begins = np.ones(offset.size, np.bool_)
        meets = (offset[1:] == offset[:-1] + length[:-1]) & (by[1:] == by[:-1]) & ~unsure[1:]
        in_place = ~added[1:] & ~added[:-1] & (position[1:] == position[:-1] + length[:-1])
        begins[1:] = ~(meets & ((added[1:] & added[:-1]) | in_place))
        octets = self._octets(added, where, position, length)
        starts = np.flatnonzero(begins)
        size = np.add.reduceat(length, starts)
        found = self.below.take(by[starts])
        is_added = added[starts]
        skip = np.where(is_added, 0, found.skip + position[starts] - self.starts[by[starts]])
        ends = np.concatenate(([0], np.cumsum(size[is_added])))
        return replace(found, offset=offset[starts], length=size, skip=skip, unsure=unsure[starts]), is_added, ends, octets

    def _octets(self, added: Bools, where: I64, position: I64, length: I64) -> Octets:
        """Those that have to be added, back to back."""
        targets = np.cumsum(np.where(added, length, 0)) - length
        out = np.empty(int(length[added].sum()), np.uint8)
        opened = np.frombuffer(b"".join(self._opened), np.uint8)
        for kind, source in ((UNMASKED, self.buffer), (OPENED, opened)):
            which = where == kind
            copy_runs(source, position[which], length[which], targets[which], out)
        return out


def put_together(below: Carried, streams: I64, given: list[list[Given]], synced: Bools) -> Carried:
    """What a layer gives of these streams, of each both sides."""
    results = [one.result() for pair in given for one in pair]
    lengths = np.array([[one.offset for one in pair] for pair in given], np.int64).reshape(-1, 2)
    found, after, group, size = list[Stretches](), below, list[int](), 0
    places: dict[int, I64] = {}

    def add() -> None:
        nonlocal after, group, size
        rows = np.concatenate([results[n][0].row[results[n][1]] for n in group])
        octets = np.concatenate([results[n][3] for n in group])
        bases = np.cumsum([0, *(results[n][3].size for n in group)])
        ends = np.concatenate([np.zeros(1, np.int64), *(results[n][2][1:] + base for n, base in zip(group, bases.tolist(), strict=False))])
        array = pa.Array.from_buffers(pa.binary(), rows.size, [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(octets)])
        after, at = after.adding(rows, array)
        counts = np.cumsum([int(results[n][1].sum()) for n in group])
        places.update(zip(group, np.split(at, counts[:-1]), strict=True))
        group, size = [], 0

    for number, (_, added, _, octets) in enumerate(results):
        if not added.any():
            continue
        if group and size + octets.size > MOST_AT_ONCE:
            add()
        group.append(number)
        size += octets.size
    if group:
        add()
    for number, (stretches, added, *_) in enumerate(results):
        if number in places:
            at = stretches.at.copy()
            at[added] = places[number]
            found.append(replace(stretches, at=at))
        elif len(stretches):
            found.append(stretches)
    return after.giving(streams, end_to_end(found) if found else NO_STRETCHES, lengths, synced)
