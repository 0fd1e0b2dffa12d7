"""Gold: what people ask, aggregated over the sessions by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stompcap.spark.lake import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

SESSION_TABLES = ("heartbeats", "heartbeat_violations", "compliance", "compliance_findings")
TABLES = ("ack_latency", *SESSION_TABLES, "compliance_summary", "rules")

ACK_LATENCY = """
SELECT hour_ts, destination, ack_mode, settled_by, server_product, deliveries, settled, uncertain,
       deliveries - settled AS unsettled,
       CAST(round(p[0]) AS BIGINT) AS p50_us, CAST(round(p[1]) AS BIGINT) AS p90_us,
       CAST(round(p[2]) AS BIGINT) AS p95_us, CAST(round(p[3]) AS BIGINT) AS p99_us, max_us, mean_us
FROM (
    SELECT date_trunc('HOUR', d.delivered_ts) AS hour_ts, d.destination, d.ack_mode, d.settled_by, s.server_product,
           count(*) AS deliveries,
           count_if(d.status = 'settled') AS settled,
           count_if(d.status = 'settled' AND d.octets_missing) AS uncertain,
           percentile(d.latency_us, array(0.50, 0.90, 0.95, 0.99)) AS p,
           max(d.latency_us) AS max_us,
           CAST(round(avg(d.latency_us)) AS BIGINT) AS mean_us
    FROM (SELECT *, IF(status = 'settled' AND NOT octets_missing, ack_latency_us, NULL) AS latency_us
          FROM {deliveries} WHERE status <> 'auto') d
    JOIN {sessions} s USING (stream_id)
    GROUP BY ALL
)
"""

COMPLIANCE_SUMMARY = """
SELECT c.rule_id, s.server_product, s.client_product, s.version,
       count(*) AS sessions,
       sum(c.applicable) AS applicable, sum(c.passed) AS passed, sum(c.failed) AS failed, sum(c.not_evaluable) AS not_evaluable,
       try_divide(CAST(sum(c.failed) AS DOUBLE), sum(c.passed) + sum(c.failed)) AS failure_rate
FROM {compliance} c JOIN {sessions} s USING (stream_id)
GROUP BY ALL
"""


def ack_latency(spark: SparkSession, deliveries: DataFrame, sessions: DataFrame) -> DataFrame:
    """Exact percentiles of ack latency per hour, destination, mode, way of settling and broker; what is uncertain is only counted."""
    return spark.sql(ACK_LATENCY, deliveries=deliveries, sessions=sessions)


def compliance_summary(spark: SparkSession, compliance: DataFrame, sessions: DataFrame) -> DataFrame:
    """Sums and failure rate per rule, broker, client library and version."""
    return spark.sql(COMPLIANCE_SUMMARY, compliance=compliance, sessions=sessions)


def aggregates(spark: SparkSession, lake: str, tables: Sequence[str]) -> dict[str, DataFrame]:
    """Those of the tables named that sum up all sessions, by name."""
    sessions = read(spark, lake, "sessions")
    found: dict[str, DataFrame] = {}
    if "ack_latency" in tables:
        found["ack_latency"] = ack_latency(spark, read(spark, lake, "deliveries"), sessions)
    if "compliance_summary" in tables:
        found["compliance_summary"] = compliance_summary(spark, read(spark, lake, "compliance"), sessions)
    return found
