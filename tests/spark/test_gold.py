"""The aggregates over deliveries made up for it, asked of both engines."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines import gold
from stompcap.spark import lake as lakes
from stompcap.spark import query
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
HOUR = datetime.datetime(2026, 11, 21, 7, tzinfo=datetime.UTC)
COUNTED = [
    ("settled", 100, False), ("settled", 300, False), ("settled", 9_000, True),
    ("voided", 7, False), ("unsettled", None, None), ("unknown", None, True), ("auto", None, None),
]  # fmt: skip


@pytest.mark.parametrize("engine_rows", [10**9, 0], ids=["in this process", "by Spark"])
def test_an_uncertain_latency_is_counted_and_in_no_figure(
    spark: SparkSession, tmp_path: Path, engine_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "DRIVER_ROWS", engine_rows)
    lake = str(tmp_path)
    lakes.create(lake)
    deliveries: list[dict[str, Any]] = [
        {"stream_id": "s", "stream_offset": at, "delivered_ts": HOUR + datetime.timedelta(minutes=at), "destination": "/queue/a",
         "ack_mode": "client", "settled_by": "direct", "status": status, "ack_latency_us": latency, "octets_missing": missing}
        for at, (status, latency, missing) in enumerate(COUNTED)
    ]  # fmt: skip
    lakes.append(lake, "deliveries", table("deliveries", deliveries), ["unit"], "run")
    lakes.append(lake, "sessions", table("sessions", [{"stream_id": "s", "server_product": "RabbitMQ"}]), ["unit"], "run")
    [row] = gold.aggregates(lake, ["ack_latency"], lambda: spark)["ack_latency"].to_pylist()
    assert (row["hour_ts"], row["server_product"]) == (HOUR, "RabbitMQ")
    assert (row["deliveries"], row["settled"], row["uncertain"], row["unsettled"]) == (6, 3, 1, 3)
    assert (row["p50_us"], row["p99_us"], row["max_us"], row["mean_us"]) == (200, 298, 300, 200)
