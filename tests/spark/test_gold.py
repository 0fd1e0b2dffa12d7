"""The aggregates over deliveries made up for it."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from pipelines.gold import ack_latency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
HOUR = datetime.datetime(2026, 11, 21, 7, tzinfo=datetime.UTC)


DELIVERIES = "stream_id STRING, delivered_ts TIMESTAMP, destination STRING, ack_mode STRING, settled_by STRING, status STRING, " \
    "ack_latency_us BIGINT, octets_missing BOOLEAN"
COUNTED = [
    ("settled", 100, False), ("settled", 300, False), ("settled", 9_000, True),
    ("voided", 7, False), ("unsettled", None, None), ("unknown", None, True), ("auto", None, None),
]  # fmt: skip


def test_an_uncertain_latency_is_counted_and_in_no_figure(spark: SparkSession) -> None:
    rows = [("s", HOUR, "/queue/a", "client", "direct", *counted) for counted in COUNTED]
    sessions = spark.createDataFrame([("s", "RabbitMQ")], "stream_id STRING, server_product STRING")
    [row] = ack_latency(spark, spark.createDataFrame(rows, DELIVERIES), sessions).collect()
    assert (row.deliveries, row.settled, row.uncertain, row.unsettled) == (6, 3, 1, 3)
    assert (row.p50_us, row.p99_us, row.max_us, row.mean_us) == (200, 298, 300, 200)
