"""The rows of some streams taken out of a table, at the cost of the files that have such rows.

A file is opened if its statistics do not exclude that it has a row of these streams, and rewritten if it has one, row group by row group,
so that memory holds no more than what the writer of the file had at once. One transaction replaces all files of a table.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.columns import I64
from stompcap.lake import data_files, delta_log, open_tables
from stompcap.lake.commits import APP, FINAL_ROWS, CommitInfo, bring, brought, compact, has_final_rows, replace_files
from stompcap.lake.data_files import File
from stompcap.lake.maintenance import DRIVER_OCTETS, clustering
from stompcap.lake.open_rows import OpenRows, rewritten
from stompcap.lake.paths import DataFile, filesystem, location
from stompcap.lake.table_writer import PART, TableWriter
from stompcap.tables import TABLES
from stompcap.tasks.packing import FILE_OCTETS, packed, tasks_to_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ID = "stream_id"
AT_ONCE = 2
MARGIN_NS = 10**6
"""By how much times in statistics and in rows may differ: columns of microseconds and bounds of milliseconds are rounded."""

REMOVED = "name STRING, removed BIGINT, path STRING, size BIGINT, rows BIGINT, statistics STRING"
_ARROW = pa.schema([
    ("name", pa.string()), ("removed", pa.int64()), ("path", pa.string()), ("size", pa.int64()), ("rows", pa.int64()),
    ("statistics", pa.string()),
])  # fmt: skip


@dataclass(frozen=True)
class Streams:
    """Streams by their ids, ascending, and the periods in which they lived as (begins, ends) in nanoseconds, ascending and disjoint.

    Periods are None where some stream may have rows of any time.
    """

    ids: pa.Array
    periods: tuple[I64, I64] | None

    @staticmethod
    def of(rows: pa.Table) -> Streams:
        """Those of rows with stream_id, first_ns and last_ns; without times (null, or 0), the stream's rows may be of any time."""
        ids = rows.column(ID).combine_chunks().sort()
        if rows.column("first_ns").null_count or rows.column("last_ns").null_count:
            return Streams(ids, None)
        begins, ends = (rows.column(name).to_numpy().astype(np.int64) for name in ("first_ns", "last_ns"))
        return Streams(ids, None if (begins == 0).any() else disjoint(begins, ends))

    def between(self, least: str, most: str) -> bool:
        """Whether one of the ids lies between two strings, both included."""
        names = self.ids
        first, behind = 0, len(names)
        while first < behind:  # the first that is not below `least`
            middle = (first + behind) // 2
            if names[middle].as_py() < least:
                first = middle + 1
            else:
                behind = middle
        return first < len(names) and bool(names[first].as_py() <= most)

    def may_be_in(self, file: File, time: Sequence[str]) -> bool:
        """Whether a file may have rows of them, by the statistics of its ids and of its column of `time`, if it has one."""
        ids = file.bounds[ID]
        if ids.known and (ids.least is None or not self.between(ids.least, ids.most)):
            return False
        if self.periods is None or not time:
            return True
        bounds = file.bounds[time[0]]
        if not bounds.known or bounds.nulls or bounds.least is None:
            return True
        begins, ends = self.periods
        nearest = int(np.searchsorted(ends, _nanoseconds(bounds.least) - MARGIN_NS))
        return nearest < len(begins) and bool(begins[nearest] <= _nanoseconds(bounds.most) + MARGIN_NS)


def disjoint(begins: I64, ends: I64) -> tuple[I64, I64]:
    """Periods in any order, which may overlap, as ascending ones that do not; both ends are included."""
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    new = np.ones(len(begins), np.bool_)
    new[1:] = begins[1:] > ends[:-1]
    return begins[new], ends[np.append(np.flatnonzero(new)[1:] - 1, len(ends) - 1)] if len(ends) else ends


def _nanoseconds(value: Any) -> int:
    """A bound of a column of times since the epoch."""
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if value.tzinfo else None)
        return (value - epoch) // datetime.timedelta(microseconds=1) * 1000
    return int(value)


@dataclass(frozen=True)
class Rewritten:
    """A file by its name in the log, how many rows it has lost, and the new file with the rest, if there is any."""

    name: str
    removed: int
    made: DataFile | None


def holding(lake: str, table: str, streams: Streams) -> list[File]:
    """The files of a table that may have rows of these streams, by their statistics."""
    time = clustering(table)
    held = data_files.of(open_tables.table(location(lake, table)), [ID, *time])
    return [file for file in held if streams.may_be_in(file, time)]


def count(lake: str, table: str, streams: Streams) -> int:
    """How many rows of these streams a table has."""

    def rows(file: File) -> int:
        system, path = filesystem(file.uri)
        with pq.ParquetFile(path, filesystem=system) as held:
            return sum(mask.true_count for mask in _rows_of(held, streams) if mask is not None)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(rows, holding(lake, table, streams)))


def remove(spark: Callable[[], SparkSession], lake: str, table: str, streams: Streams, run_id: str) -> int:
    """Take the rows of these streams out of a table, in one transaction; how many they were. `spark` answers for much to read."""
    files = holding(lake, table, streams)
    touched = [one for one in _rewritten(spark, lake, table, files, streams) if one.removed]
    if touched:
        names = {one.name for one in touched}
        gone = [file for file in files if file.name in names]
        made = [one.made for one in touched if one.made is not None]
        replace_files(open_tables.table(location(lake, table)), made, gone, CommitInfo(run_id))
    return sum(one.removed for one in touched)


def exchange(
    spark: Callable[[], SparkSession], lake: str, table: str, streams: Streams, added: Sequence[DataFile], info: CommitInfo,
    open_rows: OpenRows | None = None,
) -> int:
    """Take the rows of streams out of a table and add files to it, in one transaction that bears its application ids; rows added.

    `open_rows`: what becomes of rows of open streams with it. Where the table has a commit with these ids, nothing is done.
    """
    delta = open_tables.table(location(lake, table))
    if all(delta.transaction_version(APP + app_id) is not None for app_id in info.app_ids):
        return 0
    brought_before = delta_log.added_by(delta, {APP + app_id + FINAL_ROWS for app_id in info.app_ids})
    gone_since = has_final_rows(delta, info) and not (brought_before and brought_before <= {file.name for file in data_files.of(delta)})
    files = [file for file in holding(lake, table, streams) if gone_since or file.name not in brought_before]
    made, gone = list[DataFile](), list[File]()
    if open_rows is not None:
        files = [file for file in files if not file.name.startswith(open_rows.prefix)]
        made, gone = rewritten(lake, table, delta, open_rows.without(streams.ids))
    touched = [one for one in _rewritten(spark, lake, table, files, streams) if one.removed]
    names = {one.name for one in touched}
    left = [one.made for one in touched if one.made is not None]  # rows that the table has already: not for the commit that only adds
    found = brought([*added, *made], [*gone, *(file for file in files if file.name in names)])
    if gone_since:  # others have put the final rows of a killed commit together: all rows come once more
        found, left = replace(found, final=[]), [*found.final, *left]
    bring(delta, replace(found, provisional=[*found.provisional, *left]), info)
    compact(lake, table)
    return sum(file.rows for file in added)


def _rewritten(spark: Callable[[], SparkSession], lake: str, table: str, files: Sequence[File], streams: Streams) -> Iterable[Rewritten]:
    """What becomes of the files."""
    sizes = [file.size for file in files]
    if sum(sizes) <= DRIVER_OCTETS:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda file: without(lake, table, file, streams), files))
    session = spark()
    packs = packed(sizes, tasks_to_read(sum(sizes) + len(files) * FILE_OCTETS, session.sparkContext.defaultParallelism))
    tasks = [[files[index] for index in pack] for pack in packs]

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = (without(lake, table, file, streams) for file in tasks[number])
                rows = [vars(one) | (vars(one.made) if one.made else {}) for one in done if one.removed]
                yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)

    found = session.range(0, len(tasks), 1, len(tasks)).mapInArrow(task, REMOVED).collect()
    return [
        Rewritten(
            row["name"], row["removed"],
            None if row["path"] is None else DataFile(table, row["path"], row["size"], row["rows"], row["statistics"]),
        )
        for row in found
    ]  # fmt: skip


def without(lake: str, table: str, file: File, streams: Streams) -> Rewritten:
    """A file without the rows of these streams, in a new file that no commit names yet.

    There is no new file where it has no such row, or no other.
    """
    system, path = filesystem(file.uri)
    schema = TABLES[table].arrow
    with pq.ParquetFile(path, filesystem=system) as held:
        masks = list(_rows_of(held, streams))
        removed = sum(mask.true_count for mask in masks if mask is not None)
        if not removed:
            return Rewritten(file.name, 0, None)
        writer = TableWriter(lake, table, prefix(file.name))
        names = [name for name in schema.names if name in held.schema_arrow.names]
        for number, mask in enumerate(masks):
            if mask is not None and mask.true_count == len(mask):
                continue
            rows = held.read_row_group(number, columns=names)
            rows = rows if mask is None else rows.filter(pc.invert(mask))
            writer.write(pa.concat_tables([schema.empty_table(), rows], promote_options="permissive").select(schema.names))
        return Rewritten(file.name, removed, writer.close())


def _rows_of(file: pq.ParquetFile, streams: Streams) -> Iterator[pa.BooleanArray | None]:
    """Per row group which rows are of these streams; None where its statistics say that none is."""
    [leaf] = [number for number in range(file.metadata.num_columns) if file.metadata.schema.column(number).path == ID]
    for number in range(file.metadata.num_row_groups):
        bounds = file.metadata.row_group(number).column(leaf).statistics
        if bounds is not None and bounds.has_min_max and not streams.between(bounds.min, bounds.max):
            yield None
            continue
        ids = file.read_row_group(number, columns=[ID]).column(ID).cast(pa.string())
        found = pc.is_in(ids, value_set=streams.ids).combine_chunks()
        yield found if found.true_count else None


def prefix(name: str) -> str:
    """What stands before `part-` in the name of a data file: files of different kinds are never mixed."""
    before, part, _ = name.rpartition("/")[2].partition(PART)
    return before if part else ""
