"""Profiles of tables and sums of invariants, added up from reports on their data files: those that are kept, and those that are made now.

Two hundred expectations as Spark jobs cost minutes; as aggregates of one query, seconds of planning. Tasks read the Parquet files
themselves: threads for few rows, else one Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.columns import U64, Bools
from stompcap.lake import data_files, open_tables
from stompcap.lake.data_files import File
from stompcap.quality import clear_secrets, invariants, report
from stompcap.quality.measures import Measures
from stompcap.quality.ranges import Faults
from stompcap.quality.report import Report, checked
from stompcap.quality.sums import MASK
from stompcap.tables import TABLES, Table
from stompcap.tables.schema import sql_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_ROWS = 1024 * 1024
"""Rows per task, unless a single file has more; starting a task costs as much as half of them."""

DRIVER_ROWS = 16 * TASK_ROWS
"""Rows of all new files that threads of this process read, which takes them as long as Spark's start; beyond, Spark's processes do."""

THREADS = 4
"""Threads that read: each holds a row group. `DRIVER_ROWS` took 0.35 GB so, and 0.9 GB with a thread for each task."""

Task = list[tuple[str, str, str, bool]]
Key = tuple[str, str]


@dataclass
class Profile:
    """The content of one table: rows, rows that repeat a key (as far as one file shows), and per checked column its values with their rows.

    `faults` are the rows that are not as expected, by column and expectation. `shared`: files of which several have rows of one
    stream (or one key), so only a query can find repeated keys.
    """

    table: Table
    rows: int = 0
    surplus: int = 0
    values: dict[str, dict[str | None, int]] = field(default_factory=dict)
    faults: dict[str, Faults] = field(default_factory=dict)
    shared: list[File] = field(default_factory=list)


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


@dataclass
class Found:
    """The profiles of some tables, the sums of the invariants among them, what is measured, and the reports that all came from."""

    profiles: dict[str, Profile]
    sums: dict[str, Sums]
    measures: Measures
    reports: dict[Key, Report]
    files: dict[Key, File]


def profiles(
    spark: Callable[[], SparkSession], locations: Mapping[str, str], counted: Iterable[str],
    kept: Mapping[Key, Report] | None = None, unique: Iterable[str] = (), searched: Iterable[str] = (),
    masked: bool = True,
) -> Found:
    """The profiles of the tables at `locations`; octets of some files of those `searched` are looked at, for secrets if `masked`.

    Repeated keys are searched for in the tables `counted`. Files of which a report is `kept` are not read; in tables that are
    `unique` these files have no key twice. `spark` gives the session, which few new rows do not need.
    """
    known, proved = kept or {}, frozenset(unique)
    rules = invariants.among(list(locations))
    sums = {rule.name: Sums() for rule in rules}
    empty = {name: Profile(TABLES[name], values={c.name: {} for c in checked(TABLES[name])}) for name in locations}
    files = {(name, file.name): file for name, uri in locations.items() for file in data_files.of(open_tables.table(uri))}
    found = Found(empty, sums, Measures(), {}, files)
    new = {key: file for key, file in files.items() if key not in known}
    judged = frozenset(sums) | ({clear_secrets.MASKED} if masked else set())
    made = {(one.table, one.file): one for one in _made(new, frozenset(counted), judged, frozenset(searched), spark)}
    found.reports = {key: made[key] if key in made else known[key] for key in files}
    for one in found.reports.values():
        _add(found, one)
    for name in set(counted) & set(locations):
        mine = {file: one for (table, file), one in found.reports.items() if table == name}
        fresh = {file for file in mine if (name, file) in new} if name in proved else set(mine)
        found.profiles[name].shared = [files[name, file] for file in _shared(mine, fresh)]
    if invariants.TILING in sums:
        sums[invariants.TILING].add((0, _kept_others(found.reports.values())), (0, 0))
    return found


def _add(found: Found, one: Report) -> None:
    """Add a report."""
    profile, facts = found.profiles[one.table], one.facts
    profile.rows += facts["rows"]
    profile.surplus += facts["surplus"]
    for column, counts in facts["values"].items():
        for value, rows in counts:
            profile.values[column][value] = profile.values[column].get(value, 0) + rows
    for name, (left, right) in facts["sums"].items():
        found.sums[name].add(left, right)
    for label, (rows, first) in facts["faults"].items():
        profile.faults.setdefault(label, Faults()).add(rows, first)
    found.measures.add(facts["measures"])


def _shared(reports: Mapping[str, Report], fresh: set[str]) -> list[str]:
    """The fresh files that have a stream, or key, of another file, and these others."""
    found = set()
    for file in fresh:
        for other, one in reports.items():
            if (other not in fresh or other > file) and np.any(_among(reports[file].groups, one.groups)):
                found |= {file, other}
    return sorted(found)


def _among(some: U64, many: U64) -> Bools:
    """Which of some hashes are among many, which are in order."""
    if not len(many):
        return np.zeros(len(some), np.bool_)
    found: Bools = many[np.minimum(np.searchsorted(many, some), len(many) - 1)] == some
    return found


def _kept_others(reports: Iterable[Report]) -> int:
    """What streams that do not speak STOMP add to the tiling, as far as raw_frames has octets of them."""
    listed = list(reports)
    rest = np.concatenate([np.zeros((0, 2), np.uint64), *(one.others for one in listed if len(one.others))])
    held = np.zeros(len(rest), np.bool_)
    for one in listed:
        if one.table == "raw_frames" and len(rest):
            held |= _among(rest[:, 0], one.groups)
    return int(rest[held, 1].sum(dtype=np.uint64))


def _made(
    files: Mapping[Key, File], counted: frozenset[str], judged: frozenset[str], searched: frozenset[str],
    spark: Callable[[], SparkSession],
) -> Iterable[Report]:
    """The reports on new files, by threads or by Spark."""
    if not files:
        return []
    of_table = {table: {name: file.rows for (of, name), file in files.items() if of == table} for table in searched}
    plan = _plan(files, {(table, name) for table, rows in of_table.items() for name in clear_secrets.chosen(rows)})
    if sum(file.rows for file in files.values()) <= DRIVER_ROWS:
        with ThreadPoolExecutor(min(len(plan), THREADS)) as pool:
            return [one for some in pool.map(lambda task: report.reports(task, counted, judged), plan) for one in some]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = [one.row for one in report.reports(plan[number], counted, judged)]
                yield pa.RecordBatch.from_pylist(rows, schema=report.SCHEMA)

    ids = spark().range(0, len(plan), 1, len(plan))
    found = ids.mapInArrow(work, ", ".join(f"{field.name} {sql_type(field.type)}" for field in report.SCHEMA)).collect()
    return [Report.of(*row) for row in found]


def _plan(files: Mapping[Key, File], searched: set[Key]) -> list[Task]:
    """The files of each task: table, name, URI, whether it is searched. Large ones first, each to the task with the fewest rows."""
    tasks = min(len(files), 2 + sum(file.rows for file in files.values()) // TASK_ROWS)
    plan: list[Task] = [[] for _ in range(tasks)]
    loads = [0] * tasks
    for (table, name), file in sorted(files.items(), key=lambda item: (item[1].rows, item[0]), reverse=True):
        least = loads.index(min(loads))
        plan[least].append((table, name, file.uri, (table, name) in searched))
        loads[least] += file.rows + 1
    return plan
