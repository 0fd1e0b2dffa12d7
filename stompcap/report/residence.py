"""The queries of how long messages were in the broker, from SEND to MESSAGE."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.query import Query
from stompcap.tables.outcomes import RESIDENCE, WAITING


def _figures() -> str:
    percentiles = (
        f"percentile_cont({share}) WITHIN GROUP (ORDER BY residence_us) FILTER (WHERE {RESIDENCE}) AS {name}"
        for name, share in (("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99))
    )
    return f"""
        count(*) FILTER (WHERE message_stream_id IS NOT NULL) AS messages, count(*) FILTER (WHERE {RESIDENCE}) AS measured,
        count(*) FILTER (WHERE {WAITING}) AS waiting, count(*) FILTER (WHERE redelivery) AS redelivered,
        {', '.join(percentiles)}, max(residence_us) FILTER (WHERE {RESIDENCE}) AS max_us"""


QUERIES = (
    Query("residence_total", ("journeys",), f"SELECT {_figures()} FROM journeys"),
    Query(
        "residence_destinations",
        ("journeys",),
        f"""
        SELECT destination_name, {_figures()} FROM journeys GROUP BY destination_name
        ORDER BY p95_us DESC NULLS LAST, waiting DESC, destination_name LIMIT 25""",
    ),
)
