"""Aggregates kept current at the cost of what is new.

The hours or days are computed anew that rows fall into which came or went since the aggregate was made last. The versions of the tables
that it was made from stand in its own transactions; one without them, in a new lake or in one that an older version made, is computed
from all rows, and so is one whose tables no longer have the commits or files since then.
"""

# ruff: noqa: S608  the SQL is put together from our own constants, and from times

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.periods import Periods
from stompcap.spark import contents, log, opening, query
from stompcap.spark.contents import Files
from stompcap.spark.places import location
from stompcap.spark.query import Query
from stompcap.spark.rewriting import SOURCE, Note, replace_where
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

    from pipelines.gold import Aggregate

def refresh(lake: str, one: Aggregate, batches: Sequence[str], run_id: str, spark: Callable[[], SparkSession]) -> int:
    """Make an aggregate current, under the names of batches that were taken in; rows written. `spark` answers where much is new."""
    sources = {name: opening.table(location(lake, name)) for name in one.times}
    noted = log.transactions(opening.table(location(lake, one.name)))
    note = Note(run_id, tuple(batches), {name: table.version() for name, table in sources.items()})
    periods = changed(one, sources, {name: noted.get(SOURCE + name) for name in sources})
    if periods is None:
        rows = query.ask(lake, [one.query()], spark)[one.name]
        return replace_where(lake, one.name, one.period, None, rows, note)
    if len(periods.begins) == 0:
        return replace_where(lake, one.name, one.period, periods.begins, TABLES[one.name].arrow.empty_table(), note)
    parts = {
        name: Files.of(name, contents.touching(contents.files(table, one.times[name]), one.times[name], periods.ranges, periods.timeless))
        for name, table in sources.items()
    }
    rows = query.ask(lake, [one.query(periods)], spark, parts)[one.name]
    return replace_where(lake, one.name, one.period, periods.begins, rows, note)


def changed(one: Aggregate, sources: Mapping[str, DeltaTable], since: Mapping[str, int | None]) -> Periods | None:
    """The periods whose rows are others than when the tables had the versions `since`; None where that is not known, which means all.

    Those are the periods of rows that came or went, and of the rows of sessions whose attributes are others.
    """
    changes = {name: None if version is None else log.changes(sources[name], version) for name, version in since.items()}
    rows, sessions = changes[one.rows], changes["sessions"]
    if rows is None or sessions is None or not contents.there([change.uri for change in (*rows, *sessions)]):
        return None
    views = {
        "changed": Files(one.rows, tuple(change.uri for change in rows)),
        "came": Files("sessions", tuple(change.uri for change in sessions if change.added)),
        "went": Files("sessions", tuple(change.uri for change in sessions if not change.added)),
    }
    sql = one.periods.format(rows="changed")
    if sessions:
        names = f"stream_id, {one.attributes}"
        one_way, other_way = (f"SELECT {names} FROM {a} EXCEPT SELECT {names} FROM {b}" for a, b in (("came", "went"), ("went", "came")))
        altered = f"stream_id IN (SELECT stream_id FROM (({one_way}) UNION ({other_way})) altered)"
        views["theirs"] = _during(one, sources[one.rows], views, altered)
        sql += " UNION " + one.periods.format(rows=f"(SELECT * FROM theirs WHERE {altered}) theirs")
    begins = query.in_process(views, [Query("periods", (), f"SELECT DISTINCT period FROM ({sql}) periods")])["periods"].column("period")
    return Periods(begins.combine_chunks().cast(TABLES[one.name].column(one.period).type), one.unit)


def _during(one: Aggregate, table: DeltaTable, views: Mapping[str, Files], altered: str) -> Files:
    """The files that may hold rows of altered sessions, all of which lie between the sessions' first packet and their last."""
    lives = " UNION ALL ".join(f"SELECT stream_id, opened_ts, last_ts FROM {view}" for view in ("came", "went"))
    sql = f"SELECT min(opened_ts) AS first, max(last_ts) AS last FROM ({lives}) lives WHERE {altered}"
    [life] = query.in_process(views, [Query("life", (), sql)])["life"].to_pylist()
    files = contents.files(table, one.times[one.rows])
    if life["first"] is None or life["last"] is None:
        return Files.of(one.rows, files)
    end = life["last"] + one.unit  # the end of a range is not in it
    return Files.of(one.rows, contents.touching(files, one.times[one.rows], [(life["first"], end)], timeless=True))
