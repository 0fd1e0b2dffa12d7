"""A user's own expectations: suites of Great Expectations 1.x, as it writes them, each for one table of the lake.

They are judged beside ours, and their results are rows of `quality_results`. Of what they find only counts, keys without text from the wire
and numbers are kept. Up to so many rows are judged in this process, more by Spark.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap.errors import UsageError
from stompcap.lake import data_files, open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.commits import read
from stompcap.lake.paths import location
from stompcap.quality.ranges import EXAMPLES, LONGEST, harmless_key
from stompcap.quality.wording import OWN, failure
from stompcap.tables import TABLES
from stompcap.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stompcap.quality.great_expectations import ExpectationConfiguration, gx

DRIVER_ROWS = 1 << 19
"""Rows of a table that pandas judges; Python's objects of them take a few hundred megabytes."""

OCTETS = 1 << 24
"""Size of a file beyond which it is no suite."""

ABOUT_COLUMNS = "expect_table_column"
"""How the names of expectations on a table's columns begin, which read no row."""

NEEDS_SQL = ("unexpected_rows_expectation",)
TAKES_COLUMNS = ("column", "column_A", "column_B", "column_list")
WRITE_IT = "write it with Great Expectations 1.x, as in docs/quality.md"


@dataclass(frozen=True)
class OwnSuite:
    """A suite and its table; of each expectation its configuration as JSON has it."""

    table: str
    name: str
    expectations: tuple[Mapping[str, Any], ...]


def load(table: str, path: str) -> OwnSuite:
    """The suite of a file; UsageError names the file and the remedy where it is none, or none for this table."""
    if table not in TABLES:
        raise UsageError(f"{path}: {visible(table, LONGEST)}: no such table; name one of {', '.join(TABLES)}")
    try:
        with open(path, "rb") as file:
            octets = file.read(OCTETS)
        document = json.loads(octets)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a suite of Great Expectations that can be read") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no JSON ({visible(str(error), 80)}); {WRITE_IT}") from error
    listed = document.get("expectations") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise UsageError(f'{path}: no suite, which is an object with a list "expectations"; {WRITE_IT}')
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f'{path}: the suite has no "name"; {WRITE_IT}')
    for number, one in enumerate(listed, 1):
        _demand_judgeable(table, one, f"{path}: expectation {number}")
    return OwnSuite(table, visible(name, LONGEST), tuple(listed))


def _demand_judgeable(table: str, one: Any, where: str) -> None:
    """Raise UsageError where Great Expectations cannot make an expectation of this, or the table has not what it names."""
    if not isinstance(one, dict) or not isinstance(one.get("type"), str) or not isinstance(one.get("kwargs"), dict):
        old = "; it is of Great Expectations before 1.0" if isinstance(one, dict) and "expectation_type" in one else ""
        raise UsageError(f'{where}: no object with "type" and "kwargs"{old}; {WRITE_IT}')
    where += f" ({visible(one['type'], 80)})"
    if one["type"] in NEEDS_SQL:
        raise UsageError(f"{where}: is judged by databases only; use another type")
    try:
        _configured(one)
    except Exception as error:  # Great Expectations raises of all kinds, pydantic's among them
        problem = " ".join(str(error).split()).rpartition("provided configuration is not valid: ")[2]
        raise UsageError(f"{where}: {visible(problem, 160)}; correct it there") from error
    for given in TAKES_COLUMNS:
        names = one["kwargs"].get(given, [])
        for name in [names] if isinstance(names, str) else names:
            if name not in TABLES[table].arrow.names:
                raise UsageError(f"{where}: table {table} has no column {visible(str(name), LONGEST)}; docs/tables.md lists its columns")


def _configured(one: Mapping[str, Any], number: int = 0) -> ExpectationConfiguration:
    """A configuration that Great Expectations takes; raises what that raises."""
    from stompcap.quality.great_expectations import ExpectationConfiguration

    known = {name: one[name] for name in ("type", "kwargs", "severity") if name in one}
    found = ExpectationConfiguration(**known, meta={"number": number})
    found.to_domain_obj()
    return found


def results(
    lake: str, run_id: str, suites: Sequence[tuple[str, str]], spark: Callable[[], SparkSession]
) -> list[dict[str, Any]]:
    """Rows of `quality_results` for suites, each given by its table and file; raises UsageError where one is wrong."""
    from stompcap.quality.expectations import Validator

    rows, validator, counted = [], Validator(), Counter[tuple[str, str | None, str]]()
    for table, path in suites:
        suite = load(table, path)
        about = [number for number, one in enumerate(suite.expectations) if one["type"].startswith(ABOUT_COLUMNS)]
        others = [number for number in range(len(suite.expectations)) if number not in about]
        frames = [(about, TABLES[table].arrow.empty_table().to_pandas())] if about else []
        frames += [(others, _rows(lake, table, _columns(suite), spark))] if others else []
        for numbers, frame in frames:
            made = _suite(f"{table} {numbers[0]}", [_configured(suite.expectations[number], number) for number in numbers])
            judged = validator.of_rows(made, frame, harmless_key(TABLES[table]))
            for result in sorted(judged, key=lambda one: one.expectation_config.meta["number"]):
                row = _row(suite, result) | {"run_id": run_id, "checked_ts": datetime.datetime.now(datetime.UTC)}
                name = table, row["column_name"], row["expectation"]
                counted[name] += 1
                row["expectation"] += f" {counted[name]}" if counted[name] > 1 else ""
                rows.append(row | {"message": None if row["success"] else failure(row)})
    return rows


def _suite(name: str, among: Sequence[ExpectationConfiguration]) -> gx.ExpectationSuite:
    from stompcap.quality.great_expectations import gx

    return gx.ExpectationSuite(name=name, expectations=list(among))


def _columns(suite: OwnSuite) -> list[str]:
    """The columns of a table that its suite names anywhere, conditions on rows too, and those that name a row."""
    words = {*re.findall(r"\w+", json.dumps([one["kwargs"] for one in suite.expectations])), *harmless_key(TABLES[suite.table])}
    return [name for name in TABLES[suite.table].arrow.names if name in words]


def _rows(lake: str, table: str, columns: Sequence[str], spark: Callable[[], SparkSession]) -> Any:
    """The rows of a table as a frame of pandas, or of Spark where they are many."""
    files = data_files.of(open_tables.table(location(lake, table)))
    if sum(file.rows for file in files) > DRIVER_ROWS:
        return lakes.read(spark(), lake, table).select(*columns)
    import pandas as pd

    kinds = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}  # exact where some are null
    return read(table, files, columns).to_pandas(types_mapper=kinds.get)


def _row(suite: OwnSuite, result: Any) -> dict[str, Any]:
    """A row of `quality_results`, but for run and time."""
    from stompcap.quality.suites import SEVERITIES

    config, found = result.expectation_config, result.result or {}
    one = suite.expectations[config.meta["number"]]
    column = one["kwargs"].get("column")
    rows, broken = found.get("element_count"), found.get("unexpected_count")
    observed: dict[str, Any] = {OWN: one.get("description") or one["type"], "rows": rows, "broken": broken}
    first = found.get("partial_unexpected_index_list") or []
    keys = harmless_key(TABLES[suite.table])
    observed["first"] = [{key: visible(str(row[key]), LONGEST) for key in keys if key in row} for row in first[:EXAMPLES]]
    if isinstance(value := found.get("observed_value"), int | float):
        observed["value"] = value
    if problem := _raised(result.exception_info):
        observed["error"] = problem
    return {
        "table_name": suite.table, "column_name": column if isinstance(column, str) else None,
        "expectation": f"{suite.name}: {one['type']}", "severity": SEVERITIES[config.severity], "success": bool(result.success),
        "observed": json.dumps(observed, sort_keys=True, default=str), "checked_rows": rows, "failed_rows": broken,
    }  # fmt: skip


def _raised(info: Mapping[str, Any] | None) -> str | None:
    """Why an expectation could not be judged, in a few words; None where it was."""
    for one in [info or {}, *(value for value in (info or {}).values() if isinstance(value, dict))]:
        if one.get("raised_exception"):
            return visible(" ".join(str(one.get("exception_message")).split()), 2 * LONGEST)
    return None
