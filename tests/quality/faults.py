"""Faults that are planted in the tables of a lake, and what a validation says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fault = Callable[[pa.Table], pa.Table]
KEYS = "expect_compound_columns_to_be_unique"
WORDS = "expect_column_values_to_be_in_set"
BETWEEN = "expect_column_values_to_be_between"
TILING = ("raw_frames", None, "expect_raw_frames_to_tile_directions")
AS_RAW_FRAMES = ("frames", None, "expect_frames_to_be_as_raw_frames")
BRING_OCTETS = ("segments", None, "expect_segments_to_bring_octets")
FRAMES = ("frames", None, "expect_frames_to_match_raw_frames")
DELIVERIES = ("deliveries", None, "expect_deliveries_to_match_messages")
TRANSACTIONS = ("transactions", None, "expect_transactions_to_match_begins")
RECEIPTS = ("receipts", None, "expect_receipts_to_match_requests")
SESSIONS = ("sessions", None, "expect_one_session_per_stream_with_frames")


def no_spark() -> SparkSession:
    raise AssertionError("a small lake needs no Spark")


def run(lake: Path, spark: Callable[[], SparkSession] = no_spark, **options: Any) -> list[dict[str, Any]]:
    from stompcap.quality import validate

    results = validate(spark, str(lake), "run-1", **options)
    assert results.schema.equals(TABLES["quality_results"].arrow)
    rows: list[dict[str, Any]] = results.to_pylist()
    return rows


def failed(rows: list[dict[str, Any]]) -> set[tuple[str, str | None, str]]:
    return {(r["table_name"], r["column_name"], r["expectation"]) for r in rows if not r["success"]}


def drop(row: int) -> Fault:
    return lambda table: pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


def repeat(row: int) -> Fault:
    return lambda table: pa.concat_tables([table, table.slice(row, 1)])


def put(column: str, row: int, value: Any) -> Fault:
    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        values[row] = value
        index = table.schema.get_field_index(column)
        return table.set_column(index, table.schema.field(index), pa.array(values, table.schema.field(index).type))

    return change


def other(rows: int) -> Fault:
    """The first streams do not speak STOMP."""
    return lambda table: table.set_column(
        table.schema.get_field_index("protocol"), table.schema.field("protocol"),
        pa.array(["other"] * rows + ["stomp"] * (table.num_rows - rows)))
