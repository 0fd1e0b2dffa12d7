"""Others may put a lake's files together, sort and vacuum them between any two runs, with connections open: no row is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.lake import data_files, maintenance, other_writers
from stompcap.lake.finality import FINAL, has_mark
from stompcap.lake.paths import OPEN
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.runs import LINEAGE
from tests.spark.test_rotated_runs import OWN
from tests.spark.test_untouched_connections import SECOND, Talk, capture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
THEIRS = "theirs"


def optimized_by_spark(spark: SparkSession, where: str, name: str) -> None:
    spark.sql(f"OPTIMIZE delta.`{where}`")


def z_ordered_by_spark(spark: SparkSession, where: str, name: str) -> None:
    spark.sql(f"OPTIMIZE delta.`{where}` ZORDER BY ({', '.join(TABLES[name].statistics[:2])})")


def widened_by_spark(spark: SparkSession, where: str, name: str) -> None:
    if THEIRS not in {field.name for field in DeltaTable(where).schema().fields}:
        spark.sql(f"ALTER TABLE delta.`{where}` ADD COLUMN {THEIRS} STRING")
    optimized_by_spark(spark, where, name)


def vacuumed_by_spark(spark: SparkSession, where: str, name: str) -> None:
    compacted_by_delta_rs(spark, where, name)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")  # else it lists a folder in 200 tasks
    spark.sql(f"VACUUM delta.`{where}` RETAIN 0 HOURS")
    spark.conf.unset("spark.sql.sources.parallelPartitionDiscovery.parallelism")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


def compacted_by_delta_rs(spark: SparkSession, where: str, name: str) -> None:
    DeltaTable(where).optimize.compact()


def z_ordered_and_vacuumed_by_delta_rs(spark: SparkSession, where: str, name: str) -> None:
    table = DeltaTable(where)
    table.optimize.z_order(list(TABLES[name].statistics[:2]))
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)


def widened_by_delta_rs(spark: SparkSession, where: str, name: str) -> None:
    if THEIRS not in {field.name for field in DeltaTable(where).schema().fields}:
        DeltaTable(where).alter.add_columns(Schema.from_arrow(pa.schema([pa.field(THEIRS, pa.string())])).fields)
    compacted_by_delta_rs(spark, where, name)


BY_SPARK = (optimized_by_spark, z_ordered_by_spark, widened_by_spark, vacuumed_by_spark)
BY_DELTA_RS = (compacted_by_delta_rs, z_ordered_and_vacuumed_by_delta_rs, widened_by_delta_rs)
FOR_SPARK = ("stream_state", "raw_frames", "deliveries")
"""Some of each kind; it takes seconds for each."""


def by_others(spark: SparkSession, lake: Path, turn: int) -> None:
    """All ways at once, each with some of the tables; at each turn with others."""
    for number, name in enumerate(TABLES):
        if len(DeltaTable(str(lake / name)).file_uris()) > 1:
            way = BY_SPARK[FOR_SPARK.index(name) + turn] if name in FOR_SPARK else BY_DELTA_RS[(number + turn) % 3]
            way(spark, str(lake / name), name)


def spoken(folder: Path, runs: int) -> list[str]:
    """A capture for each run: of a connection of many packets, of some that go on, and of one that ends in it."""
    busy, talks, now, found = Talk(1), [Talk(number) for number in range(2, 6)], SECOND, list[str]()
    for number in range(runs):
        for _ in range(150):
            busy.says(now)
            now += SECOND // 100
        for talk in talks[number % 2 :: 2]:
            talk.says(now)
            now += SECOND
        ending = Talk(10 + number)
        ending.says(now)
        ending.ends(now + SECOND)
        found.append(capture(folder / f"{number}.pcap", [busy, *talks, ending]))
        now += 200 * SECOND
    return found


def run(spark: SparkSession, lake: Path, *captures: str) -> Result:
    return execute(Job(lambda: spark, str(lake), Options()), STAGES[:-1], captures)


def rows(lake: Path) -> dict[str, list[str]]:
    """Rows by table, without columns of others and those that depend on which run brought a row."""
    found = {}
    for name in TABLES.keys() - OWN:
        table = DeltaTable(str(lake / name)).to_pyarrow_table()
        without = {*LINEAGE, THEIRS, *([FINAL] if has_mark(TABLES[name]) else [])}
        found[name] = sorted(map(repr, table.drop_columns([one for one in table.column_names if one in without]).to_pylist()))
    return found


def made_by_others(lake: Path) -> dict[str, set[str]]:
    named = {name: {file.name for file in data_files.of(DeltaTable(str(lake / name)))} for name in TABLES}
    return {name: {one for one in files if not other_writers.OURS.fullmatch(one)} for name, files in named.items()}


def test_what_others_make_of_files_between_runs_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    """After it the first run moves rows of open connections back, and says so; the next ones touch their own files alone."""
    lake, parts = tmp_path / "lake", spoken(tmp_path, 5)
    told: Callable[[Result], list[str]] = lambda done: [line for line in done.warnings if "another program had put files" in line]  # noqa: E731
    for part in parts[:2]:
        run(spark, lake, part)
    by_others(spark, lake, 0)
    [line] = told(run(spark, lake, parts[2]))
    assert "rows of open connections moved into files of their own" in line
    left = made_by_others(lake)
    assert any(left.values())
    assert not told(run(spark, lake, parts[3]))
    assert made_by_others(lake) == left
    by_others(spark, lake, 1)
    assert other_writers.take_out_open_rows(str(lake)).tables
    for name in TABLES:
        maintenance.maintain(lambda: spark, str(lake), name, 168)
        opened = [file for file in data_files.of(DeltaTable(str(lake / name))) if file.name.startswith(OPEN)]
        assert opened or name not in ("streams", "stream_state", "raw_frames", "segments", "frames", "deliveries")
    assert not other_writers.take_out_open_rows(str(lake))
    assert not told(run(spark, lake, parts[4]))
    run(spark, tmp_path / "one", *parts)
    assert rows(lake) == rows(tmp_path / "one")
