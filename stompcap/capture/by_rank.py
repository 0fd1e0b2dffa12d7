"""The captures of a source by their ranks: arrays, packed where they travel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import pyarrow as pa

from stompcap.capture.rotation import SAME_CLOCK
from stompcap.columns import I64

HASHED = 1 << 14  # ids whose digest is taken at a time


class CapturesByRank:
    """Ids, paths and clocks (stompcap.capture.rotation) of captures, each by its rank; there is one clock more, which never stepped.

    `before` has the ranks of those that the run before had, in the order that they had then; -1 for one that is gone. `secrets` has the
    ranks of those that may have secrets of TLS connections: all, where nothing is said.
    """

    def __init__(
        self, ids: pa.Array, paths: pa.Array, clocks: Sequence[int] | I64 = (), before: I64 | None = None, secrets: I64 | None = None
    ) -> None:
        self.ids, self._paths = ids, paths
        self.clocks = np.full(len(ids) + 1, SAME_CLOCK, np.int64)
        self.clocks[: len(clocks)] = clocks
        self.before = np.empty(0, np.int64) if before is None else before
        self.secrets = np.arange(len(ids)) if secrets is None else secrets

    @classmethod
    def of(cls, captures: Iterable[tuple[str, str]], before: Sequence[str] = ()) -> CapturesByRank:
        """Captures given as paths and ids, and the ids of those that the run before had."""
        found = list(captures)
        rank = {name: at for at, (_, name) in enumerate(found)}
        ids, paths = (pa.array([one[at] for one in found], pa.string()) for at in (1, 0))
        return cls(ids, paths, (), np.array([rank.get(name, -1) for name in before], np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def __getstate__(self) -> dict[str, Any]:
        in_order = bool((self.before == np.arange(len(self.before))).all())
        clocks = self.clocks if (self.clocks != SAME_CLOCK).any() else ()
        columns = pa.record_batch([self.ids, self._paths], ["ids", "paths"])
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, columns.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write(columns)
        before = len(self.before) if in_order else self.before
        return {"packed": out.getvalue().to_pybytes(), "clocks": clocks, "before": before, "secrets": self.secrets}

    def __setstate__(self, state: dict[str, Any]) -> None:
        [columns] = pa.ipc.open_stream(state["packed"])
        before = np.arange(state["before"]) if isinstance(state["before"], int) else state["before"]
        self.__init__(*columns.columns, state["clocks"], before, state["secrets"])  # type: ignore[misc]

    @property
    def paths(self) -> Paths:
        """Path by rank."""
        return Paths(self._paths)

    def paths_of(self, ranks: I64) -> pa.Array:
        """The paths of some captures."""
        return self._paths.take(pa.array(ranks))

    @cached_property
    def order(self) -> Mapping[str, int]:
        """Rank by id."""
        return Order(self.ids)

    @cached_property
    def digest(self) -> bytes:
        """Of the ids in their order."""
        return _digest(self.ids)

    def first(self, digest: bytes, count: int | None) -> int | None:
        """How many captures an earlier run had, if these are the first of the run before, in that order; `digest` is that of theirs.

        `count` is how many there were; older versions left no word of it.
        """
        if count is None:
            return self._by_digest.get(digest)
        return count if self._digest_of(count) == digest else None

    def _digest_of(self, count: int) -> bytes | None:
        """Of the first captures of the run before, so many; None where it had fewer."""
        if count not in self._digests:
            ranks = self.before[:count]
            known = len(ranks) == count and bool((ranks >= 0).all())
            self._digests[count] = _digest(self.ids.take(pa.array(ranks))) if known else None
        return self._digests[count]

    @cached_property
    def _digests(self) -> dict[int, bytes | None]:
        return {}

    @cached_property
    def _by_digest(self) -> dict[bytes, int]:
        """How many captures there are, from the first on in the order of the run before, by the digest of these."""
        digest = hashlib.sha256()
        found = {digest.digest(): 0}
        ranks = self.before[: np.append(np.flatnonzero(self.before < 0), len(self.before))[0]]
        for at, name in enumerate(self.ids.take(pa.array(ranks)).to_pylist()):
            digest.update(f"{',' if at else ''}{name}".encode())
            found[digest.digest()] = at + 1
        return found


class Paths(Sequence[str]):
    """Paths in an array of Arrow's."""

    def __init__(self, paths: pa.Array) -> None:
        self._paths = paths

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Paths: ...
    def __getitem__(self, at: int | slice) -> str | Paths:
        return Paths(self._paths[at]) if isinstance(at, slice) else str(self._paths[at].as_py())

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths.to_pylist())


class Order(Mapping[str, int]):
    """Where ids stand in an array of Arrow's; they are indexed when the first is asked for."""

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self._ids.to_pylist(), range(len(self._ids)), strict=True))

    def __getitem__(self, name: str) -> int:
        return self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids.to_pylist())

    def __len__(self) -> int:
        return len(self._ids)


def _digest(ids: pa.Array) -> bytes:
    """The SHA-256 of ids with commas between them."""
    digest = hashlib.sha256()
    for begin in range(0, len(ids), HASHED):
        digest.update(("," if begin else "").encode() + ",".join(ids.slice(begin, HASHED).to_pylist()).encode())
    return digest.digest()
