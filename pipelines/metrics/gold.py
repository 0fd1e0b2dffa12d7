"""Gold: the SQL of figures over all sessions of a lake (`pipelines.metrics.aggregates` keeps them up to date)."""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stompcap.lake.query import Query
from stompcap.tables import outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.metrics.periods import Periods

SESSION_TABLES = ("heartbeats", "heartbeat_violations", "compliance", "compliance_findings")
LIFE = ("opened_ts", "last_ts")
"""The columns of table sessions between which all rows of a session lie."""
TRAFFIC = ("first_ts", "last_ts")
"""The same for table streams."""


@dataclass(frozen=True)
class Aggregate:
    """A table of figures by hour or day, computed from the rows of one table and their sessions.

    name        of the table
    period      its column with the hour or day
    length      how long a period lasts
    rows        the table whose rows are counted
    periods     SQL for the periods that these rows fall into
    attributes  columns of sessions by which it is grouped; the source, a column of streams, never changes
    times       of each table, the columns by which files are chosen
    by          the column by which rows fall into periods
    sql         computes the figures of the rows that `{within}` selects by this column
    """

    name: str
    period: str
    length: datetime.timedelta
    rows: str
    periods: str
    attributes: str
    times: Mapping[str, Sequence[str]]
    by: str
    sql: str

    def query(self, periods: Periods | None = None) -> Query:
        """The query for some periods, by default for all."""
        within = "true" if periods is None else periods.condition(self.by)
        return Query(self.name, tuple(self.times), self.sql.format(within=within))


ACK_LATENCY = Aggregate(
    name="ack_latency",
    period="hour_ts",
    length=datetime.timedelta(hours=1),
    rows="deliveries",
    periods=f"SELECT date_trunc('HOUR', delivered_ts) AS period FROM {{rows}} WHERE {outcomes.ASKING.sql()}",
    attributes="server_product",
    times={"deliveries": ("delivered_ts",), "sessions": LIFE, "streams": TRAFFIC},
    by="d.delivered_ts",
    sql=f"""
    SELECT hour_ts, source, destination, ack_mode, settled_by, server_product,
           {outcomes.figures()},
           CAST(round(percentile_cont(0.50) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p50_us,
           CAST(round(percentile_cont(0.90) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p90_us,
           CAST(round(percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p95_us,
           CAST(round(percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_us)) AS BIGINT) AS p99_us,
           max(latency_us) AS max_us,
           CAST(round(avg(latency_us)) AS BIGINT) AS mean_us
    FROM (
        SELECT date_trunc('HOUR', d.delivered_ts) AS hour_ts, c.source, d.destination, d.ack_mode, s.server_product,
               d.status, d.octets_missing, d.ack_latency_us,
               CASE WHEN {outcomes.SETTLED.sql("d")} THEN d.settled_by END AS settled_by,
               CASE WHEN {outcomes.MEASURED.sql("d")} THEN d.ack_latency_us END AS latency_us
        FROM deliveries d JOIN sessions s ON s.stream_id = d.stream_id LEFT JOIN streams c ON c.stream_id = d.stream_id
        WHERE {outcomes.ASKING.sql("d")} AND {{within}}
    ) asking
    GROUP BY hour_ts, source, destination, ack_mode, settled_by, server_product
    ORDER BY hour_ts, source, destination, ack_mode, settled_by, server_product""",
)
"""Exact percentiles of ack latency per hour, source, destination, mode, way of settling and broker; the uncertain are only counted."""

COMPLIANCE_SUMMARY = Aggregate(
    name="compliance_summary",
    period="day",
    length=datetime.timedelta(days=1),
    rows="compliance",
    periods="SELECT CAST(opened_ts AS DATE) AS period FROM {rows}",
    attributes="server_product, client_product, version",
    times={"compliance": ("opened_ts",), "sessions": ("opened_ts",), "streams": TRAFFIC},
    by="s.opened_ts",
    sql="""
    SELECT CAST(s.opened_ts AS DATE) AS day, t.source, c.rule_id, s.server_product, s.client_product, s.version,
           count(*) AS sessions,
           sum(c.applicable) AS applicable, sum(c.passed) AS passed, sum(c.failed) AS failed, sum(c.not_evaluable) AS not_evaluable,
           CAST(sum(c.failed) AS DOUBLE) / nullif(sum(c.passed) + sum(c.failed), 0) AS failure_rate
    FROM compliance c JOIN sessions s ON s.stream_id = c.stream_id LEFT JOIN streams t ON t.stream_id = c.stream_id
    WHERE {within}
    GROUP BY day, t.source, c.rule_id, s.server_product, s.client_product, s.version
    ORDER BY day, t.source, c.rule_id, s.server_product, s.client_product, s.version""",
)
"""Sums and failure rate per day on which sessions began, source, rule, broker, client library and version."""

AGGREGATES = (ACK_LATENCY, COMPLIANCE_SUMMARY)
TABLES = (*(one.name for one in AGGREGATES), *SESSION_TABLES, "rules")
