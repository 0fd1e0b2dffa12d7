"""Numbers outside their range and columns out of their order are told, by files with statistics and by those without."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stompcap.quality.profiles import profiles
from stompcap.quality.ranges import Faults, checks, undecided
from stompcap.quality.report import Asked
from stompcap.tables import TABLES
from stompcap.units import LAST_S
from tests.quality import lakes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END_NS = LAST_S * 10**9 - 1
NOON = 1_764_000_000 * 10**9
BETWEEN, AT_LEAST = "expect_column_values_to_be_between", "expect_column_values_to_be_at_least_"


def no_spark() -> SparkSession:
    raise AssertionError("a small lake needs no Spark")


def faults(lake: Path, table: str) -> dict[str, Faults]:
    found = profiles(no_spark, {table: str(lake / table)}, Asked.of_tables([table])).profiles[table].faults
    return {label: fault for label, fault in found.items() if "_to_be_in_set" not in label}


def rows(table: str, number: int = 3, **columns: list[Any]) -> pa.Table:
    return lakes.fill(table, number, columns)


CASES: list[tuple[str, dict[str, list[Any]], dict[str, int]]] = [
    ("deliveries", {"ack_latency_us": [None, -1, 5]}, {f"ack_latency_us {BETWEEN}": 1}),
    ("deliveries", {"delivered_ns": [5, 9, 9], "settled_ns": [4, 9, None]}, {}),  # clocks differ and step
    ("streams", {"octets_c2s": [0, -7, -9]}, {f"octets_c2s {BETWEEN}": 2}),
    ("streams", {"client_port": [65_535, 65_536, -1]}, {f"client_port {BETWEEN}": 2}),
    ("streams", {"first_ns": [NOON] * 3, "last_ns": [NOON - 1, NOON, NOON + 1]}, {f"last_ns {AT_LEAST}first_ns": 1}),
    ("streams", {"gap_octets_s2c": [5, 5, 5], "outer_octets_s2c": [4, 5, 6]}, {f"outer_octets_s2c {AT_LEAST}gap_octets_s2c": 1}),
    ("frames", {"first_ns": [-1, 0, 0]}, {f"first_ns {BETWEEN}": 1}),
    ("segments", {"ts_ns": [0, END_NS, END_NS + 1]}, {f"ts_ns {BETWEEN}": 1}),
    ("sessions", {"opened_ts": [None, 2**62, END_NS // 1000]}, {f"opened_ts {BETWEEN}": 1}),
    ("subscriptions", {"prefetch": [-1, None, 1], "delivered": [1, 1, 1], "acked": [2, 1, 0]}, {f"delivered {AT_LEAST}acked": 1}),
    ("ack_latency", {"deliveries": [2, 2, 2], "settled": [1, 1, 1], "p50_us": [5, 5, None], "p90_us": [5, 4, 3], "p95_us": [7, 7, 7]},
     {f"p90_us {AT_LEAST}p50_us": 1}),
    ("ack_latency", {"deliveries": [2, 2, 2], "settled": [1, 3, 2]}, {f"deliveries {AT_LEAST}settled": 1}),
    ("compliance_summary", {"failure_rate": [1.5, math.nan, 1.0]}, {f"failure_rate {BETWEEN}": 2}),
    ("compliance_summary", {"failure_rate": [-0.1, None, math.inf]}, {f"failure_rate {BETWEEN}": 2}),
    ("heartbeat_violations", {"gap_ms": [-3, 0, 1], "ratio": [-0.5, 0.0, 400.0]}, {f"gap_ms {BETWEEN}": 1, f"ratio {BETWEEN}": 1}),
    ("stalls", {"begin_ns": [5, 6, 7], "end_ns": [4, 6, 6]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("table", "columns", "expected"), CASES)
def test_what_breaks_a_range_or_an_order_is_counted(
    tmp_path: Path, table: str, columns: dict[str, list[Any]], expected: dict[str, int]
) -> None:
    lakes.write(tmp_path, {table: rows(table, **columns)}, [table])
    among = {check.label for check in checks(TABLES[table])}
    assert {label: found.rows for label, found in faults(tmp_path, table).items() if label in among} == expected
    assert all(1 <= len(found.first) <= 3 for found in faults(tmp_path, table).values())


def test_every_number_and_time_has_its_range() -> None:
    def has(column: pa.DataType) -> bool:
        return pa.types.is_integer(column) or pa.types.is_floating(column) or pa.types.is_timestamp(column)

    without = {f"{t.name}.{c.name}" for t in TABLES.values() for c in t.columns if has(c.type) and c not in t.ranged}
    differences = {f"{table}.clock_difference_{name}_us" for table in ("streams", "stalls") for name in ("min", "max")}
    of_states = {f"stream_state.{name}" for name in ("flow", "ip_id", "layers", "place")}
    assert without == {"subscriptions.prefetch", "destination_minutes.backlog_change", *differences, *of_states}
    for table in TABLES.values():
        assert all(column.most for column in table.ranged if column.name.endswith(("_ns", "_ts")))
        for pair in table.ordered:
            assert len({table.column(name).type for name in pair}) == 1
        names = [(check.column.name, check.expectation) for check in checks(table)]
        assert len(set(names)) == len(names), "the key of quality_results"


def test_an_example_names_the_row_and_nothing_from_the_wire(tmp_path: Path) -> None:
    secret = "\x1b[2Jsecret"
    made = rows("ack_latency", 1, destination=[secret], server_product=[secret], ack_mode=[secret], p50_us=[-5], hour_ts=[2**62])
    lakes.write(tmp_path, {"ack_latency": made}, ["ack_latency"])
    found = faults(tmp_path, "ack_latency")
    assert found[f"p50_us {BETWEEN}"].first == [{"hour_ts": 2**62, "settled_by": None, "p50_us": -5}]
    assert secret not in str(found)


def test_statistics_spare_the_look_and_their_lack_does_not(tmp_path: Path) -> None:
    made, table = rows("receipts", latency_us=[1, 2, None], requested_ns=[1, 1, 1]), TABLES["receipts"]
    ranges = [check for check in checks(table) if check.lesser is None]
    for name, statistics in (("with", True), ("without", False)):
        pq.write_table(made, tmp_path / f"{name}.parquet", write_statistics=statistics)
    assert undecided(pq.ParquetFile(tmp_path / "with.parquet"), ranges) == []
    assert undecided(pq.ParquetFile(tmp_path / "without.parquet"), ranges) == ranges
