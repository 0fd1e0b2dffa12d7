"""Spark and DuckDB give the same journeys, and the same table."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.metrics import journeys, journeys_by_spark
from stompcap.lake import data_files
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from tests.pipelines.metrics.journey_cases import COLUMNS, Traffic, joined
from tests.pipelines.metrics.test_journeys_by_runs import bring, computed, held
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
    ours = joined(tables)
    theirs = journeys_by_spark.made(spark, "true", "true", "true", 3).drop("part").toArrow()

    def told(found: pa.Table) -> list[str]:
        return sorted(str({name: row[name] for name in sorted(row) if name != "ts"}) for row in found.to_pylist())

    assert sorted(theirs.column_names) == sorted(ours.column_names)
    assert told(theirs) == told(ours)
    assert len(told(ours)) > len(CASES)


def test_a_table_made_by_spark_is_that_of_duckdb_and_its_files_follow_each_other_in_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it first, then what comes."""
    monkeypatch.setattr(journeys, "_large", lambda parts: True)
    monkeypatch.setattr(journeys, "TASK_ROWS", 20)
    lake, traffic = str(tmp_path), Traffic()
    lakes.create(lake)
    for number in range(60):
        traffic.send(number * 1000, number % 7).got(number * 1000 + 1, number % 7)
    bring(lake, traffic)
    assert journeys.refresh(lake, [], "run", lambda: spark) == len(held(lake)) == 60
    assert held(lake) == computed(lake)
    files = data_files.of(DeltaTable(location(lake, "journeys")), ["ts"])
    bounds = sorted((file.bounds["ts"].least, file.bounds["ts"].most) for file in files)
    assert len(bounds) > 2
    assert all(one[1] <= other[0] for one, other in pairwise(bounds))
    bring(lake, traffic.send(60_000, 100).got(60_001, 100).got(60_002, 101))
    assert journeys.refresh(lake, [], "run", lambda: spark) == 2
    assert held(lake) == computed(lake)
