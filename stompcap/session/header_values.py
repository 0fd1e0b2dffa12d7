"""Values of headers out of the maps of a column, a whole column at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.columns import I32, I64, Octets, flat
from stompcap.kernel import kernel


@kernel
def _entries(rows: I64, ends: I32, key_ends: I32, keys: Octets, name: Octets, found: I64) -> None:
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


def header_values(maps: pa.Array | pa.ChunkedArray, name: str, rows: I64) -> pa.StringArray:
    """Value of `name` in the maps of a MAP<STRING, STRING> column at those rows, null where a map lacks it."""
    maps = flat(maps)
    if len(rows) == 0 or len(maps.items) == 0:
        return pa.nulls(len(rows), pa.string())
    keys = maps.keys
    found = np.empty(len(rows), np.int64)
    octets = np.frombuffer(keys.buffers()[2], np.uint8)
    _entries(rows, _offsets(maps, len(maps)), _offsets(keys, len(keys)), octets, np.frombuffer(name.encode(), np.uint8), found)
    return maps.items.take(pa.array(found, mask=found < 0))
