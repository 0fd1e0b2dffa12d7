"""Whole columns at once: contiguous ones, and header values by name out of maps, without a Python object per frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.kernel import kernel

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array of a table's column; copied only where it lies in several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


@kernel
def _entries(rows: I64, ends: I32, key_ends: I32, keys: U8, name: U8, found: I64) -> None:
    """Per row, the index of its map's first entry whose key is `name`, or -1; `ends` and `key_ends` are Arrow offsets."""
    length = len(name)
    for i in range(len(rows)):
        found[i] = -1
        for entry in range(ends[rows[i]], ends[rows[i] + 1]):
            begin = key_ends[entry]
            if key_ends[entry + 1] - begin != length:
                continue
            same = True
            for j in range(length):
                if keys[begin + j] != name[j]:
                    same = False
                    break
            if same:
                found[i] = entry
                break


def _offsets(array: pa.Array, count: int) -> I32:
    """The offsets buffer of a string, list or map array, from its own first element on."""
    return np.frombuffer(array.buffers()[1], np.int32, count + 1 + array.offset)[array.offset :]


def header_column(maps: pa.Array | pa.ChunkedArray, name: str, rows: I64) -> pa.StringArray:
    """Value of `name` in the maps of a MAP<STRING, STRING> column at those rows, null where a map lacks it."""
    maps = flat(maps)
    if len(rows) == 0 or len(maps.items) == 0:
        return pa.nulls(len(rows), pa.string())
    keys = maps.keys
    found = np.empty(len(rows), np.int64)
    octets = np.frombuffer(keys.buffers()[2], np.uint8)
    _entries(rows, _offsets(maps, len(maps)), _offsets(keys, len(keys)), octets, np.frombuffer(name.encode(), np.uint8), found)
    return maps.items.take(pa.array(found, mask=found < 0))
