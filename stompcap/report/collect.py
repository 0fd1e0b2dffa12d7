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
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import SparkSession

SUMMED_ROWS = 5_000_000
"""Rows that are summed up after each run; it takes a second."""


def ask(lake: str, names: Iterable[str], spark: Callable[[], SparkSession]) -> dict[str, pa.Table]:
    """The answers to the named queries; one whose tables the lake does not have (yet) is left out.

    Each answer is an aggregate or has a LIMIT, so it is small for any lake; `spark` gives the session for queries of large tables.
    Raises as `stompcap.lake.tables.demand` where there is no lake.
    """
    from stompcap.lake import open_tables, query
    from stompcap.lake.places import location
    from stompcap.lake.tables import demand

    demand(lake)
    asked = [QUERIES[name] for name in names]
    present = {table for one in asked for table in one.tables if open_tables.is_there(location(lake, table))}
    return query.ask(lake, [one for one in asked if present.issuperset(one.tables)], spark)


def overview(lake: str, spark: Callable[[], SparkSession]) -> dict[str, list[dict[str, Any]]]:
    """Totals of the whole lake for the summary of a run: rows by query (`stompcap.cli.summary` shows them).

    Nothing of a lake with more than `SUMMED_ROWS` rows in the tables asked: what a run costs does not grow with the lake.
    """
    from stompcap.lake import open_tables, query
    from stompcap.lake.places import location

    tables = {table for name in SUMMARY for table in QUERIES[name].tables}
    if sum(query.whole(lake, table).rows for table in tables if open_tables.is_there(location(lake, table))) > SUMMED_ROWS:
        return {}
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
