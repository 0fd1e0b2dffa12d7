"""What table journeys is computed again for: the bodies of what came or went since it was made, and the hours in which it did.

Only rows of one body are joined (`pipelines.metrics.journeys_sql`). Beside SENDs and MESSAGEs themselves, their connections count (broker,
clocks), holes in the capture, and time that goes on: a SEND waits for its MESSAGE no longer than a horizon.
"""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake.exceptions import DeltaError

from pipelines.metrics.periods import Periods
from stompcap.journeys.walk import HORIZON_NS
from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.tables import outcomes
from stompcap.tables.schema import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection

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

OF_SENDS = """stream_id, stream_offset, sent_ts, effective_ns, destination_name, content_hash, body_hash, number, transaction_outcome,
    receipt_status, receipt_us"""
OF_DELIVERIES = f"""stream_id, stream_offset, delivered_ts, first_ns, destination_name, subscription, content_hash, body_hash, redelivered,
    message_id, moved_from, {outcomes.kept()} AS kept, CASE WHEN message_id LIKE '%,%' THEN status END AS artemis_status"""
OF_STREAMS = """stream_id, source, coalesce(clock_difference_min_us <= 0 AND clock_difference_max_us >= 0, true) AS agrees,
    CASE WHEN clock_difference_min_us > 0 OR clock_difference_max_us < 0 THEN clock_difference_min_us END AS ahead,
    NOT syn_seen AND NOT synack_seen AS midstream, coalesce(clock_steps_back > 0, false) AS stepped"""
OF_SESSIONS = "stream_id, server_product, session, connect_latency_us"
"""What of a row counts here: where only something else of it changes, its journey does not."""

LACKS = " + ".join(f"coalesce({name}_octets_{way}, 0)" for name in ("gap", "inner_gap") for way in ("c2s", "s2c")) + " > 0"
"""Whether the capture lacks octets of a connection of table streams."""


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


def find_touched(lake: str, sources: Mapping[str, DeltaTable], since: Mapping[str, int | None]) -> Touched | None:
    """What is to be computed again since the tables had these versions; None for everything, as the changes are not known."""
    changes = {name: None if version is None else delta_log.changes(sources[name], version) for name, version in since.items()}
    if None in since.values() or None in changes.values():
        return None
    known = {name: change or [] for name, change in changes.items()}
    ends = _ends_at(lake, since["captures"])
    if ends is None or not data_files.exist([one.uri for name in TIMES for one in known[name]]):
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
            database.execute(f"CREATE TABLE differing_{name} AS {_differing(name, columns)}")
            take(database, f"SELECT {CONTENT.format('c')} AS content, {ts} AS ts FROM differing_{name} c")
        lives = _altered(database, known)
        for name, ts in (("sends", "sent_ts"), ("deliveries", "delivered_ts")):
            if lives is not None:
                query.show(database, f"of_{name}", Files.of(name, overlapping(sources[name], TIMES[name], lives)))
                also = " OR t.producer_session IN (SELECT session FROM altered)" if name == "deliveries" else ""
                take(database, f"SELECT {CONTENT.format('t')} AS content, t.{ts} AS ts FROM of_{name} t "
                               f"WHERE t.stream_id IN (SELECT stream_id FROM altered){also}")  # fmt: skip
        holes = _holes(database, known)
        for name, ts in (("sends", "sent_ts"), ("deliveries", "delivered_ts")):
            if holes is not None:
                query.show(database, f"by_{name}", Files.of(name, overlapping(sources[name], TIMES[name], holes)))
                take(database, f"SELECT {CONTENT.format('t')} AS content, t.{ts} AS ts FROM by_{name} t WHERE {holes.condition(f't.{ts}')}")
        _take_waiting(lake, database, take, ends, hours)
    begins = reduce(lambda one, other: pa.concat_arrays([one, other]), hours).unique()
    return Touched(pa.concat_tables(contents).group_by("content").aggregate([]), Periods(begins, HOUR))


def _differing(name: str, columns: str) -> str:
    """SQL for what came to a table and had not been there, and what went and is not there."""
    return query.differing(f"came_{name}", f"went_{name}", columns)


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
    """The hours of whose rows holes that came or went may decide; None without any.

    Where a connection lacks no octets, what is no frame is the beginning of one, as wherever a capture ends: that decides nothing.
    """
    if not known["raw_frames"]:
        return None
    either = " UNION ALL ".join(f"SELECT stream_id, {LACKS} AS lacks FROM {way}_streams" for way in ("came", "went"))
    whole = f"SELECT stream_id FROM ({either}) e GROUP BY stream_id HAVING NOT bool_or(lacks)"
    beside = "stream_id, direction, stream_offset, length_octets, kind, lag(last_ns) OVER beside AS before, " \
             "lead(first_ns) OVER beside AS behind"  # fmt: skip
    pieces = {
        way: f"SELECT * FROM (SELECT {beside} FROM {way}_raw_frames WHERE stream_id NOT IN ({whole}) WINDOW beside AS "
             "(PARTITION BY stream_id, direction ORDER BY stream_offset)) b WHERE kind NOT IN ('frame', 'eol')"
        for way in ("came", "went")
    }  # fmt: skip
    either = " UNION ALL ".join(f"({pieces[one]} EXCEPT {pieces[other]})" for one, other in (("came", "went"), ("went", "came")))
    near = " UNION ALL ".join(f"SELECT stream_id, direction, first_ts FROM {way}_raw_frames" for way in ("came", "went"))
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
    lake: str, database: DuckDBPyConnection, take: Callable[[DuckDBPyConnection, str], None],
    before: Mapping[str, int], hours: Sequence[pa.Array],
) -> None:
    """Note the SENDs whose horizon was not over and now is, and those for which it counts whether their destination has MESSAGEs.

    `before` is the latest packet of each source that there was.
    """
    now = _ends(open_tables.table(location(lake, "captures")))
    moved = [(source, before[source], end_ns) for source, end_ns in now.items() if source in before and end_ns != before[source]]
    spans = [(_time(min(was_ns, is_ns)) - HORIZON, _time(max(was_ns, is_ns))) for _, was_ns, is_ns in moved]
    changed = reduce(lambda one, other: pa.concat_arrays([one, other]), hours).unique()
    served = Touched(pa.table({}), Periods(changed, HOUR)).around(2)
    held = data_files.of(open_tables.table(location(lake, TABLE)), ["ts"])
    query.show(database, TABLE, Files.of(TABLE, data_files.overlapping(held, ["ts"], [*spans, *served.ranges], served.timeless)))
    waiting = f"SELECT {CONTENT.format('j')} AS content, j.ts FROM {TABLE} j {{}} WHERE j.message_stream_id IS NULL AND "
    if moved:
        columns = zip(("source", "was_ns", "is_ns"), zip(*moved, strict=True), strict=True)
        database.register("moved", pa.table({name: list(values) for name, values in columns}))
        until = f"coalesce(j.effective_ns, j.send_ns) + {HORIZON_NS}"
        take(database, waiting.format("JOIN moved m ON m.source = j.source") + f"({until} > m.was_ns) <> ({until} > m.is_ns)")
    names = "SELECT destination_name FROM differing_deliveries"
    take(database, waiting.format("") + f"j.reason IN ('no_consumer', 'unknown') AND j.destination_name IN ({names}) "
                                        f"AND {served.condition('j.ts')}")  # fmt: skip


def _ends_at(lake: str, version: int | None) -> dict[str, int] | None:
    """The latest packet of each source at a version of table captures; None where its log or its files are gone."""
    try:
        return _ends(open_tables.table(location(lake, "captures"), version))
    except (DeltaError, OSError):
        return None


def _ends(captures: DeltaTable) -> dict[str, int]:
    """The latest packet of each source, in nanoseconds."""
    rows = captures.to_pyarrow_table(columns=["source", "last_ns"])
    found = rows.group_by("source").aggregate([("last_ns", "max")]).to_pylist()
    return {row["source"]: row["last_ns_max"] for row in found if row["last_ns_max"]}


def _time(ns: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(microseconds=ns // 1000)


def overlapping(table: DeltaTable, times: Sequence[str], hours: Periods) -> list[File]:
    """The files of a table that may have rows of these hours, by its columns of time."""
    return data_files.overlapping(data_files.of(table, times), times, hours.ranges, hours.timeless)
