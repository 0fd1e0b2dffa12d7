"""The tables of `stompcap show`: their titles, their SQL, and the command that looks closer."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stompcap.tables.outcomes import ASKING, DIRECT, NOT_SETTLED, RESIDENCE, WAITING

if TYPE_CHECKING:
    from stompcap.lake.query import Query

ROWS = 10
"""Rows of each table."""


@dataclass(frozen=True)
class Section:
    """A query with its title, and what to run next; {lake} and {first} (the first value of the first row) are filled in."""

    title: str
    query: Query
    then: str


_DIRECT = DIRECT.sql()  # a cumulative ACK gives an upper bound only
_SESSION = """
    SELECT s.stream_id, s.login, s.client_ip, s.client_port, s.server_product AS broker, s.version, s.outcome, s.end_kind AS ended,
           s.opened_ns AS opened, (coalesce(s.closed_ns, s.last_ns) - s.opened_ns) / 1000 AS duration_us,
           s.frames_c2s + s.frames_s2c AS frames
    FROM sessions s"""


def sections(rows: int = ROWS) -> tuple[Section, ...]:
    """The tables in order, of at most so many rows."""
    from stompcap.lake.query import Query

    limit = f"LIMIT {int(rows)}"
    session = "stompcap show {first} --lake {lake}"
    return (
        Section("Captures, latest first", Query("captures", ("captures",), f"""
            SELECT path, status, format, packets, size_octets AS size, first_ns AS first, last_ns AS last, damage
            FROM captures ORDER BY first_ns DESC NULLS LAST, path {limit}"""), "stompcap peek {first}"),
        Section("Sessions, latest", Query("latest", ("sessions",), f"""
            {_SESSION} ORDER BY s.opened_ns DESC, s.stream_id {limit}"""), session),
        Section("Sessions, longest", Query("longest", ("sessions",), f"""
            {_SESSION} ORDER BY duration_us DESC NULLS LAST, s.stream_id {limit}"""), session),
        Section("Destinations whose messages were longest in the broker, from SEND to MESSAGE", Query("residence", ("journeys",), f"""
            SELECT destination_name AS destination, count(*) FILTER (WHERE message_stream_id IS NOT NULL) AS messages,
                   count(*) FILTER (WHERE {WAITING}) AS waiting,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY residence_us) FILTER (WHERE {RESIDENCE}) AS p50_us,
                   max(residence_us) FILTER (WHERE {RESIDENCE}) AS max_us
            FROM journeys GROUP BY destination_name HAVING count_if({RESIDENCE}) > 0 OR count_if({WAITING}) > 0
            ORDER BY p50_us DESC NULLS LAST, waiting DESC, destination_name {limit}"""),
            f"stompcap sql \"SELECT * FROM journey_details WHERE {RESIDENCE} ORDER BY residence_us DESC LIMIT 20\" --lake {{lake}}"),
        Section("Slowest destinations, by the latency of direct ACKs", Query("destinations", ("deliveries",), f"""
            SELECT destination, count(*) AS deliveries, count_if({NOT_SETTLED.sql()}) AS unsettled,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY ack_latency_us)
                       FILTER (WHERE {_DIRECT}) AS p50_us,
                   max(ack_latency_us) FILTER (WHERE {_DIRECT}) AS max_us
            FROM deliveries WHERE {ASKING.sql()} GROUP BY destination
            ORDER BY p50_us DESC NULLS LAST, destination {limit}"""),
            "stompcap sql \"SELECT stream_id, message_id, ack_latency_us FROM deliveries "
            f"WHERE {_DIRECT} ORDER BY 3 DESC LIMIT 20\" --lake {{lake}}"),
        Section("Worst consumers, by what they left unsettled, then by the latency of direct ACKs", Query(
            "consumers", ("deliveries", "sessions"), f"""
            SELECT d.stream_id, s.client_ip, s.client_port, s.login, s.client_product AS client, count(*) AS deliveries,
                   count_if({NOT_SETTLED.sql("d")}) AS unsettled,
                   max(d.ack_latency_us) FILTER (WHERE {_DIRECT}) AS max_us
            FROM deliveries d JOIN sessions s ON d.stream_id = s.stream_id WHERE {ASKING.sql("d")}
            GROUP BY d.stream_id, s.client_ip, s.client_port, s.login, s.client_product
            ORDER BY unsettled DESC, max_us DESC NULLS LAST, d.stream_id {limit}"""), session),
        Section("Findings, by rule, level and side", Query("findings", ("compliance_findings", "rules"), f"""
            SELECT f.rule_id, f.level, f.side, count(*) AS findings, count(DISTINCT f.stream_id) AS sessions, max(r.title) AS rule
            FROM compliance_findings f LEFT JOIN rules r ON f.rule_id = r.id GROUP BY f.rule_id, f.level, f.side
            ORDER BY CASE f.level WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END, findings DESC, f.rule_id, f.side
            {limit}"""), "stompcap rules explain {first}"),
    )  # fmt: skip
