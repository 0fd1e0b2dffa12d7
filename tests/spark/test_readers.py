"""What is written with Parquet's encodings of version 2 is read by Spark, DuckDB, pyarrow and delta-rs alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from stompcap.lake import tables as lakes
from stompcap.lake.commits import written
from stompcap.tables import TABLES
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
COLUMNS = ["stream_id", "stream_offset", "first_ns", "first_ts", "wire_order", "raw"]
ROWS = 5_000


def rows_of(lake: Path) -> list[dict[str, Any]]:
    """Rows whose times and offsets step by small and by large amounts, and are null, as of a gap."""
    chance, found, ns, lakes_own = random.Random(1), list[dict[str, Any]](), 0, str(lake)
    for number in range(ROWS):
        ns += chance.choice((0, 1, 20_000, 10**12, -(10**9)))
        gap = chance.random() < 0.1
        found.append({
            "stream_id": f"{number // 50:08x}", "stream_offset": number % 50 * 100, "first_ns": None if gap else abs(ns),
            "first_ts": None if gap else abs(ns) // 1000, "wire_order": number % 50 + 1, "raw": None if gap else bytes([number % 256]) * 9,
        })  # fmt: skip
    lakes.create(lakes_own)
    lakes.commit(lakes_own, "raw_frames", written(lakes_own, "raw_frames", table("raw_frames", found)), ["1"], "run")
    return found


def test_times_and_offsets_are_deltas_and_every_reader_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    rows_of(tmp_path)
    where = str(tmp_path / "raw_frames")
    [file] = (tmp_path / "raw_frames").glob("*.parquet")
    group = pq.read_metadata(file).row_group(0)
    encodings = {group.column(number).path_in_schema: group.column(number).encodings for number in range(group.num_columns)}
    deltas = {name for name, used in encodings.items() if "DELTA_BINARY_PACKED" in used}
    assert {"stream_offset", "first_ns", "last_ns", "first_ts", "first_packet", "wire_order"} <= deltas
    assert "RLE_DICTIONARY" in encodings["stream_id"]
    assert "RLE_DICTIONARY" in encodings["kind"]
    expected = pq.read_table(file).select(COLUMNS).to_pylist()
    assert len(expected) == ROWS
    key = ("stream_id", "stream_offset")
    by_delta_rs = DeltaTable(where).to_pyarrow_table(columns=COLUMNS).to_pylist()
    by_spark = spark.read.format("delta").load(where).select(COLUMNS).toArrow().to_pylist()
    by_duckdb = duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM '{file}'").to_arrow_table().to_pylist()

    def seen(rows: list[dict[str, Any]]) -> list[Any]:
        return sorted([[row[name] if name != "first_ts" else row[name] and row[name].timestamp() for name in COLUMNS] for row in rows],
                      key=lambda row: row[: len(key)])  # fmt: skip

    assert seen(by_spark) == seen(by_duckdb) == seen(by_delta_rs) == seen(expected)
    sums = spark.read.format("delta").load(where).where("first_ns >= 1000000000000").selectExpr("sum(first_ns)", "count(*)").first()
    wanted = [row["first_ns"] for row in expected if (row["first_ns"] or 0) >= 10**12]
    assert sums is not None
    assert tuple(sums) == (sum(wanted), len(wanted))
    assert set(COLUMNS) <= set(TABLES["raw_frames"].arrow.names)
