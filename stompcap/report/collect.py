"""From a lake to a report: asks the questions, several at a time, and writes the page."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stompcap.errors import EnvironmentProblem
from stompcap.report.page import build, records
from stompcap.report.queries import QUERIES, SUMMARY, Query

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import SparkSession

AT_ONCE = 4  # one Spark session takes several small jobs better than one after the other


def ask(spark: SparkSession, lake: str, names: Iterable[str] = tuple(QUERIES)) -> dict[str, pa.Table]:
    """The answers to the named questions; one whose tables the lake does not have (yet) is left out.

    Each answer is an aggregate or a LIMIT, so small whatever the lake holds. The session gets a temporary view of each
    table asked. Raises what `stompcap.spark.lake.demand` raises where there is no lake.
    """
    from deltalake import DeltaTable

    from stompcap.spark.lake import demand, location, read

    demand(lake)
    asked = [QUERIES[name] for name in names]
    needed = {table for query in asked for table in query.tables}
    present = {table for table in needed if DeltaTable.is_deltatable(location(lake, table))}
    asked = [query for query in asked if present.issuperset(query.tables)]

    def view(table: str) -> None:
        read(spark, lake, table).createOrReplaceTempView(table)

    def answer(query: Query) -> pa.Table:
        return spark.sql(query.sql).toArrow()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(view, sorted(present)))
        return dict(zip((query.name for query in asked), pool.map(answer, asked), strict=True))


def overview(spark: SparkSession, lake: str) -> dict[str, list[dict[str, Any]]]:
    """What the end of a run tells of the whole lake: rows by question (`stompcap.cli.render.summary` shows them)."""
    return {name: records(table) for name, table in ask(spark, lake, SUMMARY).items()}


def write(spark: SparkSession, lake: str, out: str) -> None:
    """Write the report of a lake as one HTML file; whole or not at all.

    Raises EnvironmentProblem where the file can't be written.
    """
    made = f"made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by stompcap {_version()}"
    page = build(ask(spark, lake), lake, made)
    try:
        _replace(Path(out), page)
    except OSError as error:
        raise EnvironmentProblem(f"{out}: the report cannot be written here ({error.strerror or error}); name another -o") from error


def _version() -> str:
    """The version of the package; a folder that was never installed has none."""
    try:
        return version("stompcap")
    except PackageNotFoundError:
        return "(not installed)"


def _replace(path: Path, page: str) -> None:
    """Write beside the goal, then rename: a reader never sees half a page."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
