"""Gold: the SQL of figures over all sessions of a lake (`pipelines.metrics.aggregates` keeps them up to date)."""

# ruff: noqa: S608  the SQL consists of our own constants and of times

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
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
    also        further tables whose rows are counted, each with the SQL for its periods and the column that `{within_<table>}` selects by
    driver_factor  so many times `query.DRIVER_ROWS` rows are summed in the driver before Spark is asked
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
    also: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    driver_factor: int = 1

    def query(self, periods: Periods | None = None) -> Query:
        """The query for some periods, by default for all."""
        columns = {"within": self.by} | {f"within_{table}": by for table, (_, by) in self.also.items()}
        within = {name: "true" if periods is None else periods.condition(column) for name, column in columns.items()}
        return Query(self.name, tuple(self.times), self.sql.format(**within), self.driver_factor)

    @property
    def counted(self) -> dict[str, str]:
        """The tables whose rows are counted, each with the SQL for its periods."""
        return {self.rows: self.periods} | {table: periods for table, (periods, _) in self.also.items()}


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
    driver_factor=10,
    sql="""
    WITH begun AS (
        SELECT s.stream_id, CAST(s.opened_ts AS DATE) AS day, t.source, s.server_product, s.client_product, s.version
        FROM sessions s LEFT JOIN streams t ON t.stream_id = s.stream_id WHERE {within}
    ), alike AS (
        SELECT *, row_number() OVER (ORDER BY day, source, server_product, client_product, version) AS number
        FROM (SELECT DISTINCT day, source, server_product, client_product, version FROM begun) b
    ), numbered AS (
        SELECT b.stream_id, a.number FROM begun b JOIN alike a
        ON a.day IS NOT DISTINCT FROM b.day AND a.source IS NOT DISTINCT FROM b.source
           AND a.server_product IS NOT DISTINCT FROM b.server_product AND a.client_product IS NOT DISTINCT FROM b.client_product
           AND a.version IS NOT DISTINCT FROM b.version
    ), summed AS (
        SELECT n.number, c.rule_id, count(*) AS sessions, sum(c.applicable) AS applicable, sum(c.passed) AS passed,
               sum(c.failed) AS failed, sum(c.not_evaluable) AS not_evaluable
        FROM compliance c JOIN numbered n ON n.stream_id = c.stream_id GROUP BY n.number, c.rule_id
    )
    SELECT a.day, a.source, m.rule_id, a.server_product, a.client_product, a.version,
           m.sessions, m.applicable, m.passed, m.failed, m.not_evaluable,
           CAST(m.failed AS DOUBLE) / nullif(m.passed + m.failed, 0) AS failure_rate
    FROM summed m JOIN alike a ON a.number = m.number
    ORDER BY a.day, a.source, m.rule_id, a.server_product, a.client_product, a.version""",
)
"""Sums and failure rate per day on which sessions began, source, rule, broker, client library and version.

There are some sixty rows for each session: they are summed by a number for all that sessions have alike, which costs much less than words.
DuckDB sums 150 million rows in 15 seconds of a processor and 0.2 GB; Spark, which joins by shuffling, takes 60 for 15 million.
"""


def _percentiles(column: str, name: str, *percents: int) -> str:
    parts = (f"CAST(round(percentile_cont({percent / 100:.2f}) WITHIN GROUP (ORDER BY {column})) AS BIGINT) AS {name}_p{percent}_us"
             for percent in percents)  # fmt: skip
    return ", ".join(parts)


_MINUTE = "date_trunc('MINUTE', {})"
_FIRST = (
    "NOT j.redelivery AND (j.copy = 1 OR j.copy IS NULL AND j.moved_from IS NULL) "
    "AND j.joined_by IN ('identity', 'unique', 'ordered', 'ambiguous')"
)
DESTINATION_MINUTES = Aggregate(
    name="destination_minutes",
    period="minute_ts",
    length=datetime.timedelta(minutes=1),
    rows="deliveries",
    periods=f"SELECT {_MINUTE.format('delivered_ts')} AS period FROM {{rows}}",
    attributes="server_product",
    times={"deliveries": ("delivered_ts",), "sends": ("sent_ts",), "journeys": ("ts",), "sessions": LIFE, "streams": TRAFFIC},
    by="d.delivered_ts",
    also={
        "sends": (f"SELECT {_MINUTE.format('sent_ts')} AS period FROM {{rows}}", "x.sent_ts"),
        "journeys": (f"SELECT {_MINUTE.format('ts')} AS period FROM {{rows}}", "j.ts"),
    },
    sql=f"""
    SELECT minute_ts, source, destination_name, server_product,
           sum(sends) AS sends, sum(messages) AS messages, sum(acks) AS acks, sum(nacks) AS nacks, sum(redeliveries) AS redeliveries,
           sum(sent_octets) AS sent_octets, sum(delivered_octets) AS delivered_octets,
           count(DISTINCT producer) AS producers, count(DISTINCT consumer) AS consumers,
           sum(effective) - sum(firsts) AS backlog_change, max(foreign_messages) > 0 AS backlog_incomplete,
           {_percentiles("residence_us", "residence", 50, 95, 99)}, {_percentiles("latency_us", "ack", 50, 95, 99)},
           {_percentiles("receipt_us", "receipt", 95)}
    FROM (
        SELECT {_MINUTE.format("x.sent_ts")} AS minute_ts, c.source, x.destination_name, s.server_product,
               1 AS sends, 0 AS messages, 0 AS acks, 0 AS nacks, 0 AS redeliveries, x.body_octets AS sent_octets, 0 AS delivered_octets,
               x.stream_id AS producer, NULL AS consumer, CASE WHEN x.effective_ns IS NOT NULL THEN 1 ELSE 0 END AS effective, 0 AS firsts,
               0 AS foreign_messages, CAST(NULL AS BIGINT) AS residence_us, CAST(NULL AS BIGINT) AS latency_us, x.receipt_us
        FROM sends x JOIN sessions s ON s.stream_id = x.stream_id LEFT JOIN streams c ON c.stream_id = x.stream_id
        WHERE {{within_sends}}
        UNION ALL
        SELECT {_MINUTE.format("d.delivered_ts")}, c.source, d.destination_name, s.server_product,
               0, 1, CASE WHEN {outcomes.SETTLED.sql("d")} AND d.settlement = 'ack' THEN 1 ELSE 0 END,
               CASE WHEN {outcomes.SETTLED.sql("d")} AND d.settlement = 'nack' THEN 1 ELSE 0 END, 0, 0, d.body_octets,
               NULL, d.stream_id, 0, 0, 0, NULL, CASE WHEN {outcomes.MEASURED.sql("d")} THEN d.ack_latency_us END, NULL
        FROM deliveries d JOIN sessions s ON s.stream_id = d.stream_id LEFT JOIN streams c ON c.stream_id = d.stream_id
        WHERE {{within}}
        UNION ALL
        SELECT {_MINUTE.format("j.ts")}, j.source,
               CASE WHEN {_FIRST} THEN coalesce(j.moved_from, j.destination_name) ELSE j.destination_name END, j.server_product,
               0, 0, 0, 0, CASE WHEN j.redelivery THEN 1 ELSE 0 END, 0, 0, NULL, NULL, 0, CASE WHEN {_FIRST} THEN 1 ELSE 0 END,
               CASE WHEN j.joined_by IN ('none', 'timestamp') THEN 1 ELSE 0 END,
               CASE WHEN j.joined_by IN ('identity', 'unique') THEN j.residence_us END, NULL, NULL
        FROM journeys j WHERE j.message_stream_id IS NOT NULL AND {{within_journeys}}
    ) moves
    GROUP BY minute_ts, source, destination_name, server_product
    ORDER BY minute_ts, source, destination_name, server_product""",
)
"""What came and went at a destination, minute by minute; times of the broker are those of journeys that are exact."""

AGGREGATES = (ACK_LATENCY, COMPLIANCE_SUMMARY, DESTINATION_MINUTES)
JOURNEYS = "journeys"
"""Made in `pipelines.metrics.journeys`."""

INCIDENTS = "incidents"
"""Made in `pipelines.incidents`, of the others."""

TABLES = (*(one.name for one in AGGREGATES), JOURNEYS, *SESSION_TABLES, "rules", INCIDENTS)
