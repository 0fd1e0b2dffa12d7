"""The queries of ack latency: of all deliveries, by destination, how it is distributed, over time; and those of receipts."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.query import Query
from stompcap.report.culprits import BINS_PER_DECADE
from stompcap.tables.outcomes import ASKING, CUMULATIVE, DIRECT, MEASURED, figures

TIME_SLICES = 60  # of the time line


def percentile(share: float, column: str, where: str) -> str:
    """An exact percentile, linear between neighbours."""
    return f"percentile_cont({share}) WITHIN GROUP (ORDER BY {column}) FILTER (WHERE {where})"


# A cumulative ACK gives only an upper bound of the latency, so it is never mixed with direct ones.
_DIRECT, _CUMULATIVE = DIRECT.sql(), CUMULATIVE.sql()
_ACK_FIGURES = f"""
    {figures()},
    count(*) FILTER (WHERE settlement = 'nack') AS nacked,
    count(*) FILTER (WHERE {_DIRECT}) AS direct,
    {percentile(0.5, "ack_latency_us", _DIRECT)} AS p50_us,
    {percentile(0.95, "ack_latency_us", _DIRECT)} AS p95_us,
    {percentile(0.99, "ack_latency_us", _DIRECT)} AS p99_us,
    max(ack_latency_us) FILTER (WHERE {_DIRECT}) AS max_us,
    count(*) FILTER (WHERE {_CUMULATIVE}) AS cumulative,
    {percentile(0.5, "ack_latency_us", _CUMULATIVE)} AS cumulative_p50_us,
    {percentile(0.95, "ack_latency_us", _CUMULATIVE)} AS cumulative_p95_us"""

QUERIES = (
    Query(
        "ack_total",
        ("deliveries",),
        f"""
        SELECT {_ACK_FIGURES},
               count(*) FILTER (WHERE redelivered) AS redelivered
        FROM deliveries WHERE {ASKING.sql()}""",
    ),
    Query(
        "ack_destinations",
        ("deliveries",),
        f"""
        SELECT destination, ack_mode, {_ACK_FIGURES}
        FROM deliveries WHERE {ASKING.sql()} GROUP BY destination, ack_mode
        ORDER BY p95_us DESC NULLS LAST, deliveries DESC, destination, ack_mode LIMIT 25""",
    ),
    Query(
        "ack_histogram",
        ("deliveries",),
        f"""
        SELECT CAST(floor({BINS_PER_DECADE} * log10(greatest(ack_latency_us, 1))) AS INT) AS bin,
               settled_by, count(*) AS deliveries
        FROM deliveries WHERE {MEASURED.sql()}
        GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 200""",
    ),
    Query(
        "ack_timeline",
        ("deliveries",),
        f"""
        WITH direct AS (SELECT delivered_ns, ack_latency_us FROM deliveries WHERE {_DIRECT} AND delivered_ns IS NOT NULL),
             span AS (SELECT min(delivered_ns) AS first_ns, max(delivered_ns) AS last_ns FROM direct)
        SELECT CAST(floor({TIME_SLICES} * ((delivered_ns - first_ns) / (last_ns - first_ns + 1.0))) AS INT)
                   AS slice,
               min(first_ns) AS first_ns, min(last_ns) AS last_ns, count(*) AS deliveries,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY ack_latency_us) AS p50_us,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY ack_latency_us) AS p95_us
        FROM direct CROSS JOIN span GROUP BY 1 ORDER BY 1 LIMIT {TIME_SLICES}""",
    ),
    Query(
        "receipts",
        ("receipts",),
        f"""
        SELECT command, count(*) AS asked, count(*) FILTER (WHERE status = 'answered') AS answered,
               count(*) FILTER (WHERE status = 'refused') AS refused,
               count(*) FILTER (WHERE status = 'unanswered') AS unanswered,
               {percentile(0.5, "latency_us", "status = 'answered'")} AS p50_us,
               {percentile(0.95, "latency_us", "status = 'answered'")} AS p95_us
        FROM receipts GROUP BY command ORDER BY asked DESC, command LIMIT 15""",
    ),
)
