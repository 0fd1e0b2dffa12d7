"""Ledgers: what the rows of a table add up to for each key, such as a stream: the ground of every check across tables.

A ledger has one kind of key, and quantities: sums, least and greatest values, over the rows of one table with that key. Each data file is
added up by itself, each key of it once, in order of the keys' hashes. The entries of all files are then added up bucket by bucket of the
hashes (stompcap.quality.balances): a bucket needs nothing of another, so that memory is bounded and buckets may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, U64
from stompcap.quality.invariants import Condition
from stompcap.quality.sums import OFFSET, Rows, mixed

SUM, LEAST, MOST = "sum", "least", "most"
EMPTY = {SUM: 0, LEAST: np.iinfo(np.int64).max, MOST: np.iinfo(np.int64).min}
"""What no rows add up to."""

CODEC = pa.Codec("zstd", 1)

MERGE = {SUM: np.add, LEAST: np.minimum, MOST: np.maximum}


@dataclass(frozen=True)
class Quantity:
    """What the rows of a table add up to, for each key: the sum, or the least or greatest value, of a column of numbers where not null.

    Without columns rows are counted; of several columns, their hash is added up. `where`: only of rows that meet all conditions.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...] = ()
    how: str = SUM
    where: tuple[Condition, ...] = ()

    @property
    def strings(self) -> set[str]:
        """The columns that are read as dictionaries."""
        return {*self.key, *(condition.column for condition in self.where if condition.words)}

    @property
    def needs(self) -> set[str]:
        """All columns that are read."""
        return self.strings | set(self.columns) | {condition.column for condition in self.where}

    def values(self, rows: Rows) -> I64:
        """What each row adds."""
        mask = np.logical_and.reduce([rows.meet(condition) for condition in self.where]) if self.where else None
        if not self.columns:
            return np.ones(rows.size, np.int64) if mask is None else mask.astype(np.int64)
        found = rows.numbers(self.columns[0]) if len(self.columns) == 1 else rows.keys(self.columns).view(np.int64)
        if self.how != SUM and rows.has_null(self.columns[0]):
            there = ~rows.null(self.columns[0])
            mask = there if mask is None else mask & there
        return found if mask is None else np.where(mask, found, EMPTY[self.how])


@dataclass(frozen=True)
class Entries:
    """The entries of some rows: hashes of keys, ascending, each once; and per quantity a row of values."""

    keys: U64
    values: I64

    @property
    def packed(self) -> Packed:
        """The same, small."""
        return Packed(self.keys, CODEC.compress(np.ascontiguousarray(self.values), asbytes=True))

    @staticmethod
    def unpacked(keys: U64, octets: bytes | pa.Buffer, quantities: int) -> Entries:
        """Entries with these keys, the values of which were packed."""
        values = CODEC.decompress(octets, len(keys) * quantities * 8)
        return Entries(keys, np.frombuffer(values, np.int64).reshape(quantities, len(keys)))

    def within(self, begin: int, end: int) -> Entries:
        """The entries from one place to another."""
        return Entries(self.keys[begin:end], self.values[:, begin:end])


@dataclass(frozen=True)
class Packed:
    """Entries as they are kept: the values as octets, compressed, for most are small, or 0."""

    keys: U64
    values: bytes


def added(parts: Sequence[Entries], quantities: Sequence[Quantity]) -> Entries:
    """Several entries as one, each key once."""
    keys = np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in parts)])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.zeros(0, np.int64)
    values = np.concatenate([part.values for part in parts], axis=1)[:, order] if parts else np.zeros((len(quantities), 0), np.int64)
    merged = [MERGE[one.how].reduceat(row, starts) if len(starts) else row for one, row in zip(quantities, values, strict=True)]
    return Entries(ordered[starts], np.array(merged, np.int64).reshape(len(quantities), len(starts)))


def of_rows(rows: Rows, quantities: Sequence[Quantity]) -> Entries:
    """The entries of the rows of a table, for quantities of one ledger. Rows with one key stand mostly side by side."""
    parts = []
    for key in dict.fromkeys(one.key for one in quantities):
        hashes, starts = _runs(rows, key)
        values = np.empty((len(quantities), len(starts)), np.int64)
        for number, one in enumerate(quantities):
            mine = one.key == key and bool(len(starts))
            values[number] = MERGE[one.how].reduceat(one.values(rows), starts) if mine else EMPTY[one.how]
        parts.append(added([Entries(hashes, values)], quantities))
    return parts[0] if len(parts) == 1 else added(parts, quantities)


def _runs(rows: Rows, key: tuple[str, ...]) -> tuple[U64, I64]:
    """Where runs of rows with one key begin, and its hash; a key in which something is null has none, and joins the run of hash 0."""
    coded = [rows.coded(name) for name in key]
    changes = np.zeros(rows.size, np.bool_)
    changes[:1] = True
    for _, codes in coded:
        changes[1:] |= codes[1:] != codes[:-1]
    starts = np.flatnonzero(changes)
    hashes, null = np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.bool_)
    for name, (words, codes) in zip(key, coded, strict=True):
        at = codes[starts]
        hashes = mixed(hashes * OFFSET + rows.word_hashes(name)[at])
        null |= at == len(words)
    return np.where(null, np.uint64(0), hashes), starts
