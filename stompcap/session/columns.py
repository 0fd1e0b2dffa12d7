"""Columns: Arrow to numpy and back, header values out of maps, equal text to equal codes; a whole column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.tables.schema import TIMESTAMP

U8 = npt.NDArray[np.uint8]
I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


# Arrow to numpy


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array of a table's column; copied only where it lies in several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def integers(column: pa.Array | pa.ChunkedArray, missing: int = -1) -> I64:
    """An integer column as numpy, nulls as `missing`."""
    array = flat(column)
    if array.null_count:
        array = array.fill_null(missing)
    return cast(I64, array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False))


def truth(column: pa.Array | pa.ChunkedArray) -> Bools:
    """A Boolean column as numpy, null being false."""
    return np.asarray(pc.fill_null(flat(column), False).to_numpy(zero_copy_only=False), np.bool_)


def repeated_codes(column: pa.Array | pa.ChunkedArray, known: pa.Array) -> I64:
    """Index in `known` of each value, -1 where it is not there; cheap for columns in which a value stands many times in a row."""
    array = flat(column)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.null_count:
        return integers(pc.index_in(array, value_set=known))
    runs = pc.run_end_encode(array)
    ends = runs.run_ends.to_numpy()
    codes = integers(pc.index_in(runs.values, value_set=known))
    return np.repeat(codes, np.diff(ends, prepend=0))


def codes(*columns: pa.Array) -> list[I64]:
    """Dense codes of several text columns in one code space: equal text, equal code; -1 for null."""
    both = pa.concat_arrays([flat(c).cast(pa.string()) for c in columns])
    return list(np.split(integers(both.dictionary_encode().indices), np.cumsum([len(c) for c in columns])[:-1]))


def spread(count: int, at: I64, values: I64, otherwise: int = -1) -> I64:
    """`values` at the indices `at` of an array of `count` entries that is `otherwise` elsewhere."""
    column = np.full(count, otherwise, np.int64)
    column[at] = values
    return column


def chosen(values: I64, at: I64) -> I64:
    """`values` at the indices `at`, -1 for index -1."""
    if len(values) == 0:
        return np.full(len(at), -1, np.int64)
    return np.where(at < 0, -1, values[at])


# numpy to Arrow


def times(values: I64) -> pa.Array:
    """Nanoseconds as a BIGINT column, null for -1."""
    return pa.array(values, pa.int64(), mask=values < 0)


def timestamps(values: I64) -> pa.Array:
    """Nanoseconds as a TIMESTAMP column of microseconds, null for -1."""
    return pa.array(values // 1000, pa.int64(), mask=values < 0).cast(TIMESTAMP)


def listed(indices: I8 | I64, of: Sequence[str]) -> pa.Array:
    """The words of an enumeration by index, null for -1."""
    return pick(pa.array(of, pa.string()), indices.astype(np.int64))


def pick(values: pa.Array, at: I64) -> pa.Array:
    """`values` at the indices `at`, null for -1."""
    return pc.take(values, pa.array(at, pa.int64(), mask=at < 0))


def with_integers(table: pa.Table, name: str, values: I64) -> pa.Table:
    """A table with a column of integers, be it there already or not."""
    column, index = pa.array(values), table.schema.get_field_index(name)
    return table.append_column(name, column) if index < 0 else table.set_column(index, name, column)


def where(table: pa.Table, mask: Bools) -> pa.Table:
    """The rows of a mask; the table itself, for its copy may be large, where they are all."""
    return table if mask.all() else table.filter(pa.array(mask))


# headers


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


# groups


@kernel
def _first_above(group: I64, above: I64, starts: I64, keys: I64, found: I64) -> None:
    for i in range(len(group)):
        low, high = starts[group[i]], starts[group[i] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if keys[middle] > above[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = low if low < end else -1


def first_above(group: I64, above: I64, groups: I64, keys: I64) -> I64:
    """Per entry the index of the first event of its group whose key is above a value, -1 where there is none.

    Events stand by `groups`, ascending; the keys never fall within a group.
    """
    found = np.full(len(group), -1, np.int64)
    if len(group) and len(groups):
        starts = np.searchsorted(groups, np.arange(max(int(group.max()), int(groups[-1])) + 2))
        _first_above(group, above, starts, keys, found)
    return found


@kernel
def _rise(group: I64, values: I64) -> None:
    for i in range(1, len(values)):
        if group[i] == group[i - 1] and values[i] < values[i - 1]:
            values[i] = values[i - 1]


def rising(group: I64, values: I64) -> I64:
    """The highest value so far in each group; entries stand by group."""
    highest = values.astype(np.int64)
    _rise(group, highest)
    return highest
