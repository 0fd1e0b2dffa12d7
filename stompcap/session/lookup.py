"""Header values by name for a whole column of maps at once, without a Python object per frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.kernel import kernel

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@kernel
def _entries(ends: I32, key_ends: I32, keys: U8, name: U8, found: I64) -> None:
    """Per map, the index of the first entry whose key is `name`, or -1; `ends` and `key_ends` are Arrow offsets."""
    length = len(name)
    for i in range(len(ends) - 1):
        found[i] = -1
        for entry in range(ends[i], ends[i + 1]):
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


def header_column(maps: pa.Array | pa.ChunkedArray, name: str) -> pa.StringArray:
    """Value of `name` in each map of a MAP<STRING, STRING> column, null where the map lacks it."""
    if isinstance(maps, pa.ChunkedArray):
        maps = maps.combine_chunks()
    if isinstance(maps, pa.ChunkedArray):  # combine_chunks keeps a column of no chunks as it is
        return pa.array([], pa.string())
    count = len(maps)
    if count == 0:
        return pa.array([], pa.string())
    keys, items = maps.keys, maps.items
    found = np.empty(count, np.int64)
    data = keys.buffers()[2]
    octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    key_ends = _offsets(keys, len(keys)) if len(keys) else np.zeros(1, np.int32)
    _entries(_offsets(maps, count), key_ends, octets, np.frombuffer(name.encode(), np.uint8), found)
    absent = found < 0
    if len(items) == 0 or absent.all():
        return pa.nulls(count, pa.string())
    return items.take(pa.array(found, mask=absent))
