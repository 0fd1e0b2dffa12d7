"""Profiles of tables, made by tasks that read the Parquet files themselves: threads for a small lake, else one Spark job.

Two hundred expectations as Spark jobs cost minutes; as aggregates of one query, seconds of planning. Columns of Parquet are
dictionaries already, so tasks count them as Arrow, and add up the invariants' sums in the same pass; each file gives one small
report. Nothing is sorted but the keys that no invariant proves, file by file. No column of octets is read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from stompcap.quality import invariants, ranges
from stompcap.quality.invariants import INVARIANTS, Invariant
from stompcap.quality.ranges import Faults
from stompcap.quality.sums import MASK, OTHER, Hashes, Rows
from stompcap.spark import data_files, open_tables
from stompcap.spark.places import filesystem
from stompcap.tables import TABLES, Column, Table

SHOWN = 40
"""Characters of an unknown word that are shown."""

UNKNOWN = 3
"""Unknown words that are shown per file and column."""

PRESENT = "present"
"""Stands for every value of a column that is only checked for null."""

TASK_ROWS = 1024 * 1024
"""Rows per task, unless a single file has more; starting a task costs as much as half of them."""

DRIVER_ROWS = 2 * TASK_ROWS
"""Rows of all tables that threads of this process read; beyond, Spark's processes do."""

REPORT = pa.schema([
    ("table_name", pa.string()), ("facts", pa.string()), ("groups", pa.binary()), ("others", pa.binary()),
])
"""The report of a task per file. `facts` is JSON: rows, values, surplus, sums, faults. `groups`: the distinct hashes of streams, or of keys
in tables without streams. `others`, of table streams: for each stream that does not speak STOMP its hash, and what it adds to the tiling's
left side if its octets are kept. Hashes are 8 octets each."""

Part = list[tuple[int, str, str, bool]]


@dataclass
class Profile:
    """The content of one table: rows, rows that repeat a key (as far as one file shows), and per checked column its values with their rows.

    `faults` are the rows that break a check of their own (stompcap.quality.ranges), by its label. `torn`: rows of one stream
    (or one key) are in several files, so only a query can find repeated keys.
    """

    table: Table
    rows: int = 0
    surplus: int = 0
    torn: bool = False
    values: dict[str, dict[str | None, int]] = field(default_factory=dict)
    faults: dict[str, Faults] = field(default_factory=dict)


@dataclass
class Sums:
    """An invariant's sides: points and sums of hashes."""

    left: tuple[int, int] = (0, 0)
    right: tuple[int, int] = (0, 0)

    def add(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Add the sums of some rows."""
        self.left = self.left[0] + left[0], (self.left[1] + left[1]) & MASK
        self.right = self.right[0] + right[0], (self.right[1] + right[1]) & MASK

    @property
    def agree(self) -> bool:
        """Whether both sides have the same points."""
        return self.left == self.right


def checked(table: Table) -> tuple[Column, ...]:
    """The columns with a rule: enumerations and those that may not be null."""
    return tuple(c for c in table.columns if c.words or not c.nullable)


def profiles(
    spark: Callable[[], SparkSession], locations: dict[str, str], counted: Iterable[str], since: int = 0
) -> tuple[dict[str, Profile], dict[str, Sums]]:
    """The profiles of the tables at `locations` and the sums of the invariants among them, by name.

    Repeated keys are searched for in the tables `counted`, rows that break a check of their own in the files that were added at `since`
    (milliseconds since the epoch) or later. `spark` gives the session, which a small lake does not need.
    """
    found = {name: Profile(TABLES[name], values={c.name: {} for c in checked(TABLES[name])}) for name in locations}
    rules = invariants.among(list(locations))
    sums = {rule.name: Sums() for rule in rules}
    plan = _plan(locations, since)
    if not plan:
        return found, sums
    groups: dict[str, list[Hashes]] = {name: [] for name in locations}
    others = []
    for report in _reports(plan, _Reader(frozenset(counted), frozenset(sums)), spark):
        profile, facts = found[report["table_name"]], json.loads(report["facts"])
        profile.rows += facts["rows"]
        profile.surplus += facts["surplus"]
        for column, counts in facts["values"].items():
            for value, rows in counts:
                profile.values[column][value] = profile.values[column].get(value, 0) + rows
        for name, (left, right) in facts["sums"].items():
            sums[name].add(left, right)
        for label, (rows, first) in facts["faults"].items():
            profile.faults.setdefault(label, Faults()).add(rows, first)
        groups[report["table_name"]].append(np.frombuffer(report["groups"], "<u8"))
        others.append(np.frombuffer(report["others"], "<u8").reshape(-1, 2))
    for name, parts in groups.items():
        together = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
        found[name].torn = len(np.unique(together)) < len(together)
    if invariants.TILING in sums:
        rest = np.concatenate(others)
        held = np.concatenate([np.zeros(0, np.uint64), *groups["raw_frames"]])
        sums[invariants.TILING].add((0, int(rest[np.isin(rest[:, 0], held), 1].sum(dtype=np.uint64))), (0, 0))
    return found, sums


def _plan(locations: dict[str, str], since: int) -> list[Part]:
    """The files of each task: rows, table, URI, whether new at `since`. Large ones first, each to the task with the fewest rows."""
    files: Part = []
    for name, location in locations.items():
        delta = open_tables.table(location)
        added = pa.table(delta.get_add_actions()).select(["num_records", "modification_time"]).to_pylist()
        for action, uri in zip(added, data_files.uris(delta), strict=True):
            files.append((action["num_records"] or 0, name, uri, action["modification_time"] >= since))
    tasks = min(len(files), 2 + sum(rows for rows, *_ in files) // TASK_ROWS)
    plan: list[Part] = [[] for _ in range(tasks)]
    loads = [0] * tasks
    for one in sorted(files, reverse=True):
        least = loads.index(min(loads))
        plan[least].append(one)
        loads[least] += one[0] + 1
    return plan


@dataclass(frozen=True)
class _Reader:
    """Makes the reports: repeated keys of the tables `counted`, and the sums of the invariants named in `judged`."""

    counted: frozenset[str]
    judged: frozenset[str]

    def __call__(self, part: Part) -> list[dict[str, Any]]:
        """The reports on one task's files."""
        rules = [rule for rule in INVARIANTS if rule.name in self.judged]
        return [_file(TABLES[name], uri, name in self.counted, rules, fresh) for _, name, uri, fresh in part]


def _reports(plan: list[Part], reader: _Reader, spark: Callable[[], SparkSession]) -> Iterable[dict[str, Any]]:
    """The reports on all files, by threads or by Spark."""
    if sum(rows for part in plan for rows, *_ in part) <= DRIVER_ROWS:
        with ThreadPoolExecutor(len(plan)) as pool:
            return [report for reports in pool.map(reader, plan) for report in reports]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pylist(reader(plan[part]), schema=REPORT)

    ids = spark().range(0, len(plan), 1, len(plan))
    rows = ids.mapInArrow(work, "table_name STRING, facts STRING, groups BINARY, others BINARY").collect()
    return [row.asDict() for row in rows]


def _file(table: Table, uri: str, counted: bool, rules: Sequence[Invariant], fresh: bool) -> dict[str, Any]:
    """The report on one Parquet file, a row group at a time; checks of single rows are made in a fresh one."""
    system, path = filesystem(uri)
    columns = checked(table)
    mine = [points for rule in rules for points in rule.left + rule.right if points.table == table.name]
    by_stream = "stream_id" in table.key
    grouped = counted or table.name == "raw_frames"
    strings = {c.name for c in columns if c.words}.union(*(points.strings for points in mine))
    if grouped:
        strings |= {name for name in table.key if pa.types.is_string(table.column(name).type)}
    values: dict[str, dict[str | None, int]] = {c.name: {} for c in columns}
    sums = {rule.name: Sums() for rule in rules}
    faults: dict[str, Faults] = {}
    keys, groups, others = [], [], []
    with pq.ParquetFile(path, filesystem=system, read_dictionary=sorted(strings)) as file:
        required = {file.schema.column(i).name for i in range(len(file.schema)) if file.schema.column(i).max_definition_level == 0}
        wanted = strings | {c.name for c in columns if c.name not in required}
        wanted = wanted.union(*(points.columns for points in mine)) | (set(table.key) if grouped else set())
        checks = ranges.undecided(file, ranges.checks(table)) if fresh else []
        wanted = wanted.union(*(check.columns for check in checks))
        for number in range(file.num_row_groups):
            group = file.read_row_group(number, columns=sorted(wanted))
            rows = Rows(group)
            if not rows.size:
                continue
            ranges.find_faults(file, number, group, checks, faults)
            for column in columns:
                for value, count in _values(rows, column, column.name in required):
                    values[column.name][value] = values[column.name].get(value, 0) + count
            for rule in rules:
                sums[rule.name].add(*(_side(rows, side, table.name) for side in (rule.left, rule.right)))
            if counted:
                keys.append(rows.keys(table.key))
            if grouped:
                groups.append(np.unique(rows.hashed("stream_id")) if by_stream else keys[-1])
            if table.name == "streams":
                others.append(_others(rows, rules))
        size = file.metadata.num_rows
    surplus = size - len(np.unique(np.concatenate(keys))) if keys else 0
    facts = {
        "rows": size, "surplus": surplus, "values": {name: list(counts.items()) for name, counts in values.items()},
        "sums": {name: (s.left, s.right) for name, s in sums.items() if any(s.left + s.right)},
        "faults": {label: (found.rows, found.first) for label, found in faults.items()},
    }
    return {
        "table_name": table.name, "facts": json.dumps(facts),
        "groups": np.unique(np.concatenate(groups)).tobytes() if groups else b"",
        "others": np.concatenate(others).tobytes() if others else b"",
    }


def _side(rows: Rows, side: Sequence[invariants.Points], table: str) -> tuple[int, int]:
    """What some rows of a table add to one side of an invariant."""
    parts = [rows.sum(points) for points in side if points.table == table]
    return sum(count for count, _ in parts), sum(total for _, total in parts) & MASK


def _others(rows: Rows, rules: Sequence[Invariant]) -> Hashes:
    """Of each stream that does not speak STOMP: its hash, and the sum of its points on the tiling's left side minus those on the right."""
    chosen = rows.meet(OTHER)
    total = np.zeros(int(chosen.sum()), np.uint64)
    for rule in rules:
        if rule.name == invariants.TILING:
            for points in (p for p in rule.left if p.kept):
                total = total + rows.hashes(points)[chosen]
            for points in (p for p in rule.right if p.kept):
                total = total - rows.hashes(points)[chosen]
    return np.stack([rows.hashed("stream_id")[chosen], total], axis=1)


def _values(rows: Rows, column: Column, required: bool) -> Iterator[tuple[str | None, int]]:
    """The values of a column and their rows; unknown words are cut short and few, but all their rows are counted."""
    if not column.words:
        nulls = 0 if required else int(rows.null(column.name).sum())
        yield from ((value, count) for value, count in ((PRESENT, rows.size - nulls), (None, nulls)) if count)
        return
    words, codes = rows.coded(column.name)
    counts = np.bincount(codes, minlength=len(words) + 1).tolist()
    unknown = [word for word, count in zip(words, counts, strict=False) if count and word not in column.words]
    shown = {word: unknown[min(index, UNKNOWN - 1)][:SHOWN] for index, word in enumerate(unknown)}
    for word, count in zip([*words, None], counts, strict=True):
        if count:
            yield (word if word is None else shown.get(word, word)), count
