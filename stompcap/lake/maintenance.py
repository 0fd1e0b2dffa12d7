"""Maintenance of a table: merges small files, clusters their rows for the usual filters, and removes files that no recent version uses.

Files of adjacent times are merged, and their rows sorted by stream: a filter on time opens few files, one on stream_id reads few row
groups. Large files are left alone, so the cost depends on what is new since the last maintenance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from stompcap.lake import data_files, followers, open_tables
from stompcap.lake.commits import CommitInfo, replace_files
from stompcap.lake.data_files import File, Files
from stompcap.lake.history import expire
from stompcap.lake.manifest import MANIFEST, as_manifest, collected
from stompcap.lake.paths import OPEN, DataFile, filesystem, location
from stompcap.lake.query import opened
from stompcap.lake.replaced import drop
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

TARGET_OCTETS = 1 << 26
"""Octets up to which files are merged into one; files of half of that or more are left alone."""

DRIVER_OCTETS = 1 << 28
"""Octets of small files of a table up to which this process merges them itself; more are merged by Spark."""

BATCH_ROWS = 1 << 16
AGGREGATES = tuple(t.name for t in TABLES.values() if t.layer == "gold" and "source" in t.arrow.names and "stream_id" not in t.arrow.names)
"""Tables that aggregate the sessions of a source."""

IN_PARTS = (*(name for name in AGGREGATES if name != "journeys"), "rules")
"""Tables of which a run replaces single files: these stay small to be cheap to replace, and runs keep them few."""

DELTAS_LEAST_HOURS = 168
"""Delta refuses to vacuum below this retention unless told to, because readers may lose files of the version that they read."""

RUN = "maintain"


@dataclass(frozen=True)
class Maintained:
    """The result for one table: files and octets of its current version before and after, and how many files were removed."""

    table: str
    files_before: int
    files_after: int
    removed: int
    octets_before: int
    octets_after: int


def total(done: Iterable[Maintained]) -> Maintained:
    """The sum over several tables."""
    return Maintained("total", *(sum(figures) for figures in zip(*([*vars(one).values()][1:] for one in done), strict=True)))


def maintain(spark: Callable[[], SparkSession], lake: str, table: str, retain_hours: int) -> Maintained:
    """Merge small files of a table; remove files that no version of the last `retain_hours` uses, and the log of older versions.

    Readers of the retained versions are not disturbed, except those that runs disturb too (`stompcap.lake.replaced`). `spark` returns the
    session that merges more than `DRIVER_OCTETS`.
    """
    delta = open_tables.at(location(lake, table))
    before = data_files.of(delta, clustering(table))
    gone = [] if table in IN_PARTS else packs(before, table)
    if gone:
        small = [file for pack in gone for file in pack]
        made = _together(spark, lake, table, [Files.of(table, pack) for pack in gone], sum(file.size for file in small))
        replace_files(delta, made, small, CommitInfo(RUN), rows_stay=True)
    delta = open_tables.at(location(lake, table))
    removed = delta.vacuum(retain_hours, dry_run=False, full=True, enforce_retention_duration=retain_hours >= DELTAS_LEAST_HOURS)
    dropped = drop(lake, table)
    expire(lake, table, retain_hours, RUN, AGGREGATES)
    if removed:
        followers.tell(open_tables.at(location(lake, table)))
    after = data_files.of(open_tables.at(location(lake, table)))
    octets = (sum(file.size for file in files) for files in (before, after))
    return Maintained(table, len(before), len(after), len(removed) + dropped, *octets)


def free(lake: str, table: str, retain_hours: int) -> int:
    """Delete files that no version of the last `retain_hours` uses, and write nothing, as on a full disk; how many."""
    where = location(lake, table)
    system, folder = filesystem(where)
    old = open_tables.at(where).vacuum(retain_hours, dry_run=True, full=True, enforce_retention_duration=retain_hours >= DELTAS_LEAST_HOURS)
    there = [f"{folder}/{unquote(path)}" for path in old]
    found = [info for info in system.get_file_info(there) if info.is_file]
    for info in found:
        system.delete_file(info.path)
    return len(found)


def free_all(lake: str, retain_hours: int) -> dict[str, int]:
    """Do so in each table that is there; how many files, by table."""
    return {name: free(lake, name, retain_hours) for name in TABLES if open_tables.is_there(location(lake, name))}


def clustering(table: str) -> list[str]:
    """The column of time in the statistics of a table's files, as a list; empty if there is none."""
    return [name for name in TABLES[table].statistics if name.endswith(("_ts", "_ns"))][:1]


def packs(files: Sequence[File], table: str) -> list[list[File]]:
    """Groups of small files to merge, in order of time; without files of open streams, which the next run replaces."""
    small = (file for file in files if file.size < TARGET_OCTETS // 2 and not file.name.startswith(OPEN))
    found: list[list[File]] = [[]]
    octets = 0
    for file in sorted(small, key=lambda file: _when(file, table)):
        if octets + file.size > TARGET_OCTETS:
            found.append([])
            octets = 0
        found[-1].append(file)
        octets += file.size
    return [pack for pack in found if len(pack) > 1]


def _when(file: File, table: str) -> tuple[bool, Any]:
    """The sort key of a file: the least time of its rows, else the time it was added; files of rows without times come first."""
    column = clustering(table)
    least = file.bounds[column[0]].least if column else file.added_ms
    return least is not None, 0 if least is None else least


def _together(spark: Callable[[], SparkSession], lake: str, table: str, found: list[Files], octets: int) -> list[DataFile]:
    """One new file for each group of files."""
    if octets <= DRIVER_OCTETS:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda files: clustered(lake, files), found))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield as_manifest([clustered(lake, found[number]) for number in batch.column(0).to_pylist()])

    return collected(spark().range(0, len(found), 1, len(found)).mapInArrow(task, MANIFEST).collect())


def clustered(lake: str, files: Files) -> DataFile:
    """Writes the rows of some files, sorted by stream and the rest of the key, to one file, which is not committed yet."""
    table = TABLES[files.table]
    order = ", ".join(sorted(table.key, key=lambda name: name != "stream_id"))
    writer = TableWriter(lake, table.name)
    with opened({table.name: files}) as database:
        rows = database.sql(f"SELECT {', '.join(table.arrow.names)} FROM {table.name} ORDER BY {order}")  # noqa: S608  our own names
        for batch in rows.to_arrow_reader(BATCH_ROWS):
            writer.write(pa.Table.from_batches([batch]))
    file = writer.close()
    if file is None:
        raise ValueError(f"{table.name}: files without rows")
    return file
