"""The checks across tables (`across`), made of the entries of all data files: each bucket of hashes is added up and judged by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stompcap.columns import U64, distinct
from stompcap.lake.paths import filesystem
from stompcap.quality.across import Balance
from stompcap.quality.ledgers import EMPTY, Entries, Quantity, added, of_rows
from stompcap.quality.quantities import LEDGERS, of_table
from stompcap.quality.ranges import EXAMPLES, Faults, harmless_key, plain_rows, with_strings
from stompcap.quality.sums import Rows
from stompcap.tables import TABLES, Table

BUCKET_KEYS = 1 << 17
"""Entries that are added up at a time, about."""


@dataclass(frozen=True)
class Entered:
    """The entries of some rows of a table in a ledger."""

    table: str
    entries: Entries


@dataclass
class Broken:
    """The keys that break a check: how many, the hashes of all, and of the first some with their quantities."""

    keys: int = 0
    hashes: list[int] = field(default_factory=list)
    first: list[dict[str, int]] = field(default_factory=list)


def judge(ledger: str, parts: Sequence[Entered], rules: Sequence[Balance]) -> dict[tuple[str, str], Broken]:
    """By table and name of each check of a ledger the keys that break it."""
    found = {(rule.table, rule.name): Broken() for rule in rules}
    if not rules:
        return found
    for bucket in _buckets(parts):
        keys, values = _joined(ledger, bucket)
        for rule in rules:
            wrong = np.flatnonzero(rule.broken(values) & (keys != 0))
            if len(wrong):
                here = found[rule.table, rule.name]
                here.keys += len(wrong)
                here.hashes += keys[wrong].tolist()
                some = wrong[: EXAMPLES - len(here.first)].tolist()
                here.first += [{name: int(values[name][at]) for name in rule.uses} for at in some]
    return found


def _buckets(parts: Sequence[Entered]) -> Iterator[list[Entered]]:
    """The entries, bucket by bucket: slices, as hashes are in order in each part."""
    bits = max((sum(len(one.entries.keys) for one in parts) // BUCKET_KEYS).bit_length(), 0)
    borders = [np.uint64(number << (64 - bits)) for number in range(1, 1 << bits)] if bits else []
    places = [[0, *np.searchsorted(one.entries.keys, borders).tolist(), len(one.entries.keys)] for one in parts]
    for number in range(1 << bits):
        sliced = [(one, at[number], at[number + 1]) for one, at in zip(parts, places, strict=True)]
        yield [Entered(one.table, one.entries.within(begin, end)) for one, begin, end in sliced if begin < end]


def _joined(ledger: str, bucket: Sequence[Entered]) -> tuple[U64, dict[str, Any]]:
    """The keys of a bucket, and for each what every quantity adds up to."""
    by_table = {table: [one.entries for one in bucket if one.table == table] for table in {one.table for one in bucket}}
    merged = {table: added(entries, of_table(ledger, table)) for table, entries in by_table.items()}
    keys = distinct(np.concatenate([np.zeros(0, np.uint64), *(one.keys for one in merged.values())]))
    values = {}
    for one in LEDGERS[ledger]:
        values[one.name] = np.full(len(keys), EMPTY[one.how], np.int64)
    for table, entries in merged.items():
        at = np.searchsorted(keys, entries.keys)
        for one, row in zip(of_table(ledger, table), entries.values, strict=True):
            values[one.name][at] = row
    return keys, values


def faults(rule: Balance, broken: Broken, having: Callable[[str, int], Iterable[str]]) -> Faults:
    """How many keys break a check, with the place of a row for each of the first, beside the quantities that do not agree.

    `having` gives the files of a table, by URI, that have entries with a hash.
    """
    tables = dict.fromkeys([rule.table, *(use.partition(".")[0] for use in rule.uses)])
    first = []
    for hashed, quantities in zip(broken.hashes, broken.first, strict=False):
        rows = (_row(rule.ledger, TABLES[table], uri, hashed) for table in tables for uri in having(table, hashed))
        first.append(next((row for row in rows if row), {}) | quantities)
    return Faults(broken.keys, first)


def _has(entries: Entries, hashed: int) -> bool:
    at = int(np.searchsorted(entries.keys, np.uint64(hashed)))
    return at < len(entries.keys) and int(entries.keys[at]) == hashed


def _row(ledger: str, table: Table, uri: str, hashed: int) -> dict[str, Any]:
    """The key of the first row of a file with a key of the ledger, without text from the wire."""
    system, path = filesystem(uri)
    for key in dict.fromkeys(one.key for one in of_table(ledger, table.name)):
        of_key = [Quantity("rows", table.name, key)]
        wanted = [*dict.fromkeys([*key, *harmless_key(table), *(("path",) if table.name == "captures" else ())])]
        with pq.ParquetFile(path, filesystem=system) as file:
            for number in range(file.num_row_groups):
                group = with_strings(file.read_row_group(number, columns=[name for name in wanted if name in file.schema_arrow.names]))
                rows = Rows(group)
                if rows.size and rows.has(key) and _has(of_rows(rows, of_key), hashed):
                    shown = [name for name in wanted if _shown(table.name, name)]
                    return plain_rows(group.filter(_where(rows, key, hashed)), shown)[0]
    return {}


def _where(rows: Rows, key: tuple[str, ...], hashed: int) -> pa.Array:
    return pa.array(rows.keys(key) == np.uint64(hashed))


def _shown(table: str, name: str) -> bool:
    """Whether a column has no text from the wire."""
    return name in harmless_key(TABLES[table]) or name.endswith("_id") or name == "path"
