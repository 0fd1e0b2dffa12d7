"""Sums of hashes modulo 2^64 that compare multisets of points, added up row group by row group, in any order.

A point's hash is splitmix64's finaliser over its parts (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014),
with strings hashed once for each distinct value, as bodies are (stompcap.stomp.hashes). Two different multisets agree by chance once in
2^63.
"""

from collections.abc import Collection
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I32, I64, U64, Bools, Octets, integers
from stompcap.quality.invariants import Condition, Points
from stompcap.stomp.hashes import KEY_OCTETS, body_hashes

MASK = 2**64 - 1
NOTHING = np.uint64(0x6E756C6C6E756C6C)
"""Stands for null."""

HASHING = 3
"""Raised whenever a value gets another hash: sums that were kept before are of no use then."""

TEXTS = (pa.string(), pa.large_string(), pa.string_view())
"""The types that a text may have in files of other programs."""

STREAM_ID, ID_DIGITS = "stream_id", 20
"""The column with ids of streams, of so many hexadecimal digits, which are as good as a hash: an id is a digest itself."""

NO_DIGIT = 255
DIGIT_VALUES = np.full(256, NO_DIGIT, np.uint8)
DIGIT_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)

KEY = bytes(KEY_OCTETS)
"""That of the hashes of strings: they are compared among the reports on one lake, and hide nothing."""

OFFSET, SIDE, WORD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03), np.uint64(0x8CB92BA72F3D8DD7)
"""Odd factors that keep the parts of a point distinct."""


def mixed(values: U64) -> U64:
    """The finaliser of splitmix64, element by element."""
    z = values >> np.uint64(30)
    z ^= values
    z *= np.uint64(0xBF58476D1CE4E5B9)
    shifted = z >> np.uint64(27)
    z ^= shifted
    z *= np.uint64(0x94D049BB133111EB)
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z


@lru_cache
def string_hash(value: str) -> int:
    """A 63-bit hash of a string."""
    return int(string_hashes(pa.array([value], pa.string()))[0])


def string_hashes(words: pa.StringArray) -> U64:
    """The hashes of strings."""
    if len(words) == 0:
        return np.zeros(0, np.uint64)
    offsets, octets = _buffers(words)
    begin = offsets[:-1].astype(np.int64)
    return body_hashes(octets.copy(), begin, np.diff(offsets).astype(np.int64), np.zeros(len(words), np.bool_), KEY).view(np.uint64)


def _buffers(words: pa.StringArray) -> tuple[I32, Octets]:
    """Where each string begins and the last one ends, and the octets of all; there are some, for Arrow allows none no buffers."""
    _, offsets, octets = words.buffers()
    return np.frombuffer(offsets, np.int32)[words.offset : words.offset + len(words) + 1], np.frombuffer(octets or b"", np.uint8)


def id_hashes(ids: pa.StringArray) -> U64:
    """The hashes of ids of streams; what has not their form, in a file of another program, is hashed as other strings are."""
    if len(ids) == 0:
        return np.zeros(0, np.uint64)
    offsets, octets = _buffers(ids)
    fits = np.diff(offsets) == ID_DIGITS
    digits = DIGIT_VALUES[octets[offsets[:-1][fits, np.newaxis] + np.arange(ID_DIGITS)]]
    are_ids = (digits != NO_DIGIT).all(axis=1)
    fits[fits] = are_ids
    found = np.zeros(len(ids), np.uint64)
    packed = digits[are_ids, 0::2] << 4 | digits[are_ids, 1::2]
    head, tail = np.ascontiguousarray(packed[:, :8]).view(">u8")[:, 0], np.ascontiguousarray(packed[:, 8:]).view(">u2")[:, 0]
    found[fits] = head.astype(np.uint64) + tail.astype(np.uint64) * WORD + OFFSET  # 0 would stand for no id
    found[~fits] = string_hashes(ids.filter(pa.array(~fits)))
    return found


class Rows:
    """Rows of one table as numpy columns, each made once."""

    def __init__(self, table: pa.Table) -> None:
        self.size = table.num_rows
        self._table = table
        self._coded: dict[str, tuple[pa.StringArray, I64]] = {}
        self._hashed: dict[str, U64] = {}
        self._numbers: dict[str, I64] = {}
        self._words: dict[str, U64] = {}
        self._null: dict[str, Bools] = {}
        self._met: dict[Condition, Bools] = {}
        self._points: dict[tuple[str | None, str | None, tuple[str, ...]], U64] = {}

    def coded(self, name: str) -> tuple[pa.StringArray, I64]:
        """The distinct strings of a column, and the index of each row's; null has the index after the last."""
        if name not in self._coded:
            column = self._table.column(name)
            if not pa.types.is_dictionary(column.type):
                column = column.cast(pa.string()).dictionary_encode()
            array = column.unify_dictionaries().combine_chunks()
            words = array.dictionary.cast(pa.string())
            self._coded[name] = words, integers(array.indices, len(words))
        return self._coded[name]

    def hashed(self, name: str) -> U64:
        """A hash for each row's value of any column."""
        if name not in self._hashed:
            column = self._table.column(name)
            if pa.types.is_dictionary(column.type) or column.type in TEXTS:
                self._hashed[name] = self.word_hashes(name)[self.coded(name)[1]]
            else:
                values = mixed(self.numbers(name).view(np.uint64))
                self._hashed[name] = np.where(self.null(name), NOTHING, values) if column.null_count else values
        return self._hashed[name]

    def word_hashes(self, name: str) -> U64:
        """The hashes of a column's distinct strings; behind them what stands for null."""
        if name not in self._words:
            words, _ = self.coded(name)
            self._words[name] = np.append((id_hashes if name == STREAM_ID else string_hashes)(words), NOTHING)
        return self._words[name]

    def numbers(self, name: str) -> I64:
        """A column of numbers, timestamps or Booleans, or the lengths of lists; null is 0."""
        if name not in self._numbers:
            column = self._table.column(name).combine_chunks()
            if pa.types.is_list(column.type):
                column = pc.list_value_length(column)
            column = (column.cast(pa.int32()) if pa.types.is_date(column.type) else column).cast(pa.int64())
            self._numbers[name] = integers(column, 0)
        return self._numbers[name]

    def has_null(self, name: str) -> bool:
        """Whether a column has a null."""
        return bool(self._table.column(name).null_count)

    def has(self, names: Collection[str]) -> bool:
        """Whether the rows have these columns; those of an older file may lack some."""
        return set(names) <= set(self._table.column_names)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is."""
        return self._table.column(name)

    def null(self, name: str) -> Bools:
        """Where a column is null."""
        if name not in self._null:
            self._null[name] = self._table.column(name).is_null().to_numpy() if self.has_null(name) else np.zeros(self.size, np.bool_)
        return self._null[name]

    def meet(self, condition: Condition) -> Bools:
        """Where a condition holds."""
        if condition not in self._met:
            self._met[condition] = self._meet(condition)
        return self._met[condition]

    def _meet(self, condition: Condition) -> Bools:
        if condition.least is not None:
            return self.numbers(condition.column) >= condition.least
        if not condition.words:
            null = self.null(condition.column)
            return null if condition.null else ~null
        words, codes = self.coded(condition.column)
        found: Bools = np.array([*((word in condition.words) != condition.negated for word in words.to_pylist()), False])[codes]
        return found

    def total(self, names: tuple[str, ...]) -> I64:
        """The sum of some columns, row by row."""
        total = np.zeros(self.size, np.int64)
        for name in names:
            total = total + self.numbers(name)
        return total

    def hashes(self, points: Points) -> U64:
        """The hash of each row's point, without conditions and times."""
        of = points.side, points.word, points.at
        if of not in self._points:
            self._points[of] = self._hashes(points)
        return self._points[of]

    def _hashes(self, points: Points) -> U64:
        if points.side is None:
            side = self.word_hashes("direction")[self.coded("direction")[1]] * SIDE
        else:
            side = np.full(1, string_hash(points.side), np.uint64) * SIDE
        base = self.hashed("stream_id") + side
        if points.word:
            base = base + self.hashed(points.word) * WORD
        return mixed(base + self.total(points.at).view(np.uint64) * OFFSET if points.at else base)

    def sum(self, points: Points) -> tuple[int, int]:
        """How many points the rows are, and the sum of their hashes; of `kept` points, only those of protocol stomp."""
        hashes = self.hashes(points)
        times = self.total(points.times) if points.times else None
        conditions = (*points.where, *((STOMP,) if points.kept else ()))
        if conditions:
            mask = np.logical_and.reduce([self.meet(condition) for condition in conditions])
            hashes = hashes[mask]
            times = None if times is None else times[mask]
        if times is not None:
            return int(times.sum()), int((hashes * times.view(np.uint64)).sum(dtype=np.uint64))
        return len(hashes), int(hashes.sum(dtype=np.uint64))

    def keys(self, key: tuple[str, ...]) -> U64:
        """The hash of each row's key."""
        first, *others = key
        found = mixed(self.hashed(first))
        for name in others:
            found *= OFFSET
            found += self.hashed(name)
            found = mixed(found)
        return found


STOMP = Condition("protocol", ("stomp",))
OTHER = Condition("protocol", ("stomp",), negated=True)
