"""Hashes of the keys of many data files, and which files have one in common.

Only the hashes of new files are put in order, so many at a time; those of old ones, which may lie in mapped files, are passed over.
No set of all keys stands in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stompcap.columns import I64, U64, Bools, distinct

PASSED = 1 << 20
"""Hashes that are passed over at a time."""

SEARCHED = 1 << 24
"""Hashes of new files that are searched for at a time, about: 0.4 GB."""

NONE: U64 = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Hashes:
    """The hashes of some files, file by file; those of file i lie from `edges[i]` to before `edges[i + 1]`, each once."""

    hashes: U64
    edges: I64

    def files(self, at: I64) -> list[int]:
        """The files that the hashes at some places are of."""
        found: list[int] = np.unique(np.searchsorted(self.edges, at, side="right") - 1).tolist()
        return found


class Wanted:
    """Hashes that are searched for among many others, most of which a table of their first bits sorts out."""

    def __init__(self, hashes: U64) -> None:
        self.hashes: U64 = distinct(hashes)
        bits = min(26, len(self.hashes).bit_length() + 4)
        self._shift = np.uint64(64 - bits)
        self._slots = np.zeros(1 << bits, np.bool_)
        self._slots[self.hashes >> self._shift] = True

    def at(self, many: U64) -> I64:
        """The places of those of many hashes that are wanted."""
        parts = [np.zeros(0, np.int64)]
        for begin in range(0, len(many) if len(self.hashes) else 0, PASSED):
            part = many[begin : begin + PASSED]
            likely = np.flatnonzero(self._slots[part >> self._shift])
            parts.append(begin + likely[self.among(part[likely])])
        return np.concatenate(parts)

    def among(self, some: U64) -> Bools:
        """Which of some hashes are wanted."""
        if not len(self.hashes):
            return np.zeros(len(some), np.bool_)
        found: Bools = self.hashes[np.minimum(np.searchsorted(self.hashes, some), len(self.hashes) - 1)] == some
        return found

    def found(self, held: Iterable[Hashes]) -> U64:
        """Those of the hashes that some files have."""
        found: U64 = distinct(np.concatenate([NONE, *(one.hashes[self.at(one.hashes)] for one in held)]))
        return found


def common(new: Sequence[Hashes], old: Sequence[Hashes]) -> U64:
    """The hashes that two files have, of which at least one is new."""
    found = [NONE]
    for some in _in_turn(new):
        some.sort()
        found.append(some[1:][some[1:] == some[:-1]])
        found.append(Wanted(some).found(old))
    return distinct(np.concatenate(found))


def _in_turn(held: Sequence[Hashes]) -> Iterator[U64]:
    """All hashes of some files: those with the same first bits together, as few bits as memory permits."""
    bits = (sum(len(one.hashes) for one in held) // SEARCHED).bit_length()
    for number in range(1 << bits):
        if bits:
            yield np.concatenate([NONE, *(one.hashes[one.hashes >> np.uint64(64 - bits) == np.uint64(number)] for one in held)])
        else:
            yield np.concatenate([NONE, *(one.hashes for one in held)])
