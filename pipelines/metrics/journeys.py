"""Keeps table journeys up to date at a cost that depends on what is new: on the messages that have its contents, some hours around it.

Rows whose body is the same are joined with each other and with no others (`pipelines.metrics.journeys_sql`), and nothing looks further
than `REACH` horizons. So a run computes the rows of the contents again that came or went, near the time at which they did; of these, rows
that differ are replaced. A commit notes the versions of the tables that it was made from, as those of `pipelines.metrics.aggregates` do.
"""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.metrics.journeys_sql import HORIZON_NS, REACH, journeys
from pipelines.metrics.periods import Periods
from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import FILE_ROWS, SOURCE, CommitInfo, compact, replace_files
from stompcap.lake.data_files import Files
from stompcap.lake.paths import DataFile, location
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES
from stompcap.tables.schema import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

    from stompcap.lake.data_files import File

TABLE = "journeys"
TIMES: dict[str, tuple[str, ...]] = {
    "sends": ("sent_ts",), "deliveries": ("delivered_ts",), "sessions": ("opened_ts", "last_ts"), "streams": ("first_ts", "last_ts"),
    "raw_frames": ("first_ts",),
}  # fmt: skip
"""The tables that journeys are made from, and the columns by which their files are chosen; beside them `captures`, which is small."""

TABLES_READ = (*TIMES, "captures")
HOUR = datetime.timedelta(hours=1)
HORIZON = datetime.timedelta(microseconds=HORIZON_NS // 1000)
CONTENT = "coalesce({}.body_hash, 0)"
"""What rows are found again by: only rows of one body are joined. Those without a digest are taken together."""

KEY = " AND ".join(f"t.{name} IS NOT DISTINCT FROM g.{name}" for name in TABLES[TABLE].key)
NAMES = ", ".join(TABLES[TABLE].arrow.names)
ORDER = "ORDER BY ts, message_stream_id, message_offset"

OF_SENDS = """stream_id, stream_offset, sent_ts, effective_ns, destination_name, content_hash, body_hash, number, transaction_outcome,
    receipt_status, receipt_us"""
OF_DELIVERIES = "stream_id, stream_offset, delivered_ts, first_ns, destination_name, subscription, content_hash, body_hash, redelivered, " \
                "message_id"  # fmt: skip
OF_STREAMS = """stream_id, source, coalesce(clock_difference_min_us <= 0 AND clock_difference_max_us >= 0, true) AS agrees,
    CASE WHEN clock_difference_min_us > 0 OR clock_difference_max_us < 0 THEN clock_difference_min_us END AS ahead"""
OF_SESSIONS = "stream_id, server_product, session"
"""What of a row counts here: where only something else of it changes, its journey does not."""


@dataclass(frozen=True)
class Touched:
    """What is computed again: the contents, and the hours in which something of them changed."""

    contents: pa.Table
    hours: Periods

    def around(self, horizons: int) -> Periods:
        """The hours and those around them."""
        every = set[datetime.datetime | None](self.hours.begins.to_pylist())
        wide = [
            begin + HORIZON * number for begin in every if begin is not None for number in range(-horizons, horizons + 1)
        ]  # fmt: skip
        return Periods(pa.array([*set(wide), *([None] if None in every else [])], TIMESTAMP), HOUR)


def refresh(lake: str, batches: Sequence[str], run_id: str, spark: Callable[[], SparkSession]) -> int:
    """Bring table journeys up to date under the names of the batches; returns the rows written. Spark is used where much is new."""
    sources = {name: open_tables.table(location(lake, name)) for name in TABLES_READ}
    delta = open_tables.table(location(lake, TABLE))
    recorded = delta_log.transactions(delta)
    info = CommitInfo(run_id, tuple(batches), {name: table.version() for name, table in sources.items()})
    touched = _touched(lake, sources, {name: recorded.get(SOURCE + name) for name in sources})
    held = data_files.of(delta, ["ts"])
    if touched is None:
        made = _made(lake, spark, _narrowed({name: query.whole(lake, name) for name in TABLES_READ}), None)
        replace_files(delta, made, held, info)
        return sum(file.rows for file in made)
    if not touched.contents.num_rows:
        replace_files(delta, [], [], info)
        return 0
    near, output = touched.around(2 * REACH), touched.around(REACH)
    parts = {name: Files.of(name, _overlapping(sources[name], times, near)) for name, times in TIMES.items()}
    parts = _narrowed(parts | {"captures": query.whole(lake, "captures")})
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
    compact(lake, TABLE)
    return sum(file.rows for file in fresh)


def _overlapping(table: DeltaTable, times: Sequence[str], hours: Periods) -> list[File]:
    return data_files.overlapping(data_files.of(table, times), times, hours.ranges, hours.timeless)


def _narrowed(parts: Mapping[str, Files]) -> dict[str, Files]:
    """The files to read: none of raw_frames where no connection lacks octets."""
    lacks = " OR ".join(f"{name}_octets_{way} > 0" for name in ("gap", "inner_gap") for way in ("c2s", "s2c"))
    with query.opened({"streams": parts["streams"]}) as database:
        found = database.sql(f"SELECT 1 FROM streams WHERE {lacks} LIMIT 1").fetchall()
    return {**parts} if found else {**parts, "raw_frames": Files("raw_frames", ())}


def _large(parts: Mapping[str, Files]) -> bool:
    return sum(parts[name].rows for name in ("sends", "deliveries", "raw_frames")) > query.DRIVER_ROWS


# ---- what changed


def _touched(lake: str, sources: Mapping[str, DeltaTable], since: Mapping[str, int | None]) -> Touched | None:
    """What is to be computed again since the tables had these versions; None for everything, as the changes are not known."""
    changes = {name: None if version is None else delta_log.changes(sources[name], version) for name, version in since.items()}
    if None in since.values() or None in changes.values():
        return None
    known = {name: change or [] for name, change in changes.items()}
    if not data_files.exist([one.uri for name in TIMES for one in known[name]]):
        return None
    views = {
        f"{way}_{name}": Files(name, tuple(one.uri for one in known[name] if one.added is added))
        for name in TIMES for way, added in (("came", True), ("went", False))
    }  # fmt: skip
    contents, hours = [pa.table({"content": pa.array([], pa.int64())})], [pa.array([], TIMESTAMP)]

    def take(database: DuckDBPyConnection, rows: str) -> None:
        """Note rows: their contents, and their hours."""
        found = database.sql(f"SELECT DISTINCT content, date_trunc('hour', ts) AS hour FROM ({rows}) rows").to_arrow_table()
        contents.append(found.select(["content"]))
        hours.append(found.column("hour").combine_chunks().cast(TIMESTAMP).unique())

    with query.opened(views) as database:
        for name, columns, ts in (("sends", OF_SENDS, "sent_ts"), ("deliveries", OF_DELIVERIES, "delivered_ts")):
            if known[name]:
                take(database, f"SELECT {CONTENT.format('c')} AS content, {ts} AS ts FROM ({_differing(name, columns)}) c")
        lives = _altered(database, known)
        for name, ts in (("sends", "sent_ts"), ("deliveries", "delivered_ts")):
            if lives is not None:
                query.show(database, f"of_{name}", Files.of(name, _overlapping(sources[name], TIMES[name], lives)))
                also = " OR t.producer_session IN (SELECT session FROM altered)" if name == "deliveries" else ""
                take(database, f"SELECT {CONTENT.format('t')} AS content, t.{ts} AS ts FROM of_{name} t "
                               f"WHERE t.stream_id IN (SELECT stream_id FROM altered){also}")  # fmt: skip
        holes = _holes(database, known)
        for name, ts in (("sends", "sent_ts"), ("deliveries", "delivered_ts")):
            if holes is not None:
                query.show(database, f"by_{name}", Files.of(name, _overlapping(sources[name], TIMES[name], holes)))
                take(database, f"SELECT {CONTENT.format('t')} AS content, t.{ts} AS ts FROM by_{name} t WHERE {holes.condition(f't.{ts}')}")
        _take_waiting(lake, database, take, since, hours)
    begins = reduce(lambda one, other: pa.concat_arrays([one, other]), hours).unique()
    return Touched(pa.concat_tables(contents).group_by("content").aggregate([]), Periods(begins, HOUR))


def _differing(name: str, columns: str) -> str:
    """SQL for what came to a table and had not been there, and what went and is not there."""
    names = f"SELECT {columns} FROM"
    return f"({names} came_{name} EXCEPT {names} went_{name}) UNION ALL ({names} went_{name} EXCEPT {names} came_{name})"


def _altered(database: DuckDBPyConnection, known: Mapping[str, Sequence[object]]) -> Periods | None:
    """Make table altered: connections of which something is known otherwise. The hours in which these lived; None without any."""
    if not known["streams"] and not known["sessions"]:
        return None
    either = " UNION ".join(f"SELECT stream_id FROM ({_differing(name, columns)}) d" for name, columns in
                            (("streams", OF_STREAMS), ("sessions", OF_SESSIONS)))  # fmt: skip
    sessions = " UNION ".join(f"SELECT stream_id, session FROM {way}_sessions" for way in ("came", "went"))
    database.execute(f"CREATE TABLE altered AS SELECT e.stream_id, s.session FROM ({either}) e LEFT JOIN ({sessions}) s USING (stream_id)")
    times = " UNION ".join(
        f"SELECT stream_id, {first} AS first, last_ts FROM {way}_{name}"
        for name, first in (("streams", "first_ts"), ("sessions", "opened_ts")) for way in ("came", "went")
    )  # fmt: skip
    sql = f"SELECT date_trunc('hour', first) AS first, date_trunc('hour', max(last_ts)) AS last FROM ({times}) t " \
          "WHERE stream_id IN (SELECT stream_id FROM altered) GROUP BY 1"  # fmt: skip
    return _hours(database.sql(sql).to_arrow_table().to_pylist())


def _holes(database: DuckDBPyConnection, known: Mapping[str, Sequence[object]]) -> Periods | None:
    """The hours of whose rows holes that came or went may decide; None without any."""
    if not known["raw_frames"]:
        return None
    beside = "stream_id, direction, stream_offset, length_octets, kind, lag(last_ns) OVER beside AS before, " \
             "lead(first_ns) OVER beside AS behind"  # fmt: skip
    pieces = {
        way: f"SELECT * FROM (SELECT {beside} FROM {way}_raw_frames WINDOW beside AS (PARTITION BY stream_id, direction "
             "ORDER BY stream_offset)) b WHERE kind NOT IN ('frame', 'eol')"
        for way in ("came", "went")
    }  # fmt: skip
    either = " UNION ALL ".join(f"({pieces[one]} EXCEPT {pieces[other]})" for one, other in (("came", "went"), ("went", "came")))
    near = " UNION ".join(f"SELECT stream_id, direction, stream_offset, first_ts FROM {way}_raw_frames" for way in ("came", "went"))
    sql = f"""
    SELECT date_trunc('hour', min(n.first_ts)) AS first, date_trunc('hour', max(n.first_ts)) AS last
    FROM (SELECT DISTINCT stream_id, direction FROM ({either}) every) g
    JOIN ({near}) n ON n.stream_id = g.stream_id AND n.direction = g.direction GROUP BY g.stream_id"""
    wide = 2 * HORIZON
    found = [{"first": row["first"] and row["first"] - wide, "last": row["last"] and row["last"] + wide}
             for row in database.sql(sql).to_arrow_table().to_pylist()]  # fmt: skip
    return _hours(found)


def _hours(found: Iterable[Mapping[str, datetime.datetime | None]]) -> Periods | None:
    """The hours from the first to the last of each; None where there are none."""
    begins = set[datetime.datetime | None]()
    for row in found:
        begin, last = row["first"], row["last"]
        if begin is None or last is None:
            begins.add(None)
            continue
        while begin <= last:
            begins.add(begin)
            begin += HOUR
    return Periods(pa.array(list(begins), TIMESTAMP), HOUR) if begins else None


def _take_waiting(
    lake: str, database: DuckDBPyConnection, take: Callable[[DuckDBPyConnection, str], None], since: Mapping[str, int | None],
    hours: Sequence[pa.Array],
) -> None:
    """Note the SENDs whose horizon was not over and now is, and those for which it counts whether their destination has MESSAGEs."""
    where = location(lake, "captures")
    before, now = (_ends(open_tables.table(where, version)) for version in (since["captures"], None))
    moved = [(before[source] - HORIZON, end) for source, end in now.items() if source in before and end != before[source]]
    changed = reduce(lambda one, other: pa.concat_arrays([one, other]), hours).unique()
    served = Touched(pa.table({}), Periods(changed, HOUR)).around(2)
    held = data_files.of(open_tables.table(location(lake, TABLE)), ["ts"])
    query.show(database, TABLE, Files.of(TABLE, data_files.overlapping(held, ["ts"], [*moved, *served.ranges], served.timeless)))
    waiting = f"SELECT {CONTENT.format('j')} AS content, j.ts FROM {TABLE} j WHERE j.message_stream_id IS NULL AND j.reason"
    if moved:
        take(database, f"{waiting} = 'not_yet'")
    names = f"SELECT destination_name FROM ({_differing('deliveries', OF_DELIVERIES)}) d"
    take(database, f"{waiting} IN ('no_consumer', 'unknown') AND j.destination_name IN ({names}) AND {served.condition('j.ts')}")


def _ends(captures: DeltaTable) -> dict[str, datetime.datetime]:
    """The latest packet of each source."""
    rows = captures.to_pyarrow_table(columns=["source", "last_ns"])
    found = rows.group_by("source").aggregate([("last_ns", "max")]).to_pylist()
    begin = datetime.datetime.fromtimestamp(0, datetime.UTC)
    return {row["source"]: begin + datetime.timedelta(microseconds=row["last_ns_max"] // 1000) for row in found if row["last_ns_max"]}


# ---- rows


def _sql(touched: Touched | None, *, by_duckdb: bool = True) -> str:
    """The query: of all, or of what is touched."""
    if touched is None:
        return f"SELECT {NAMES} FROM ({journeys(by_duckdb=by_duckdb)}) made"
    near, output = touched.around(2 * REACH), touched.around(REACH)
    ours = "(SELECT content FROM touched)"
    sends = f"{CONTENT.format('x')} IN {ours} AND {near.condition('x.sent_ts')}"
    deliveries = f"{CONTENT.format('d')} IN {ours} AND {near.condition('d.delivered_ts')}"
    return f"SELECT {NAMES} FROM ({journeys(sends, deliveries, by_duckdb=by_duckdb)}) made WHERE {output.condition('ts')}"


def _of_touched(touched: Touched, of: str) -> str:
    """Whether a row of table journeys is one that is computed again."""
    return f"{CONTENT.format(of)} IN (SELECT content FROM touched) AND {touched.around(REACH).condition(f'{of}.ts')}"


def _made(lake: str, spark: Callable[[], SparkSession], parts: Mapping[str, Files], touched: Touched | None) -> list[DataFile]:
    """Files with the rows, which no commit names yet."""
    if _large(parts):
        return _by_spark(lake, spark(), touched)
    with query.opened(parts) as database:
        if touched is not None:
            database.register("touched", touched.contents)
        return _written(lake, database.sql(f"{_sql(touched)} {ORDER}").to_arrow_reader())


def _compared(
    lake: str, parts: Mapping[str, Files], old: Sequence[File], touched: Touched
) -> tuple[list[DataFile], list[tuple[File, list[DataFile]]]]:
    """Files with the rows that are new or otherwise, and those that had the ones before, each with the files that replace it."""
    with query.opened(parts) as database:
        database.register("touched", touched.contents)
        query.show(database, TABLE, Files.of(TABLE, old))
        database.execute(f"CREATE TEMP TABLE made AS {_sql(touched)}")
        database.execute(f"CREATE TEMP TABLE held AS SELECT {NAMES} FROM {TABLE} j WHERE {_of_touched(touched, 'j')}")
        database.execute("CREATE TEMP TABLE fresh AS SELECT * FROM made EXCEPT ALL SELECT * FROM held")
        gone = database.sql("SELECT * FROM held EXCEPT ALL SELECT * FROM made").to_arrow_table()
        settled = "message_stream_id IS NOT NULL AND joined_by NOT IN ('ambiguous', 'none')"
        fresh = [
            file for which in (settled, f"NOT ({settled})")
            for file in _written(lake, database.sql(f"SELECT {NAMES} FROM fresh WHERE {which} {ORDER}").to_arrow_reader())
        ]  # fmt: skip
    return fresh, _without(lake, old, touched, gone) if gone.num_rows else []


def _without(lake: str, old: Sequence[File], touched: Touched, gone: pa.Table | None) -> list[tuple[File, list[DataFile]]]:
    """The files that have rows which go, each with those that replace it; None for all rows that are computed again."""
    found = []
    for file in old:
        with query.opened({TABLE: Files.of(TABLE, [file])}) as database:
            database.register("touched", touched.contents)
            if gone is None:
                which = _of_touched(touched, "t")
            else:
                database.register("gone", gone)
                which = f"EXISTS (SELECT 1 FROM gone g WHERE {KEY})"
            database.execute(f"CREATE TEMP TABLE stay AS SELECT {NAMES} FROM {TABLE} t WHERE NOT ({which})")
            [(rows,)] = database.sql("SELECT count(*) FROM stay").fetchall()
            if rows < file.rows:
                found.append((file, _written(lake, database.sql("SELECT * FROM stay").to_arrow_reader())))
    return found


def _written(lake: str, batches: Iterable[pa.RecordBatch]) -> list[DataFile]:
    """Rows as files that no commit names yet, in their order."""
    made, schema = [], TABLES[TABLE].arrow
    writer, rows = TableWriter(lake, TABLE), 0
    for batch in batches:
        writer.write(pa.Table.from_batches([batch]).cast(schema))
        rows += batch.num_rows
        if rows >= FILE_ROWS:
            made.append(writer.close())
            writer, rows = TableWriter(lake, TABLE), 0
    return [file for file in (*made, writer.close()) if file is not None]


_FILE = pa.schema([("table", pa.string()), ("path", pa.string()), ("size", pa.int64()), ("rows", pa.int64()), ("statistics", pa.string())])


def _by_spark(lake: str, spark: SparkSession, touched: Touched | None) -> list[DataFile]:
    """The same, written by Spark's tasks."""
    for name in TABLES_READ:
        lakes.read(spark, lake, name).createOrReplaceTempView(name)
    if touched is not None:
        spark.createDataFrame(touched.contents).createOrReplaceTempView("touched")

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file in _written(lake, batches):
            yield pa.RecordBatch.from_pylist([vars(file)], schema=_FILE)

    kinds = "table STRING, path STRING, size BIGINT, rows BIGINT, statistics STRING"
    return [DataFile(**row.asDict()) for row in spark.sql(_sql(touched, by_duckdb=False)).mapInArrow(task, kinds).collect()]

