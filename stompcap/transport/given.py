"""What a layer gives of one direction, gathered: octets that lie where they did, octets that it opened, and holes between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

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

    def pieces(self) -> list[tuple[I64, I64, I64, I64, int, bool]]:
        """What is given, in columns: offsets, lengths, stretches, positions; where these octets lie, and whether the first is unsure."""
        self._take_opened()
        return self._pieces

    def copy(self, where: I64, position: I64, length: I64, targets: I64, out: Octets) -> None:
        """Put the octets of pieces that lie in one of the buffers into another one."""
        for kind in (UNMASKED, OPENED):
            which = where == kind
            if which.any():
                source = self.buffer if kind == UNMASKED else np.frombuffer(b"".join(self._opened), np.uint8)
                copy_runs(source, position[which], length[which], targets[which], out)


def put_together(below: Carried, streams: I64, given: list[list[Given]], synced: Bools) -> Carried:
    """What a layer gives of these streams, of each both sides."""
    sides = [one for pair in given for one in pair]
    lengths = np.array([one.offset for one in sides], np.int64).reshape(-1, 2)
    some = [one for one in sides if one.pieces()]
    if not some:
        return below.giving(streams, NO_STRETCHES, lengths, synced)
    chunks = [(number, *chunk) for number, one in enumerate(some) for chunk in one.pieces()]
    sizes = np.array([len(chunk[1]) for chunk in chunks])
    offset, length, by, position = (np.concatenate([chunk[k] for chunk in chunks]) for k in range(1, 5))
    side, where = (np.repeat([chunk[k] for chunk in chunks], sizes) for k in (0, 5))
    unsure = np.zeros(offset.size, np.bool_)
    unsure[np.cumsum(sizes) - sizes] = [chunk[6] for chunk in chunks]
    counts = np.array([len(one.below) for one in some])
    by += np.repeat(np.cumsum(counts) - counts, np.bincount(side, minlength=len(some)))
    starts = _starts(side, offset, length, by, position, where, unsure)
    found = end_to_end([one.below for one in some]).take(by[starts])
    skip = found.skip + position[starts] - np.concatenate([one.starts for one in some])[by[starts]]
    size, added = np.add.reduceat(length, starts), where[starts] != IN_PLACE
    after, at = below, found.at.copy()
    ends_at = np.append(starts[1:], side.size)
    for rows in _groups(np.flatnonzero(added), size):
        mine = slice(starts[rows[0]], ends_at[rows[-1]])
        octets = _octets(some, side[mine], where[mine], position[mine], length[mine])
        after, at[rows] = after.adding(found.row[rows], size[rows], octets)
    skip[added] = 0
    found = replace(found, offset=offset[starts], length=size, skip=skip, at=at, unsure=unsure[starts])
    return after.giving(streams, found, lengths, synced)


def _starts(side: I64, offset: I64, length: I64, by: I64, position: I64, where: I64, unsure: Bools) -> I64:
    """The pieces with which stretches begin: others go on where the one before ends, for the same packet."""
    added = where != IN_PLACE
    meets = (side[1:] == side[:-1]) & (offset[1:] == offset[:-1] + length[:-1]) & (by[1:] == by[:-1]) & ~unsure[1:]
    in_place = ~added[1:] & ~added[:-1] & (position[1:] == position[:-1] + length[:-1])
    begins = np.ones(side.size, np.bool_)
    begins[1:] = ~(meets & ((added[1:] & added[:-1]) | in_place))
    return np.flatnonzero(begins)


def _groups(rows: I64, size: I64) -> list[I64]:
    """Rows in groups of a bounded number of octets, of one row at least."""
    if not rows.size:
        return []
    group = (np.cumsum(size[rows]) - 1) // MOST_AT_ONCE
    return np.split(rows, np.flatnonzero(np.diff(group)) + 1)


def _octets(some: list[Given], side: I64, where: I64, position: I64, length: I64) -> Octets:
    """The octets of pieces that have to be added, back to back."""
    length = np.where(where == IN_PLACE, 0, length)
    targets = np.cumsum(length) - length
    out = np.empty(int(length.sum()), np.uint8)
    edges = np.flatnonzero(np.diff(side, prepend=-1, append=len(some)))
    for begin, end in pairwise(edges.tolist()):
        mine = slice(begin, end)
        some[int(side[begin])].copy(where[mine], position[mine], length[mine], targets[mine], out)
    return out
