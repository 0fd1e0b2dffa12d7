"""Values of headers out of the maps of a column, a whole column at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I32, I64, Octets, integers, take_or, take_or_null
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


def header_entries(maps: pa.Array, name: str, rows: I64) -> I64:
    """Index in `maps.items` of the value of `name` in the maps of an array at those rows, -1 where a map lacks it."""
    found = np.full(len(rows), -1, np.int64)
    if len(rows) and len(maps.items):
        keys = maps.keys
        octets = np.frombuffer(keys.buffers()[2], np.uint8)
        _entries(rows, _offsets(maps, len(maps)), _offsets(keys, len(keys)), octets, np.frombuffer(name.encode(), np.uint8), found)
    return found


def values_at(maps: pa.Array, entries: I64) -> pa.StringArray:
    """The values at indices in `maps.items`, null for -1."""
    return take_or_null(maps.items, entries) if len(maps.items) else pa.nulls(len(entries), pa.string())


def lengths_at(maps: pa.Array, entries: I64) -> I64:
    """How many octets the values at indices in `maps.items` have, -1 for -1."""
    return take_or(integers(pc.binary_length(maps.items)), entries)
