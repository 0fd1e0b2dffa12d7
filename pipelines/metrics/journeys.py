"""Keeps table journeys up to date at a cost that depends on what is new: on the messages that have its contents, some hours around it.

Rows whose body is the same are joined with each other and with no others (`pipelines.metrics.journeys_sql`), and nothing looks further
than `REACH` horizons. So a run computes the rows of the contents again that came or went, near the time at which they did; of these, rows
that differ are replaced. A commit notes the versions of the tables that it was made from, as those of `pipelines.metrics.aggregates` do.
"""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.metrics import journeys_by_spark
from pipelines.metrics.journeys_sql import REACH, gather_all, join
from pipelines.metrics.journeys_touched import CONTENT, LACKS, TABLE, TABLES_READ, TIMES, Touched, find_touched, overlapping
from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import FILE_ROWS, SOURCE, CommitInfo, compact, may_hold, replace_files
from stompcap.lake.data_files import Files
from stompcap.lake.paths import DataFile, location
from stompcap.lake.table_writer import GROUP_ROWS, TableWriter
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

    from stompcap.lake.data_files import File

KEY = " AND ".join(f"t.{name} IS NOT DISTINCT FROM g.{name}" for name in TABLES[TABLE].key)
NAMES = ", ".join(TABLES[TABLE].arrow.names)
ORDER = f"ORDER BY {', '.join(journeys_by_spark.SORTED)}"
APART = {"reason": "not_yet", "joined_by": "ambiguous"}
"""Rows that the next runs may make otherwise: they stand in files of their own, so that no others are written again with them."""

DRIVER_ROWS = 10_000_000
"""SENDs, MESSAGEs and, where octets are lacking, pieces that DuckDB joins in this process; more are joined in Spark's tasks."""

TASK_ROWS = 250_000
"""SENDs and MESSAGEs of one of Spark's tasks."""


def refresh(lake: str, batches: Sequence[str], run_id: str, spark: Callable[[], SparkSession]) -> int:
    """Bring table journeys up to date under the names of the batches; returns the rows written. Spark is used where much is new."""
    sources = {name: open_tables.table(location(lake, name)) for name in TABLES_READ}
    delta = open_tables.table(location(lake, TABLE))
    recorded = delta_log.transactions(delta)
    info = CommitInfo(run_id, tuple(batches), {name: table.version() for name, table in sources.items()})
    touched = find_touched(lake, sources, {name: recorded.get(SOURCE + name) for name in sources})
    held = data_files.of(delta, ["ts"])
    if touched is None:
        made = _made(lake, spark, _narrowed({name: query.all_files(lake, name) for name in TABLES_READ}), None)
        replace_files(delta, made, held, info)
        return sum(file.rows for file in made)
    if not touched.contents.num_rows:
        replace_files(delta, [], [], info)
        return 0
    near, output = touched.around(2 * REACH), touched.around(REACH)
    parts = {name: Files.of(name, overlapping(sources[name], times, near)) for name, times in TIMES.items()}
    parts = _narrowed(parts | {"captures": query.all_files(lake, "captures")})
    old = data_files.overlapping(held, ["ts"], output.ranges, output.timeless)
    if _large(parts):
        fresh, kept = _made(lake, spark, parts, touched), _without(lake, old, touched, None)
    else:
        fresh, kept = _compared(lake, parts, old, touched)
    gone = [file for file, _ in kept]
    if not fresh and not gone:
        replace_files(delta, [], [], info)
        return 0
    replace_files(delta, [*fresh, *(file for _, files in kept for file in files)], gone, info)
    compact(lake, TABLE, APART)
    return sum(file.rows for file in fresh)


def _narrowed(parts: Mapping[str, Files]) -> dict[str, Files]:
    """The files to read: none of raw_frames where no connection lacks octets."""
    with query.opened({"streams": parts["streams"]}) as database:
        found = database.sql(f"SELECT 1 FROM streams WHERE {LACKS} LIMIT 1").fetchall()
    return {**parts} if found else {**parts, "raw_frames": Files("raw_frames", ())}


def _rows(parts: Mapping[str, Files]) -> int:
    return sum(parts[name].rows for name in ("sends", "deliveries", "raw_frames"))


def _large(parts: Mapping[str, Files]) -> bool:
    return _rows(parts) > DRIVER_ROWS


def _conditions(touched: Touched | None) -> tuple[str, str, str]:
    """What SENDs `x` and MESSAGEs `d` are looked at, and which rows are taken: all, or what is touched."""
    if touched is None:
        return "true", "true", "true"
    near, output = touched.around(2 * REACH), touched.around(REACH)
    ours = "(SELECT content FROM touched)"
    sends = f"{CONTENT.format('x')} IN {ours} AND {near.condition('x.sent_ts')}"
    deliveries = f"{CONTENT.format('d')} IN {ours} AND {near.condition('d.delivered_ts')}"
    return sends, deliveries, output.condition("ts")


def _joined(database: DuckDBPyConnection, touched: Touched | None) -> str:
    """Join all, or what is touched; the query for the rows."""
    if touched is not None:
        database.register("touched", touched.contents)
    sends, deliveries, taken = _conditions(touched)
    gather_all(database, sends, deliveries)
    return f"SELECT {NAMES} FROM ({join(database)}) made WHERE {taken}"


def _of_touched(touched: Touched, of: str) -> str:
    """Whether a row of table journeys is one that is computed again."""
    return f"{CONTENT.format(of)} IN (SELECT content FROM touched) AND {touched.around(REACH).condition(f'{of}.ts')}"


def _made(lake: str, spark: Callable[[], SparkSession], parts: Mapping[str, Files], touched: Touched | None) -> list[DataFile]:
    """Files with the rows, which no commit names yet."""
    if _large(parts):
        return _by_spark(lake, spark(), touched, _rows(parts))
    with query.opened(parts) as database:
        return _written(lake, database.sql(f"{_joined(database, touched)} {ORDER}").to_arrow_reader(GROUP_ROWS))


def _compared(
    lake: str, parts: Mapping[str, Files], old: Sequence[File], touched: Touched
) -> tuple[list[DataFile], list[tuple[File, list[DataFile]]]]:
    """Files with the rows that are new or otherwise, and those that had the ones before, each with the files that replace it."""
    with query.opened(parts) as database:
        query.show(database, TABLE, Files.of(TABLE, old))
        database.execute(f"CREATE TEMP TABLE made AS {_joined(database, touched)}")
        database.execute(f"CREATE TEMP TABLE held AS SELECT {NAMES} FROM {TABLE} j WHERE {_of_touched(touched, 'j')}")
        either = f"SELECT {NAMES}, 1 AS sign FROM made UNION ALL SELECT {NAMES}, -1 AS sign FROM held"
        database.execute(f"CREATE TEMP TABLE differing AS SELECT {NAMES}, sum(sign) AS sign FROM ({either}) e GROUP BY {NAMES} "
                         "HAVING sum(sign) <> 0")  # fmt: skip
        gone = database.sql(f"SELECT {NAMES} FROM differing WHERE sign < 0").to_arrow_table()
        fresh = _written(lake, database.sql(f"SELECT {NAMES} FROM differing WHERE sign > 0 {ORDER}").to_arrow_reader(GROUP_ROWS))
    return fresh, _without(lake, old, touched, gone) if gone.num_rows else []


def _without(lake: str, old: Sequence[File], touched: Touched, gone: pa.Table | None) -> list[tuple[File, list[DataFile]]]:
    """The files that have rows which go, each with those that replace it; None for all rows that are computed again."""
    found = []
    for file in old:
        if gone is not None and not may_hold(file, "ts", gone.column("ts").combine_chunks()):
            continue
        with query.opened({TABLE: Files.of(TABLE, [file])}) as database:
            database.register("touched", touched.contents)
            if gone is None:
                which = _of_touched(touched, "t")
            else:
                database.register("gone", gone)
                which = f"EXISTS (SELECT 1 FROM gone g WHERE {KEY})"
            if database.sql(f"SELECT 1 FROM {TABLE} t WHERE {which} LIMIT 1").fetchall():
                stay = database.sql(f"SELECT {NAMES} FROM {TABLE} t WHERE NOT ({which})")
                found.append((file, _written(lake, stay.to_arrow_reader(GROUP_ROWS))))
    return found


def _written(lake: str, batches: Iterable[pa.RecordBatch]) -> list[DataFile]:
    """Rows as files that no commit names yet, in their order, those that `APART` tells of in files of their own."""
    made, schema = list[DataFile | None](), TABLES[TABLE].arrow
    writers, rows = defaultdict[str, TableWriter](lambda: TableWriter(lake, TABLE)), Counter[str]()
    for batch in batches:
        left, parts = pa.Table.from_batches([batch]).cast(schema), list[tuple[str, pa.Table]]()
        for column, value in APART.items():
            which = pc.fill_null(pc.equal(left.column(column), value), fill_value=False)
            parts.append((column, left.filter(which)))
            left = left.filter(pc.invert(which))
        for kind, some in (*parts, ("", left)):
            if some.num_rows:
                writers[kind].write(some)
                rows[kind] += some.num_rows
            if rows[kind] >= FILE_ROWS:
                made.append(writers.pop(kind).close())
                rows[kind] = 0
    return [file for file in (*made, *(writer.close() for writer in writers.values())) if file is not None]


def _by_spark(lake: str, spark: SparkSession, touched: Touched | None, rows: int) -> list[DataFile]:
    """Files with the rows, written by Spark's tasks."""
    for name in TABLES_READ:
        lakes.read(spark, lake, name).createOrReplaceTempView(name)
    if touched is not None:
        spark.createDataFrame(touched.contents).createOrReplaceTempView("touched")
    sends, deliveries, taken = _conditions(touched)
    tasks = max(1, rows // TASK_ROWS)
    try:
        made = journeys_by_spark.made(spark, sends, deliveries, taken, tasks)
        return journeys_by_spark.written(made, partial(_written, lake), tasks)
    finally:
        spark.catalog.dropTempView("lives")  # and what was kept of it
