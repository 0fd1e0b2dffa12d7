"""Whole tables inside the page, which its script sorts and filters: sessions, findings, consumers, destinations.

A table is columns in JSON, compressed by gzip, in base64, in an element that browsers do not execute. Texts are a list of distinct ones and
their numbers; a time is milliseconds since the epoch.
"""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from stompcap.lake.query import Query
from stompcap.report.first import WHO
from stompcap.tables.levels import spelled
from stompcap.tables.outcomes import ASKING, DIRECT, NOT_SETTLED
from stompcap.visible import visible

MOST, MOST_FINDINGS, MOST_NAMES = 200_000, 20_000, 50_000
"""Rows of sessions, of findings, of consumers or destinations that the page has; it says how many more there are (`total` is all)."""

LONGEST = 160  # characters of a text

_UNSETTLED = f"SELECT stream_id, count(*) AS unsettled FROM deliveries WHERE {NOT_SETTLED.sql()} GROUP BY stream_id"
_FAULTS = """SELECT stream_id, count_if(level = 'M') AS must, count_if(level = 'S') AS should
             FROM compliance_findings GROUP BY stream_id"""


@dataclass(frozen=True)
class Whole:
    """A table: its query, and of each of its columns title and kind (`code`, `text`, `n`, `us`, `ms`, `time`, `level`)."""

    query: Query
    columns: dict[str, tuple[str, str]]


WHOLE = {
    "sessions": Whole(
        Query(
            "all_sessions",
            ("sessions", "compliance_findings", "deliveries"),
            f"""
            SELECT count(*) OVER () AS total, s.stream_id, {WHO} AS who, concat(s.client_ip, ':', CAST(s.client_port AS STRING)) AS client,
                   concat(s.server_ip, ':', CAST(s.server_port AS STRING)) AS server, s.server_product, s.opened_ns,
                   CAST((coalesce(s.closed_ns, s.last_ns) - s.opened_ns) / 1000 AS BIGINT) AS lasted_us, s.outcome, s.end_kind,
                   s.frames_c2s + s.frames_s2c AS frames, coalesce(f.must, 0) AS must, coalesce(f.should, 0) AS should,
                   coalesce(d.unsettled, 0) AS unsettled, s.error_message
            FROM sessions s LEFT JOIN ({_FAULTS}) f ON f.stream_id = s.stream_id
            LEFT JOIN ({_UNSETTLED}) d ON d.stream_id = s.stream_id
            ORDER BY must DESC, CASE WHEN s.outcome = 'refused' THEN 0 ELSE 1 END, unsettled DESC, s.opened_ns, s.stream_id LIMIT {MOST}""",
        ),
        {"stream_id": ("Session", "session"), "who": ("Who", "code"), "client": ("Client", "code"), "server": ("Server", "code"),
         "server_product": ("Broker", "text"), "opened_ns": ("Opened", "time"), "lasted_us": ("Lasted", "us"),
         "outcome": ("Outcome", "text"), "end_kind": ("End", "text"), "frames": ("Frames", "n"), "must": ("MUST", "n"),
         "should": ("SHOULD", "n"), "unsettled": ("Not acknowledged", "n"), "error_message": ("ERROR", "code")},
    ),
    "compliance": Whole(
        Query(
            "all_findings",
            ("compliance_findings", "sessions"),
            f"""
            SELECT count(*) OVER () AS total, f.rule_id, f.level, f.side, {WHO} AS who, f.stream_id, f.direction, f.stream_offset, f.ts_ns,
                   substr(f.evidence, 1, {LONGEST}) AS evidence
            FROM compliance_findings f JOIN sessions s ON s.stream_id = f.stream_id
            ORDER BY CASE f.level WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END, f.rule_id, f.ts_ns, f.stream_id, f.stream_offset
            LIMIT {MOST_FINDINGS}""",
        ),
        {"rule_id": ("Rule", "code"), "level": ("Level", "level"), "side": ("Broken by", "text"), "who": ("Who", "code"),
         "stream_id": ("Session", "session"), "direction": ("Direction", "text"), "stream_offset": ("Byte", "n"),
         "ts_ns": ("When", "time"), "evidence": ("What was seen", "code")},
    ),
    "latency": Whole(
        Query(
            "all_consumers",
            ("deliveries", "sessions"),
            f"""
            SELECT *, count(*) OVER () AS total FROM (
                SELECT {WHO} AS who, d.destination_name, d.ack_mode, d.stream_id, d.subscription, count(*) AS deliveries,
                       count_if({NOT_SETTLED.sql("d")}) AS unsettled,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY d.ack_latency_us) FILTER (WHERE {DIRECT.sql("d")}) AS p50_us,
                       percentile_cont(0.95) WITHIN GROUP (ORDER BY d.ack_latency_us) FILTER (WHERE {DIRECT.sql("d")}) AS p95_us,
                       max(d.ack_latency_us) FILTER (WHERE {DIRECT.sql("d")}) AS max_us
                FROM deliveries d JOIN sessions s ON s.stream_id = d.stream_id WHERE {ASKING.sql("d")}
                GROUP BY 1, d.destination_name, d.ack_mode, d.stream_id, d.subscription) one
            ORDER BY unsettled DESC, p95_us DESC NULLS LAST, stream_id, subscription LIMIT {MOST_NAMES}""",
        ),
        {"who": ("Who", "code"), "destination_name": ("Destination", "code"), "ack_mode": ("Ack mode", "text"),
         "stream_id": ("Session", "session"), "subscription": ("Subscription", "code"), "deliveries": ("Delivered", "n"),
         "unsettled": ("Not acknowledged", "n"), "p50_us": ("p50", "us"), "p95_us": ("p95", "us"), "max_us": ("max", "us")},
    ),
    "destinations": Whole(
        Query("all_destinations", ("destination_minutes",), ""),
        {"destination_name": ("Destination", "code"), "server_product": ("Broker", "text"), "sends": ("Sent", "n"),
         "messages": ("Received", "n"), "waiting": ("Not received", "n"), "redeliveries": ("Received again", "n"), "nacks": ("NACKed", "n"),
         "producers": ("Producers", "n"), "consumers": ("Consumers", "n"), "residence_us": ("In the broker, worst p95", "us"),
         "ack_us": ("Ack, worst p95", "us"), "receipt_us": ("RECEIPT, worst p95", "us")},
    ),
}  # fmt: skip


def destinations(most: int, name: str) -> Query:
    """Destinations by what has not been received of them; worst: of the minute in which it was longest."""
    return Query(
        name,
        ("destination_minutes",),
        f"""
        SELECT *, count(*) OVER () AS total FROM (
            SELECT destination_name, server_product, sum(sends) AS sends, sum(messages) AS messages,
                   greatest(sum(backlog_change), 0) AS waiting, sum(redeliveries) AS redeliveries, sum(nacks) AS nacks,
                   max(producers) AS producers, max(consumers) AS consumers, max(residence_p95_us) AS residence_us,
                   max(ack_p95_us) AS ack_us, max(receipt_p95_us) AS receipt_us
            FROM destination_minutes GROUP BY destination_name, server_product) one
        ORDER BY waiting DESC, ack_us DESC NULLS LAST, messages + sends DESC, destination_name, server_product LIMIT {int(most)}""",
    )


WHOLE["destinations"] = Whole(destinations(MOST_NAMES, "all_destinations"), WHOLE["destinations"].columns)


def packed(rows: pa.Table, name: str, zone: str) -> Markup:
    """A table as what the script of the page reads."""
    columns = [_column(rows.column(column), title, kind) for column, (title, kind) in WHOLE[name].columns.items()]
    total = rows.column("total")[0].as_py() if rows.num_rows else 0
    text = json.dumps({"zone": zone, "rows": rows.num_rows, "total": total, "columns": columns}, separators=(",", ":"), allow_nan=False)
    data = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return Markup(f'<div class="all" hidden><script type="application/json">{data}</script></div>')  # noqa: S704  base64


def _column(values: pa.ChunkedArray, title: str, kind: str) -> dict[str, Any]:
    if kind == "time":
        return {"title": title, "kind": kind, "values": _of(values, 1e6)}
    if kind in ("n", "us"):
        return {"title": title, "kind": kind, "values": _of(values, 1)}
    coded = values.combine_chunks().dictionary_encode()
    words = [_in_words(word, kind) for word in coded.dictionary.to_pylist()]
    return {"title": title, "kind": "text" if kind == "level" else kind, "words": words, "codes": coded.indices.to_pylist()}


def _in_words(word: str | None, kind: str) -> str:
    text = "" if word is None else visible(word, LONGEST)
    return spelled(text) if kind == "level" else text


def _of(values: pa.ChunkedArray, unit: float) -> Sequence[int | None]:
    return [None if value is None else round(value / unit) for value in values.to_pylist()]
