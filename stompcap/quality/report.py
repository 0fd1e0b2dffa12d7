"""The report on one data file: small facts from which the lake's profiles and sums are added up.

Columns of Parquet are dictionaries already, so values are counted as Arrow, and the invariants' sums are added up in the same pass.
Nothing is sorted but the keys that no invariant proves. No column of octets is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem

from stompcap.columns import U64, distinct
from stompcap.lake.paths import filesystem
from stompcap.quality import clear_secrets, examples, invariants, measures, quantities, ranges
from stompcap.quality.invariants import Invariant
from stompcap.quality.ledgers import EMPTY, Entries, Packed, Quantity, added, of_rows
from stompcap.quality.quantities import LEDGERS
from stompcap.quality.ranges import Faults
from stompcap.quality.row_rules import BY_TABLE
from stompcap.quality.sums import MASK, OTHER, Rows
from stompcap.tables import TABLES, Column, Table

LONGEST = 40
"""Characters of an unknown word that are shown."""

UNKNOWN = 3
"""Unknown words that are shown per file and column."""

PRESENT = "present"
"""Stands for every value of a column that is only checked for null."""

SCHEMA = pa.schema([
    ("table_name", pa.string()), ("file", pa.string()), ("facts", pa.string()), ("groups", pa.binary()), ("others", pa.binary()),
    *((f"{name}_{what}", pa.binary()) for name in LEDGERS for what in ("keys", "values")),
])


@dataclass(frozen=True)
class Report:
    """What one data file adds.

    `facts` are rows, values, surplus, sums, faults, measures. `groups`, in tables of which no ledger has the streams: the distinct hashes
    of streams, or of keys in tables without streams, in order. `others`, of table streams: for each stream that does not speak STOMP its
    hash, and what it adds to the tiling's left side if its octets are kept. Hashes are 8 octets each. `entries` are those of each ledger
    (stompcap.quality.ledgers).
    """

    table: str
    file: str
    facts: Mapping[str, Any]
    groups: U64
    others: U64
    entries: Mapping[str, Packed] = field(default_factory=dict)

    @property
    def row(self) -> dict[str, Any]:
        """As a row of SCHEMA."""
        return {
            "table_name": self.table, "file": self.file, "facts": json.dumps(self.facts),
            "groups": self.groups.tobytes(), "others": self.others.tobytes(),
            **{f"{name}_keys": one.keys.tobytes() for name, one in self.entries.items()},
            **{f"{name}_values": one.values for name, one in self.entries.items()},
        }

    @staticmethod
    def of(row: Mapping[str, Any]) -> Report:
        """From a row of SCHEMA."""
        ledgers = quantities.ledgers_of(row["table_name"])
        entries = {name: Packed(np.frombuffer(row[f"{name}_keys"], "<u8"), row[f"{name}_values"]) for name in ledgers}
        groups, others = (np.frombuffer(row[name], "<u8") for name in ("groups", "others"))
        return Report(row["table_name"], row["file"], json.loads(row["facts"]), groups, others.reshape(-1, 2), entries)


Task = list[tuple[str, str, str, bool]]
"""Files that one task reports on: of each its table, name, URI, and whether it is searched for secrets."""


@dataclass(frozen=True)
class Asked:
    """What a validation asks reports for.

    Attributes:
        counted: the tables whose repeated keys are searched for.
        judged: the names of invariants; with that of the check for secrets, these are searched for.
        searched: the tables of which the octets of some files are looked at.
    """

    counted: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()

    @staticmethod
    def of_tables(names: Sequence[str]) -> Asked:
        """What is asked of some tables alone: their octets are not looked at."""
        proved = invariants.provable(names)
        return Asked(frozenset(names) - {*proved}, frozenset(rule.name for rule in invariants.among(names)))

    @staticmethod
    def of_lake(lake: str) -> Asked:
        """What is asked of all tables of a lake."""
        asked = Asked.of_tables(list(TABLES))
        masked = {clear_secrets.MASKED} if clear_secrets.judged(lake) else set()
        return Asked(asked.counted, asked.judged | masked, frozenset(clear_secrets.COLUMNS))


def checked(table: Table) -> tuple[Column, ...]:
    """The columns with a rule: enumerations and those that may not be null."""
    return tuple(c for c in table.columns if c.words or not c.nullable)


def report(
    table: Table, name: str, uri: str, counted: bool, rules: Sequence[Invariant], searched: bool = False, masked: bool = True
) -> Report:
    """The report on one Parquet file, which is read a row group at a time; `counted`: repeated keys are searched for.

    `searched`: some octets are looked at, for secrets in clear too where all should be `masked`.
    """
    system, path = filesystem(uri)
    columns = checked(table)
    mine = [points for rule in rules for points in rule.left + rule.right if points.table == table.name]
    by_stream = "stream_id" in table.key
    grouped = counted and not quantities.has_streams(table.name)
    strings = {c.name for c in columns if c.words}.union(*(points.strings for points in mine))
    if counted:
        strings |= {name for name in table.key if pa.types.is_string(table.column(name).type)}
    adding = {name: quantities.of_table(name, table.name) for name in quantities.ledgers_of(table.name)}
    adds = [one for some in adding.values() for one in some]
    strings = strings.union(*(one.strings for one in adds))
    parts: dict[str, list[Entries]] = {name: [] for name in adding}
    values: dict[str, dict[str | None, int]] = {c.name: {} for c in columns}
    sums = {rule.name: [[0, 0], [0, 0]] for rule in rules}
    faults: dict[str, Faults] = {}
    measured = measures.Measures()
    keys, groups, others = [], [], []
    with _opened(path, system, strings) as file:
        columns = tuple(column for column in columns if column.name in file.schema_arrow.names)  # an older file may lack some
        required = {file.schema.column(i).name for i in range(len(file.schema)) if file.schema.column(i).max_definition_level == 0}
        wanted = strings | {c.name for c in columns if c.name not in required}
        wanted = wanted.union(*(points.columns for points in mine)) | (set(table.key) if counted else set())
        checks = ranges.undecided(file, ranges.checks(table))
        wanted = wanted.union(*(check.columns for check in checks)) | measures.columns(table.name)
        row_rules = BY_TABLE[table.name]
        wanted = wanted.union(*(one.columns for one in row_rules), *(one.needs for one in adds))
        lacks = {*(name for one in adds for name in one.needs), *(n for one in row_rules for n in one.columns)} - {*file.schema_arrow.names}
        for number in range(file.num_row_groups):
            group = _row_group(file, number, table, wanted)
            rows = Rows(group)
            if not rows.size:
                continue
            ranges.find_faults(file, number, group, checks, faults)
            for one in row_rules:
                if not lacks & {*one.columns}:
                    ranges.add_faults(file, number, table, one.label, one.columns, one.broken(rows), faults)
            for ledger, some in adding.items():
                parts[ledger].append(of_rows(rows, some) if not lacks else _present(rows, some, lacks))
            measured.add_rows(table.name, group)
            for column in columns:
                found = dict(_values(rows, column, column.name in required))
                for value, count in found.items():
                    values[column.name][value] = values[column.name].get(value, 0) + count
                examples.find(file, number, group, table, column, found, faults)
            for rule in rules:
                for total, side in zip(sums[rule.name], (rule.left, rule.right), strict=True):
                    count, hashed = _side(rows, side, table.name)
                    total[:] = total[0] + count, (total[1] + hashed) & MASK
            if counted:
                keys.append(rows.keys(table.key))
            if grouped:
                groups.append(distinct(rows.keys(quantities.STREAM)) if by_stream else keys[-1])
            if table.name == "streams":
                others.append(_others(rows, rules))
        size = file.metadata.num_rows
        if searched:
            clear_secrets.search(file, table, masked, faults)
    facts = {
        "rows": size, "surplus": size - len(distinct(np.concatenate(keys))) if keys else 0,
        "values": {name: list(counts.items()) for name, counts in values.items()},
        "sums": {name: both for name, both in sums.items() if any(both[0] + both[1])},
        "faults": {label: (found.rows, found.first) for label, found in faults.items()},
        "measures": measured.facts,
        "lacks": [one.name for one in adds if one.needs & lacks],
    }
    entries = {ledger: _together(parts[ledger], some).packed for ledger, some in adding.items()}
    none = np.zeros(0, np.uint64)
    together = distinct(np.concatenate(groups)) if groups else none
    return Report(table.name, name, facts, together, np.concatenate(others) if others else none.reshape(-1, 2), entries)


def _opened(path: str, system: FileSystem, dictionaries: set[str]) -> pq.ParquetFile:
    """A file whose columns of few distinct strings are read as dictionaries; one that is older than such a column lacks it."""
    try:
        return pq.ParquetFile(path, filesystem=system, read_dictionary=sorted(dictionaries))
    except KeyError:
        held = dictionaries & {*pq.read_schema(path, filesystem=system).names}
        return pq.ParquetFile(path, filesystem=system, read_dictionary=sorted(held))


def _row_group(file: pq.ParquetFile, number: int, table: Table, wanted: set[str]) -> pa.Table:
    """The columns wanted of a row group; a column of the key that an older file lacks is null."""
    group = ranges.with_strings(file.read_row_group(number, columns=sorted(wanted)))
    for key in wanted.intersection(table.key).difference(group.column_names):
        group = group.append_column(key, pa.nulls(len(group), table.column(key).type))
    return group


def _present(rows: Rows, quantities: Sequence[Quantity], lacks: set[str]) -> Entries:
    """The entries of rows of an older file, which lack some columns: what needs these adds nothing."""
    there = [one for one in quantities if not one.needs & lacks]
    found = of_rows(rows, there)
    values = np.array([
        found.values[there.index(one)] if one in there else np.full(len(found.keys), EMPTY[one.how]) for one in quantities
    ], np.int64)
    return Entries(found.keys, values.reshape(len(quantities), -1))


def _together(parts: Sequence[Entries], quantities: Sequence[Quantity]) -> Entries:
    """The entries of all row groups; those of one are in order, each key once."""
    return parts[0] if len(parts) == 1 else added(parts, quantities)


def _side(rows: Rows, side: Sequence[invariants.Points], table: str) -> tuple[int, int]:
    """What some rows of a table add to one side of an invariant."""
    parts = [rows.sum(points) for points in side if points.table == table]
    return sum(count for count, _ in parts), sum(total for _, total in parts) & MASK


def _others(rows: Rows, rules: Sequence[Invariant]) -> U64:
    """Of each stream that does not speak STOMP: its hash, and the sum of its points on the tiling's left side minus those on the right."""
    others = rows.meet(OTHER)
    total = np.zeros(int(others.sum()), np.uint64)
    for rule in rules:
        if rule.name == invariants.TILING:
            for points in (p for p in rule.left if p.kept):
                total = total + rows.hashes(points)[others]
            for points in (p for p in rule.right if p.kept):
                total = total - rows.hashes(points)[others]
    return np.stack([rows.keys(quantities.STREAM)[others], total], axis=1)


def _values(rows: Rows, column: Column, required: bool) -> Iterator[tuple[str | None, int]]:
    """The values of a column and their rows; unknown words are cut short and few, but all their rows are counted."""
    if not column.words:
        nulls = 0 if required else int(rows.null(column.name).sum())
        yield from ((value, count) for value, count in ((PRESENT, rows.size - nulls), (None, nulls)) if count)
        return
    coded, codes = rows.coded(column.name)
    words = coded.to_pylist()
    counts = np.bincount(codes, minlength=len(words) + 1).tolist()
    unknown = [word for word, count in zip(words, counts, strict=False) if count and word not in column.words]
    keys = {word: unknown[min(index, UNKNOWN - 1)][:LONGEST] for index, word in enumerate(unknown)}
    found: dict[str | None, int] = {}
    for word, count in zip([*words, None], counts, strict=True):
        if count:
            key = word if word is None else keys.get(word, word)
            found[key] = found.get(key, 0) + count
    yield from found.items()


def reports(task: Task, asked: Asked) -> list[Report]:
    """The reports on the files of a task."""
    rules = [rule for rule in invariants.INVARIANTS if rule.name in asked.judged]
    masked = clear_secrets.MASKED in asked.judged
    return [report(TABLES[table], name, uri, table in asked.counted, rules, searched, masked) for table, name, uri, searched in task]
