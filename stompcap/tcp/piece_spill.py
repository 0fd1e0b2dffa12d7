"""Pieces of the streams of one flow, spilled to disk as they are found, and read back stream by stream."""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stompcap.columns import I64
from stompcap.tcp.pieces import PIECE, Pieces

AT_ONCE = 1 << 20  # pieces, copied at once


class PieceSpill:
    """Takes pieces step by step; offsets of a side ascend from one step to the next. One temporary file per column."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = {field.name: tempfile.TemporaryFile(dir=folder) for field in PIECE}  # noqa: SIM115  live until they are read
        self._size = 0
        self._keys: list[I64] = []
        self._begins: list[I64] = []

    def add(self, pieces: Pieces) -> None:
        """Write pieces that are sorted by stream and side."""
        key = pieces.stream.astype(np.int64) * 2 + pieces.side
        begins = np.flatnonzero(np.diff(key, prepend=-1))
        self._keys.append(key[begins])
        self._begins.append(self._size + begins)
        for name, file in self._files.items():
            file.write(np.ascontiguousarray(getattr(pieces, name)).data)
        self._size += len(key)

    def in_order(self, streams: int) -> tuple[I64, dict[str, I64]]:
        """Where the pieces of each side of each stream begin, and the columns of PIECE in that order, mapped."""
        keys, begins = np.concatenate(self._keys), np.concatenate(self._begins)
        lengths = np.diff(begins, append=self._size)
        order = np.argsort(keys, kind="stable")
        edges = np.append(0, np.cumsum(np.bincount(keys, lengths, 2 * streams).astype(np.int64)))
        begins, lengths = begins[order], lengths[order]
        cuts = np.flatnonzero(np.diff((np.cumsum(lengths) - lengths) // AT_ONCE)) + 1
        return edges, {name: self._column(name, begins, lengths, cuts) for name in self._files}

    def _column(self, name: str, begins: I64, lengths: I64, cuts: NDArray[np.intp]) -> I64:
        """One column with its stretches in order; its file is closed."""
        with self._files[name] as file, tempfile.TemporaryFile(dir=self._folder) as out:
            file.flush()
            column = _mapped(file.fileno(), self._size)
            for begin, length in zip(np.split(begins, cuts), np.split(lengths, cuts), strict=True):
                index = np.arange(int(length.sum())) + np.repeat(begin - (np.cumsum(length) - length), length)
                out.write(column[index].data)
            out.flush()
            return _mapped(out.fileno(), self._size)


def _mapped(file: int, size: int) -> I64:
    """A file of `size` numbers, mapped."""
    if not size:
        return np.empty(0, np.int64)
    return np.frombuffer(mmap.mmap(file, 8 * size, access=mmap.ACCESS_READ), np.int64)
