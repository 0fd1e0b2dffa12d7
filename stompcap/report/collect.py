"""From a lake to a report: runs the queries and writes the page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stompcap.errors import EnvironmentProblem
from stompcap.report import comparing, dialogues, gates, markdown
from stompcap.report.asking import EVERY, ask
from stompcap.report.packets import packets
from stompcap.report.page import TITLE, build_parts, records
from stompcap.report.queries import QUERIES, SUMMARY
from stompcap.report.writing import replace
from stompcap.units import stamp
from stompcap.version import version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from stompcap.export.names import Names
    from stompcap.lake.scope import Scope
    from stompcap.report.against import Before
    from stompcap.report.anonymous import Anonymous
    from stompcap.report.changes import Changes

SUMMED_ROWS = 5_000_000
"""Rows that are summed up after each run; it takes a second."""


def overview(lake: str, spark: Callable[[], SparkSession]) -> dict[str, list[dict[str, Any]]]:
    """Totals of the whole lake for the summary of a run: rows by query (`stompcap.cli.summary` shows them).

    Where the lake has several sources, the totals are of each, and rows have `source`. Nothing of a lake with many sources, or with more
    than `SUMMED_ROWS` rows in the tables asked: what a run costs does not grow with the lake.
    """
    from stompcap.lake import open_tables, query, sources
    from stompcap.lake.paths import location

    tables = {table for name in SUMMARY for table in QUERIES[name].tables}
    rows = sum(query.all_files(lake, table).rows for table in tables if open_tables.is_there(location(lake, table)))
    points = sources.selected(lake)
    if rows > SUMMED_ROWS or len(points) > sources.MOST:
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for source in points:
        of_it = {} if source is None else {"source": source}
        for name, table in ask(lake, SUMMARY, spark, source).items():
            found.setdefault(name, []).extend(row | of_it for row in records(table))
    return found


def write(
    lake: str, out: str, spark: Callable[[], SparkSession], source: str | None = None, form: str = "html", title: str = TITLE,
    scope: Scope | None = None, *, before: Before | None = None, fail_on: Sequence[str] = (), names: Names | None = None,
) -> list[str]:
    """Write the report of a lake as one file of HTML or Markdown (`md`); all of it or nothing. Gives what tripped the gates `fail_on`.

    It has a part for each source, or for that which is named, each compared with the same of `before`; with
    `names` one that may be sent on.

    Raises EnvironmentProblem where the file cannot be written, UsageError for a
    source that the lake has nothing of.
    """
    from stompcap.lake import sources

    made = f"made {stamp(time.time_ns(), 0)} by stompcap {version()}"
    points = sources.selected(lake, source)
    parts = {point: _answers(lake, spark, point, form, scope) for point in points[: sources.MOST]}
    anonymous = None if names is None else hiding([lake, *([] if before is None else [before.lake])], names, spark)
    changed = {} if before is None else comparing.changed(lake, before, list(parts), scope, spark, anonymous)
    broken = [word for point, tables in parts.items() for word in _tripped(fail_on, tables, changed.get(point))]
    said = None if scope is None else scope.words()
    if anonymous is not None:
        parts = {None if point is None else anonymous.source(point): anonymous.tables(tables) for point, tables in parts.items()}
        changed = {None if point is None else anonymous.source(point): one.of_a_lake() for point, one in changed.items()}
        lake, source, said = "", source and anonymous.source(source), said and anonymous.sentence(said)
    if form == "md":
        page = markdown.build(parts, title, said, changed, anonymous=anonymous is not None)
    else:
        only = source if points != [None] else None
        page = build_parts(parts, lake, made, only=only, others=len(points) - len(parts), title=title, scope=said, changed=changed,
                           anonymous=anonymous is not None)  # fmt: skip
    try:
        replace(Path(out), page)
    except OSError as error:
        raise EnvironmentProblem(f"{out}: the report cannot be written ({error.strerror or error}); name another file with -o") from error
    return list(dict.fromkeys(broken))


def hiding(lakes: Sequence[str], names: Names, spark: Callable[[], SparkSession]) -> Anonymous:
    """What replaces the names that these lakes have."""
    from stompcap.report import anonymous

    answers = (answer for lake in lakes for answer in ask(lake, (), spark, more=anonymous.QUERIES).items())
    known = [(query.partition(" ")[0], name) for query, found in answers for name in found.column("name").to_pylist()]
    order = [kind for _, _, kind in anonymous.NAMED]
    return anonymous.Anonymous(names, sorted(known, key=lambda one: order.index(one[0])))


def _tripped(fail_on: Sequence[str], tables: Mapping[str, pa.Table], changes: Changes | None) -> list[str]:
    needed = ("incident_levels", "levels", "quality") if fail_on else ()
    return gates.tripped(fail_on, {name: records(tables[name]) for name in needed if name in tables}, changes)


def _answers(
    lake: str, spark: Callable[[], SparkSession], point: str | None, form: str, scope: Scope | None
) -> dict[str, pa.Table]:
    """What a page of this form needs to know of a source."""
    from stompcap.lake import open_tables, query
    from stompcap.lake.paths import location

    if form == "md":
        return ask(lake, (*markdown.NEEDED, "levels", "quality"), spark, point, scope)
    answers = ask(lake, EVERY, spark, point, scope)
    if (findings := answers.get("findings")) is not None:
        answers["packets"] = packets(lake, findings)
    ids = dialogues.wanted({name: records(answers[name]) for name in ("incidents", "sessions_found") if name in answers})
    asked = dialogues.query(ids)
    if ids and all(open_tables.is_there(location(lake, name)) for name in asked.tables):
        answers |= query.ask(lake, [asked], spark, source=point, scope=scope)
    return answers
