"""Columns: the types of their arrays, Arrow to numpy and back, words to codes and back; a whole column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.tables.schema import TIMESTAMP

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Octets = U8
"""An array of type U8 whose values are octets of a file, a packet or a stream; others are codes and marks."""

N = TypeVar("N", bound=np.integer)

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


def column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """A table's column of fixed width, without nulls, as one contiguous array of its own type."""
    return np.ascontiguousarray(flat(table.column(name)).to_numpy(zero_copy_only=False))


def coded(column: pa.Array | pa.ChunkedArray, words: pa.Array | Sequence[str]) -> I64:
    """Index in `words` of each value, -1 where it is not there; cheap for columns in which a value stands many times in a row."""
    array, known = flat(column), words if isinstance(words, pa.Array) else pa.array(words, pa.string())
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.null_count:
        return integers(pc.index_in(array, value_set=known))
    runs = pc.run_end_encode(array)
    ends = runs.run_ends.to_numpy()
    codes = integers(pc.index_in(runs.values, value_set=known))
    return np.repeat(codes, np.diff(ends, prepend=0))


def text_codes(*columns: pa.Array) -> list[I64]:
    """Dense codes of several text columns in one code space: equal text, equal code; -1 for null."""
    both = pa.concat_arrays([flat(c).cast(pa.string()) for c in columns])
    return list(np.split(integers(both.dictionary_encode().indices), np.cumsum([len(c) for c in columns])[:-1]))


def distinct(values: npt.NDArray[N]) -> npt.NDArray[N]:
    """The different values, ascending. `np.unique` puts them into a hash table first, which takes 80 times as long where most differ."""
    found = np.sort(values)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def spread(count: int, at: I64, values: I64, otherwise: int = -1) -> I64:
    """`values` at the indices `at` of an array of `count` entries that is `otherwise` elsewhere."""
    column = np.full(count, otherwise, np.int64)
    column[at] = values
    return column


def take_or(values: I64, at: I64) -> I64:
    """`values` at the indices `at`, -1 for index -1."""
    if len(values) == 0:
        return np.full(len(at), -1, np.int64)
    return np.where(at < 0, -1, values[at])


# numpy to Arrow


def or_null(values: I64) -> pa.Array:
    """Numbers as a BIGINT column, null for -1."""
    return pa.array(values, pa.int64(), mask=values < 0)


def timestamps(values: I64) -> pa.Array:
    """Nanoseconds as a TIMESTAMP column of microseconds, null for -1."""
    return pa.array(values // 1000, pa.int64(), mask=values < 0).cast(TIMESTAMP)


def worded(codes: npt.NDArray[np.integer], words: Sequence[str]) -> pa.StringArray:
    """The word that each code is the index of, null for -1."""
    return take_or_null(pa.array(words, pa.string()), codes.astype(np.int64, copy=False))


def take_or_null(values: pa.Array, at: I64) -> pa.Array:
    """`values` at the indices `at`, null for -1."""
    return values.take(pa.array(at, pa.int64(), mask=at < 0))


def with_integers(table: pa.Table, name: str, values: I64) -> pa.Table:
    """A table with a column of integers, be it there already or not."""
    column, index = pa.array(values), table.schema.get_field_index(name)
    return table.append_column(name, column) if index < 0 else table.set_column(index, name, column)


def filtered(table: pa.Table, mask: Bools) -> pa.Table:
    """The rows of a mask; the table itself, for its copy may be large, where they are all."""
    return table if mask.all() else table.filter(pa.array(mask))


# groups


def by_key(direction: I64, offset: I64) -> I64 | None:
    """The order of rows by direction and offset; None where they have it already."""
    step = np.diff(direction)
    if bool(np.all((step > 0) | ((step == 0) & (np.diff(offset) >= 0)))):
        return None
    order: I64 = np.lexsort((offset, direction)).astype(np.int64)
    return order


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
