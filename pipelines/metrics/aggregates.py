"""Keeps aggregates up to date at a cost that depends on new rows alone.

An aggregate is recomputed for the hours or days of rows that were added or removed since it was last made; rows that only moved from one
file to another do not count. Its own transactions record the versions of the tables that it was made from. It is computed from all rows if
there is no such record (a new lake, or one of an older version), or if the commits or files since then are gone.
"""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pipelines.incidents import kinds as incident_kinds
from pipelines.incidents import refresh as incidents
from pipelines.metrics import gold, journeys, journeys_touched
from pipelines.metrics.periods import Periods
from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import SOURCE, CommitInfo, replace_files, replace_where
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

    from pipelines.job import Job
    from pipelines.metrics.gold import Aggregate

UNKNOWN = 1 << 62
"""A version that no table has: its changes since then are not known."""


def aggregate(job: Job, batches: Sequence[str], written: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
    """Bring the tables that sum up all sessions up to date, as the stage metrics; `written` are rows that it has written already."""
    with job.stage("metrics", batches) as rows:
        rows.update(written)
        refresh_all(job, batches, rows, tables)


def refresh_all(job: Job, batches: Sequence[str], rows: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
    """Bring the tables that sum up all sessions up to date; the numbers of rows written are added to `rows`."""
    from stompcap.rules import catalogue_table

    job.progress.begin("computing metrics")
    run_id = job.result.run_id
    behind = [one for one in gold.AGGREGATES if gold.JOURNEYS in one.times]
    at_once = [one for one in gold.AGGREGATES if one not in behind]

    def count(name: str, number: int) -> None:
        rows[name] = rows.get(name, 0) + number

    with ThreadPoolExecutor(len(at_once)) as pool:
        wanted = [one for one in at_once if one.name in tables]
        made = pool.map(lambda one: refresh(job.lake, one, batches, run_id, job.spark), wanted)
        if gold.JOURNEYS in tables:
            count(gold.JOURNEYS, journeys.refresh(job.lake, batches, run_id, job.spark))
        for one in behind:
            if one.name in tables:
                count(one.name, refresh(job.lake, one, batches, run_id, job.spark))
        for one, number in zip(wanted, made, strict=True):
            count(one.name, number)
    if "rules" in tables:
        rows["rules"] = lakes.replace(job.lake, "rules", catalogue_table(job.options.settings), run_id)
        lakes.commit(job.lake, "rules", [], batches, run_id)
    if gold.INCIDENTS in tables:
        count(gold.INCIDENTS, incidents.refresh(job.lake, batches, run_id, job.pace))


def refresh(lake: str, one: Aggregate, batches: Sequence[str], run_id: str, spark: Callable[[], SparkSession]) -> int:
    """Bring an aggregate up to date under the names of the batches; returns the rows written. Spark is used where much is new."""
    sources = {name: open_tables.table(location(lake, name)) for name in one.times}
    recorded = delta_log.transactions(open_tables.table(location(lake, one.name)))
    info = CommitInfo(run_id, tuple(batches), {name: table.version() for name, table in sources.items()})
    periods = changed(one, sources, {name: recorded.get(SOURCE + name) for name in sources})
    if periods is None:
        rows = query.ask(lake, [one.query()], spark)[one.name]
        return replace_where(lake, one.name, one.period, None, rows, info)
    if len(periods.begins) == 0:
        return replace_where(lake, one.name, one.period, periods.begins, TABLES[one.name].arrow.empty_table(), info)
    parts = {}
    for name, table in sources.items():
        times = one.times[name]
        found = data_files.overlapping(data_files.of(table, times), times, periods.ranges, periods.timeless)
        parts[name] = Files.of(name, found)
    rows = query.ask(lake, [one.query(periods)], spark, parts)[one.name]
    return replace_where(lake, one.name, one.period, periods.begins, rows, info)


def forget_sources(lake: str, run_id: str) -> None:
    """Have the aggregates computed from all rows when they are refreshed next: the versions that they were made from count no more."""
    for one in gold.AGGREGATES:
        info = CommitInfo(run_id, (), dict.fromkeys(one.times, UNKNOWN))
        replace_files(open_tables.table(location(lake, one.name)), [], [], info)
    for name, read in ((gold.JOURNEYS, journeys_touched.TABLES_READ), (gold.INCIDENTS, incident_kinds.TABLES)):
        info = CommitInfo(run_id, (), dict.fromkeys(read, UNKNOWN))
        replace_files(open_tables.table(location(lake, name)), [], [], info)


def changed(one: Aggregate, sources: Mapping[str, DeltaTable], since: Mapping[str, int | None]) -> Periods | None:
    """The periods whose rows have changed since the tables had the versions `since`; None if that is not known, and all may have.

    Rows change if they are added or removed, or if the attributes of their session change. What the aggregate does not read of them does
    not count.
    """
    if None in since.values():
        return None  # made by a version that read other tables
    changes = {name: None if version is None else delta_log.changes(sources[name], version) for name, version in since.items()}
    found = {name: changes[name] for name in (*one.counted, "sessions")}
    known = {name: change for name, change in found.items() if change is not None}
    if len(known) < len(found) or not data_files.exist([change.uri for each in known.values() for change in each]):
        return None
    views = {
        f"{way}_{name}": Files(name, tuple(change.uri for change in each if change.added is added))
        for name, each in known.items() for way, added in (("came", True), ("went", False))
    }  # fmt: skip
    parts = []
    with query.opened(views) as database:
        altered = bool(known["sessions"]) and _find_altered(one, database)
        for name, periods in one.counted.items():
            differing = query.differing(f"came_{name}", f"went_{name}", ", ".join(_read_of(one, name)))
            parts.append(periods.format(rows=f"({differing}) changed"))
            if altered and "stream_id" in TABLES[name].arrow.names:
                query.show(database, f"of_altered_{name}", _during(one, name, sources[name], database))
                rows = f"(SELECT * FROM of_altered_{name} WHERE stream_id IN (SELECT stream_id FROM altered)) of_altered"
                parts.append(periods.format(rows=rows))
        begins = database.sql(f"SELECT DISTINCT period FROM ({' UNION '.join(parts)}) periods").to_arrow_table().column("period")
    return Periods(begins.combine_chunks().cast(TABLES[one.name].column(one.period).type), one.length)


def _read_of(one: Aggregate, table: str) -> list[str]:
    """The columns of a table whose rows are counted that the aggregate's SQL names, of whatever table it does."""
    named = set(re.findall(r"\w+", " ".join((one.sql, one.counted[table]))))
    return [name for name in TABLES[table].arrow.names if name in named]


def _find_altered(one: Aggregate, database: DuckDBPyConnection) -> bool:
    """Make table altered: the sessions whose attributes are others now, and when they lived; returns whether there are any."""
    differing = query.differing("came_sessions", "went_sessions", f"stream_id, {one.attributes}")
    lives = " UNION ALL ".join(f"SELECT stream_id, opened_ts, last_ts FROM {way}_sessions" for way in ("came", "went"))
    database.execute(f"CREATE TABLE altered AS SELECT * FROM ({lives}) lives WHERE stream_id IN (SELECT stream_id FROM ({differing}) d)")
    [(number,)] = database.sql("SELECT count(*) FROM altered").fetchall()
    return bool(number)


def _during(one: Aggregate, name: str, table: DeltaTable, database: DuckDBPyConnection) -> Files:
    """The files that may hold rows of altered sessions: these rows lie between the sessions' first packet and their last."""
    [life] = database.sql("SELECT min(opened_ts) AS first, max(last_ts) AS last FROM altered").to_arrow_table().to_pylist()
    files = data_files.of(table, one.times[name])
    if life["first"] is None or life["last"] is None:
        return Files.of(name, files)
    end = life["last"] + one.length  # the end of a range is not in it
    return Files.of(name, data_files.overlapping(files, one.times[name], [(life["first"], end)], timeless=True))
