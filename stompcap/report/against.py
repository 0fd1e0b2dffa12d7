"""The queries by which two parts of lakes are compared, each answered for both."""

# ruff: noqa: S608  the SQL is put together from this file's own constants and from numbers

from __future__ import annotations

from dataclasses import dataclass

from stompcap.lake.query import Query
from stompcap.lake.scope import Scope
from stompcap.report.intervals import rank_sql
from stompcap.tables.outcomes import ASKING, DIRECT, RESIDENCE

ASKED = ("incidents", "incident_levels", "sessions_total", "who", "who_total", "broken", "rules")
"""Queries of the report that both sides are asked too."""

PERCENTILES = {"p50": 0.5, "p95": 0.95}
DESTINATIONS = 1000  # the busiest
MINUTE = 60 * 10**9


@dataclass(frozen=True)
class Before:
    """What a report is compared with: a part of a lake, and what it is for people."""

    lake: str
    scope: Scope | None
    words: str


def queries(scope: Scope | None) -> tuple[Query, ...]:
    """The queries for a part of a lake."""
    return (
        _captured(scope),
        _minutes(scope),
        Query("ack_samples", ("deliveries",), _samples("deliveries", "ack_latency_us", f"{ASKING.sql()} AND {DIRECT.sql()}")),
        Query("residence_samples", ("journeys",), _samples("journeys", "residence_us", RESIDENCE)),
    )


def _bounds(scope: Scope | None) -> tuple[int, int]:
    """From when to when, in nanoseconds; without a limit what any capture is within."""
    since, until = (None, None) if scope is None else (scope.since_ns, scope.until_ns)
    return 0 if since is None else since, 1 << 62 if until is None else until


def _captured(scope: Scope | None) -> Query:
    """How long anything was captured: captures that overlap count once."""
    since, until = _bounds(scope)
    return Query(
        "captured",
        ("captures",),
        f"""
        SELECT min(begin_ns) AS first_ns, max(end_ns) AS last_ns, sum(greatest(end_ns - greatest(begin_ns, known_ns), 0)) AS covered_ns
        FROM (SELECT begin_ns, end_ns,
                     coalesce(max(end_ns) OVER (ORDER BY begin_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS known_ns
              FROM (SELECT greatest(first_ns, {since}) AS begin_ns, least(last_ns, {until}) AS end_ns
                    FROM captures WHERE last_ns >= first_ns AND last_ns >= {since} AND first_ns < {until}) part) one""",
    )


def _minutes(scope: Scope | None) -> Query:
    """SENDs and MESSAGEs of each destination in whole minutes, and the sums of the squares of their numbers in a minute."""
    since, until = _bounds(scope)
    sums = ", ".join(f"sum(m.{one}) AS {one}s, sum(CAST(m.{one} AS DOUBLE) * m.{one}) AS {one}s_squares" for one in ("send", "message"))
    return Query(
        "minute_samples",
        ("captures", "sends", "deliveries"),
        f"""
        WITH span AS (SELECT CAST(ceil(greatest(min(first_ns), {since}) / {MINUTE}.0) AS BIGINT) AS begin_minute,
                             CAST(floor(least(max(last_ns), {until}) / {MINUTE}.0) AS BIGINT) AS end_minute
                      FROM captures WHERE last_ns >= {since} AND first_ns < {until}),
             events AS (SELECT destination_name, CAST(floor(sent_ns / {MINUTE}.0) AS BIGINT) AS minute, 1 AS send, 0 AS message FROM sends
                        UNION ALL
                        SELECT destination_name, CAST(floor(delivered_ns / {MINUTE}.0) AS BIGINT) AS minute, 0 AS send, 1 AS message
                        FROM deliveries),
             by_minute AS (SELECT destination_name, minute, sum(send) AS send, sum(message) AS message FROM events
                           WHERE destination_name IS NOT NULL GROUP BY destination_name, minute)
        SELECT destination_name, {sums} FROM by_minute m CROSS JOIN span WHERE minute >= begin_minute AND minute < end_minute
        GROUP BY destination_name ORDER BY sum(m.send + m.message) DESC, destination_name LIMIT {DESTINATIONS}""",
    )


def _samples(table: str, value: str, where: str) -> str:
    """Percentiles of each destination with the ends of their intervals; an end beyond the samples is null."""
    ends = ", ".join(
        f"percentile_cont({share}) WITHIN GROUP (ORDER BY us) AS {name}, "
        + ", ".join(
            f"min(us) FILTER (WHERE nth = {rank_sql(share, end, 'samples')}) AS {name}_{word}" for end, word in ((-1, "low"), (1, "high"))
        )
        for name, share in PERCENTILES.items()
    )
    return f"""
        SELECT destination_name, max(samples) AS samples, {ends}
        FROM (SELECT destination_name, {value} AS us, count(*) OVER (PARTITION BY destination_name) AS samples,
                     row_number() OVER (PARTITION BY destination_name ORDER BY {value}) AS nth
              FROM {table} WHERE {where} AND destination_name IS NOT NULL AND {value} IS NOT NULL) one
        GROUP BY destination_name ORDER BY samples DESC, destination_name LIMIT {DESTINATIONS}"""
