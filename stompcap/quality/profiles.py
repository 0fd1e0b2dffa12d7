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
import pyarrow.compute as pc

from stompcap.lake import data_files, open_tables
from stompcap.lake.data_files import File
from stompcap.quality import clear_secrets, invariants
from stompcap.quality.blocks import Block, of_reports
from stompcap.quality.hashes import Wanted, common
from stompcap.quality.measures import Measures
from stompcap.quality.ranges import Faults
from stompcap.quality.report import SCHEMA, Asked, Report, Task, checked, reports
from stompcap.quality.sums import MASK
from stompcap.tables import TABLES, Table
from stompcap.tables.schema import sql_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_ROWS = 1024 * 1024
"""Rows per task, unless a single file has more; starting a task costs as much as half of them."""

DRIVER_ROWS = 32 * TASK_ROWS
"""Rows of all new files that threads of this process read, most of them beside metrics; beyond, Spark's processes do."""

THREADS = 4
"""Threads that read: each holds a row group. 16 million rows took 0.35 GB so, and 0.9 GB with a thread for each task."""

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
    """The profiles of some tables, the sums of the invariants among them, what is measured, and the reports that all came from, in blocks.

    `new` are reports that were made now, `old` those that were kept, and `gone` those on files that the tables no longer have.
    """

    profiles: dict[str, Profile]
    sums: dict[str, Sums]
    measures: Measures = field(default_factory=Measures)
    new: list[Block] = field(default_factory=list)
    old: list[Block] = field(default_factory=list)
    gone: list[Block] = field(default_factory=list)

    @property
    def blocks(self) -> list[Block]:
        """All blocks of files that the tables have."""
        return [*self.old, *self.new]


def profiles(
    spark: Callable[[], SparkSession], locations: Mapping[str, str], asked: Asked, kept: Sequence[Block] = (), unique: Iterable[str] = (),
    ahead: Callable[[Iterable[Key]], Iterable[Report]] | None = None,
) -> Found:
    """The profiles of the tables at `locations`.

    Files of which a report is `kept` are not read; in tables that are `unique` these files have no key twice. `ahead` gives the reports
    on some files that were made before. `spark` gives the session, which few new rows do not need.
    """
    proved = frozenset(unique)
    sums = {rule.name: Sums() for rule in invariants.among(list(locations))}
    empty = {name: Profile(TABLES[name], values={c.name: {} for c in checked(TABLES[name])}) for name in locations}
    found, new = Found(empty, sums), dict[Key, File]()
    for name, uri in locations.items():
        delta = open_tables.table(uri)
        there, mine = data_files.names(delta), [one for one in kept if one.table == name]
        _take(found, mine, there)
        known = pa.chunked_array([one.names for one in mine], pa.string())
        fresh = there.filter(pc.invert(pc.is_in(there, value_set=known)))
        new.update({(name, file.name): file for file in (data_files.of(delta, among=fresh) if len(fresh) else ())})
    made = list(ahead(new)) if ahead else []
    lacking = new.keys() - {(one.table, one.file) for one in made}
    found.new = of_reports([*made, *_made({key: new[key] for key in lacking}, asked, spark)])
    for one in found.blocks:
        _add(found, one)
    for name in asked.counted & set(locations):
        fresh_blocks, rest = ([one for one in some if one.table == name] for some in (found.new, found.old))
        found.profiles[name].shared = _shared(locations[name], *((fresh_blocks, rest) if name in proved else (fresh_blocks + rest, [])))
    if invariants.TILING in sums:
        sums[invariants.TILING].add((0, _kept_others(found.blocks)), (0, 0))
    return found


def _take(found: Found, blocks: Sequence[Block], there: pa.Array) -> None:
    """Take over blocks of a table that has the files `there`: those that are still whole, and what is left of the others."""
    held = pc.is_in(pa.chunked_array([one.names for one in blocks], pa.string()), value_set=there).combine_chunks()
    for one in blocks:
        mine, held = held[: one.rows.num_rows], held[one.rows.num_rows :]
        if mine.true_count == len(mine):
            found.old.append(one)
            continue
        found.gone.append(one.only(pc.invert(mine)) if mine.true_count else one)
        if mine.true_count:
            found.old.append(one.only(mine))


def _add(found: Found, one: Block) -> None:
    """Add a block."""
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


def _shared(uri: str, new: Sequence[Block], old: Sequence[Block]) -> list[File]:
    """The files of a table of which several have one stream, or key, if one of them is new."""
    both = common([one.groups for one in new], [one.groups for one in old])
    if not len(both):
        return []
    wanted = Wanted(both)
    names = {one.names[file].as_py() for one in (*new, *old) for file in one.groups.files(wanted.at(one.groups.hashes))}
    return data_files.of(open_tables.table(uri), among=pa.array(sorted(names), pa.string()))


def _kept_others(blocks: Sequence[Block]) -> int:
    """What streams that do not speak STOMP add to the tiling, as far as raw_frames has octets of them."""
    rest = np.concatenate([np.zeros((0, 2), np.uint64), *(one.others for one in blocks if one.table == "streams")])
    held = Wanted(Wanted(rest[:, 0]).found(one.groups for one in blocks if one.table == "raw_frames"))
    return int(rest[held.among(rest[:, 0]), 1].sum(dtype=np.uint64))


def _made(files: Mapping[Key, File], asked: Asked, spark: Callable[[], SparkSession]) -> Iterable[Report]:
    """The reports on new files, by threads or by Spark."""
    if not files:
        return []
    of_table = {table: {name: file.rows for (of, name), file in files.items() if of == table} for table in asked.searched}
    plan = _plan(files, {(table, name) for table, rows in of_table.items() for name in clear_secrets.chosen(rows)})
    if sum(file.rows for file in files.values()) <= DRIVER_ROWS:
        with ThreadPoolExecutor(min(len(plan), THREADS)) as pool:
            return [one for some in pool.map(lambda task: reports(task, asked), plan) for one in some]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = [one.row for one in reports(plan[number], asked)]
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)

    ids = spark().range(0, len(plan), 1, len(plan))
    found = ids.mapInArrow(work, ", ".join(f"{field.name} {sql_type(field.type)}" for field in SCHEMA)).collect()
    return [Report.of(row.asDict()) for row in found]


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
