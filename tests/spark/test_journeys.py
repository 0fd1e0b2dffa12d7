"""Spark and DuckDB give the same journeys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipelines.metrics import journeys_sql
from stompcap.lake.query import Query, in_process
from tests.pipelines.metrics.journey_cases import COLUMNS
from tests.pipelines.metrics.test_journeys_sql import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = [pytest.mark.spark, pytest.mark.slow]


def every_case() -> dict[str, pa.Table]:
    """The traffic of all cases, each at a capture point of its own."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for number, (traffic, _) in enumerate(CASES.values()):
        for name, some in traffic.rows.items():
            for row in some:
                more = {"source": f"tap{number}"} if "source" in row else {}
                more |= {"stream_id": f"{number}-{row['stream_id']}"} if "stream_id" in row else {}
                rows[name].append(row | more)
    return {
        name: pa.table({column: pa.array([row.get(column) for row in rows[name]], kind) for column, kind in columns.items()})
        for name, columns in COLUMNS.items()
    }


def test_both_engines_give_the_same_journeys(spark: SparkSession) -> None:
    tables = every_case()
    for name, rows in tables.items():
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    query = Query("journeys", tuple(COLUMNS), journeys_sql.journeys())
    ours = in_process(tables, [query])["journeys"]
    theirs = spark.sql(journeys_sql.journeys(by_duckdb=False)).toArrow()

    def told(found: pa.Table) -> list[str]:
        return sorted(str({name: value for name, value in row.items() if name != "ts"}) for row in found.to_pylist())

    assert found_names(theirs) == found_names(ours)
    assert told(theirs) == told(ours)
    assert len(told(ours)) > len(CASES)


def found_names(found: pa.Table) -> list[str]:
    return list(found.column_names)
