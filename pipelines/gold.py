"""Gold: what people ask, aggregated over all sessions of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stompcap.spark.query import Query, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

SESSION_TABLES = ("heartbeats", "heartbeat_violations", "compliance", "compliance_findings")
TABLES = ("ack_latency", *SESSION_TABLES, "compliance_summary", "rules")

ACK_LATENCY = Query(
    "ack_latency",
    ("deliveries", "sessions"),
    """
    SELECT hour_ts, destination, ack_mode, settled_by, server_product,
           count(*) AS deliveries,
           count_if(status = 'settled') AS settled,
           count_if(status = 'settled' AND octets_missing) AS uncertain,
           count_if(status IN ('unsettled', 'open', 'voided')) AS unsettled,
           count_if(status = 'unknown') AS unknown,
           CAST(round(percentile_cont(0.50) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p50_us,
           CAST(round(percentile_cont(0.90) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p90_us,
           CAST(round(percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p95_us,
           CAST(round(percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p99_us,
           max(latency_us) AS max_us,
           CAST(round(avg(latency_us)) AS BIGINT) AS mean_us
    FROM (
        SELECT date_trunc('HOUR', d.delivered_ts) AS hour_ts, d.destination, d.ack_mode, d.settled_by, s.server_product,
               d.status, d.octets_missing,
               CASE WHEN d.status = 'settled' AND NOT d.octets_missing THEN d.ack_latency_us END AS latency_us
        FROM deliveries d JOIN sessions s ON s.stream_id = d.stream_id
        WHERE d.status <> 'auto'
    ) asking
    GROUP BY hour_ts, destination, ack_mode, settled_by, server_product
    ORDER BY hour_ts, destination, ack_mode, settled_by, server_product""",
)
"""Exact percentiles of ack latency per hour, destination, mode, way of settling and broker; what is uncertain is only counted."""

COMPLIANCE_SUMMARY = Query(
    "compliance_summary",
    ("compliance", "sessions"),
    """
    SELECT c.rule_id, s.server_product, s.client_product, s.version,
           count(*) AS sessions,
           sum(c.applicable) AS applicable, sum(c.passed) AS passed, sum(c.failed) AS failed, sum(c.not_evaluable) AS not_evaluable,
           CAST(sum(c.failed) AS DOUBLE) / nullif(sum(c.passed) + sum(c.failed), 0) AS failure_rate
    FROM compliance c JOIN sessions s ON s.stream_id = c.stream_id
    GROUP BY c.rule_id, s.server_product, s.client_product, s.version
    ORDER BY c.rule_id, s.server_product, s.client_product, s.version""",
)
"""Sums and failure rate per rule, broker, client library and version."""

AGGREGATES = (ACK_LATENCY, COMPLIANCE_SUMMARY)


def aggregates(lake: str, tables: Sequence[str], spark: Callable[[], SparkSession]) -> dict[str, pa.Table]:
    """Those of the tables named that sum up all sessions, by name; `spark` gives the session that a large lake needs."""
    return ask(lake, [query for query in AGGREGATES if query.name in tables], spark)
