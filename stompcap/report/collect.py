"""From a lake to a report: runs the queries and writes the page."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stompcap.errors import EnvironmentProblem
from stompcap.report.packets import packets
from stompcap.report.page import build, records
from stompcap.report.queries import QUERIES, SUMMARY
from stompcap.report.writing import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from stompcap.spark.query import Query


def ask(lake: str, names: Iterable[str], spark: Callable[[], SparkSession]) -> dict[str, pa.Table]:
    """The answers to the named queries; one whose tables the lake does not have (yet) is left out.

    Each answer is an aggregate or has a LIMIT, so it is small for any lake; `spark` gives the session for queries of large tables.
    Raises as `stompcap.spark.lake.demand` where there is no lake.
    """
    from stompcap.spark import open_tables, query
    from stompcap.spark.lake import demand
    from stompcap.spark.places import location

    demand(lake)
    asked = [QUERIES[name] for name in names]
    present = {table for one in asked for table in one.tables if open_tables.is_there(location(lake, table))}
    answers: dict[str, pa.Table] = {}
    for group in _groups(lake, [one for one in asked if present.issuperset(one.tables)]):
        answers |= query.ask(lake, group, spark)
    return {one.name: answers[one.name] for one in asked if one.name in answers}


def _groups(lake: str, queries: Sequence[Query]) -> list[list[Query]]:
    """The queries in groups that can each be answered in this process, and one of those that are too large for it by themselves.

    All at once, a lake of many tables of some million rows would need Spark, which takes minutes where DuckDB takes seconds.
    """
    from stompcap.spark import query

    rows = {name: query.whole(lake, name).rows for name in {table for one in queries for table in one.tables}}
    large: list[Query] = []
    groups: list[tuple[set[str], list[Query]]] = []
    for one in queries:
        if sum(rows[name] for name in set(one.tables)) > query.DRIVER_ROWS:
            large.append(one)
            continue
        for tables, group in groups:
            if sum(rows[name] for name in tables.union(one.tables)) <= query.DRIVER_ROWS:
                tables.update(one.tables)
                group.append(one)
                break
        else:
            groups.append((set(one.tables), [one]))
    return [group for group in (large, *(group for _, group in groups)) if group]


def overview(lake: str, spark: Callable[[], SparkSession]) -> dict[str, list[dict[str, Any]]]:
    """Totals of the whole lake for the summary of a run: rows by query (`stompcap.cli.summary` shows them)."""
    return {name: records(table) for name, table in ask(lake, SUMMARY, spark).items()}


def write(lake: str, out: str, spark: Callable[[], SparkSession]) -> None:
    """Write the report of a lake as one HTML file; all of it or nothing.

    Raises EnvironmentProblem where the file cannot be written.
    """
    made = f"made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by stompcap {_version()}"
    answers = ask(lake, QUERIES, spark)
    if (findings := answers.get("findings")) is not None:
        answers["packets"] = packets(lake, findings)
    page = build(answers, lake, made)
    try:
        replace(Path(out), page)
    except OSError as error:
        raise EnvironmentProblem(f"{out}: the report cannot be written ({error.strerror or error}); name another file with -o") from error


def _version() -> str:
    """The version of the package; a folder that was never installed has none."""
    try:
        return version("stompcap")
    except PackageNotFoundError:
        return "(not installed)"
