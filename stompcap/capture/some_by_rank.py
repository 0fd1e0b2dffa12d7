"""The captures that the tasks of a run read, by their ranks among all of a source; what is asked of others is looked up when it is.

So what a task is given grows with what is new, not with what a lake knows: only those that go on with open connections name captures of
earlier runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa

from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.rotation import SAME_CLOCK
from stompcap.columns import I64, integers


class SomeByRank:
    """What CapturesByRank says, at hand for some captures, by their ranks, and for the last one; `every` gives it for all others."""

    def __init__(self, captures: CapturesByRank, ranks: Iterable[int], every: Callable[[], CapturesByRank]) -> None:
        self._count, self.digest, self.secrets = len(captures), captures.digest, captures.secrets
        self._clocks = captures.clocks if (captures.clocks != SAME_CLOCK).any() else None
        last = [len(captures) - 1] if len(captures) else []
        self._ranks = np.array(sorted({*ranks, *last}), np.int64)
        self._ids, self._paths = captures.ids.take(pa.array(self._ranks)), captures.paths_of(self._ranks)
        self._every = every

    def __len__(self) -> int:
        return self._count

    @cached_property
    def clocks(self) -> I64:
        """As CapturesByRank has them."""
        return np.full(self._count + 1, SAME_CLOCK, np.int64) if self._clocks is None else self._clocks

    @property
    def ids(self) -> SomeIds:
        """Id by rank."""
        return SomeIds(self._ranks, self._ids, self._every)

    @property
    def paths(self) -> SomePaths:
        """Path by rank."""
        return SomePaths(self._count, self._ranks, self._paths, self._every)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """Rank by id."""
        return SomeOrder(dict(zip(self._ids.to_pylist(), self._ranks.tolist(), strict=True)), self._every)

    @property
    def before(self) -> I64:
        """As CapturesByRank has it."""
        return self._every().before

    def first(self, digest: bytes, count: int | None) -> int | None:
        """As CapturesByRank says."""
        return self._every().first(digest, count)


@dataclass(frozen=True)
class SomeIds:
    """Ids by rank: those of `ranks`, which are ascending, and all others where one is asked for."""

    ranks: I64
    ids: pa.Array
    every: Callable[[], CapturesByRank]

    def take(self, wanted: pa.Array) -> pa.Array:
        """The id of each rank, null where that is."""
        rank = integers(wanted)
        at = np.searchsorted(self.ranks, rank).clip(max=len(self.ranks) - 1)
        missing = rank < 0
        if not (missing | (self.ranks[at] == rank)).all():
            return self.every().ids.take(wanted)
        return self.ids.take(pa.array(at, mask=missing))

    def __getitem__(self, at: int) -> pa.StringScalar:
        rank = at + (self.ranks[-1] + 1 if at < 0 else 0)
        return self.take(pa.array([rank]))[0]


@dataclass(frozen=True)
class SomePaths(Sequence[str]):
    """As SomeIds, of paths."""

    size: int
    ranks: I64
    paths: pa.Array
    every: Callable[[], CapturesByRank]

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, int):
            place = int(np.searchsorted(self.ranks, at))
            if place < len(self.ranks) and self.ranks[place] == at:
                return str(self.paths[place].as_py())
        return self.every().paths[at]

    def __len__(self) -> int:
        return self.size


@dataclass(frozen=True)
class SomeOrder(Mapping[str, int]):
    """As SomeIds: ranks by id."""

    ranks: Mapping[str, int]
    every: Callable[[], CapturesByRank]

    def __getitem__(self, name: str) -> int:
        found = self.ranks.get(name)
        return self.every().order[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.every().order)

    def __len__(self) -> int:
        return len(self.every())
