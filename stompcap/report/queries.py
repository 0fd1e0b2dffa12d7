"""The queries of a report: SQL over views named like the tables.

Each answer is small for any lake: aggregates over bounded groups, or the worst few with a LIMIT; no query
brings a whole table to the driver. Groups whose names come from the wire (destinations, products, commands) are
bounded by a LIMIT too. The SQL works in both engines of stompcap.lake.query.
"""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.clocks import CLOCKS
from stompcap.lake.query import Query
from stompcap.report import dialogues, heartbeats, judged, latency, residence
from stompcap.report.culprits import CULPRITS
from stompcap.report.first import FIRST
from stompcap.report.latency import percentile
from stompcap.report.whole import destinations
from stompcap.tables.outcomes import NOT_SETTLED

QUERIES = {
    query.name: query
    for query in (
        Query(
            "captures_total",
            ("captures",),
            """
            SELECT count(*) AS captures, count(*) FILTER (WHERE status <> 'complete') AS impaired,
                   sum(packets) AS packets, sum(tcp_segments) AS tcp_segments, sum(size_octets) AS size_octets,
                   min(first_ns) AS first_ns, max(last_ns) AS last_ns
            FROM captures""",
        ),
        Query(
            "captures",
            ("captures",),
            """
            SELECT path, source, format, status, damage, packets, size_octets, first_ns, last_ns
            FROM captures
            ORDER BY CASE status WHEN 'complete' THEN 1 ELSE 0 END, first_ns, path LIMIT 20""",
        ),
        Query(
            "streams",
            ("streams",),
            """
            SELECT protocol, transport, count(*) AS streams,
                   sum(coalesce(octets_c2s, 0) + coalesce(octets_s2c, 0)) AS octets,
                   sum(coalesce(gap_octets_c2s, 0) + coalesce(gap_octets_s2c, 0)) AS gap_octets
            FROM streams GROUP BY protocol, transport ORDER BY streams DESC, protocol, transport LIMIT 20""",
        ),
        Query(
            "layers",
            ("transports",),
            """
            SELECT kind, status, coalesce(tls_version, subprotocol) AS version, coalesce(cipher_suite, extensions) AS details, reason,
                   close_code, count(*) AS layers
            FROM transports
            GROUP BY kind, status, coalesce(tls_version, subprotocol), coalesce(cipher_suite, extensions), reason, close_code
            ORDER BY layers DESC, kind, status, version, details, reason, close_code LIMIT 30""",
        ),
        Query(
            "sessions_total",
            ("sessions",),
            """
            SELECT count(*) AS sessions, sum(frames_c2s) AS frames_c2s, sum(frames_s2c) AS frames_s2c,
                   count(*) FILTER (WHERE outcome = 'refused') AS refused,
                   count(*) FILTER (WHERE outcome = 'unanswered') AS unanswered,
                   count(*) FILTER (WHERE outcome = 'midstream') AS midstream,
                   count(*) FILTER (WHERE end_kind = 'rst') AS reset,
                   count(*) FILTER (WHERE cleartext_credentials) AS cleartext,
                   count(*) FILTER (WHERE gap_octets > 0) AS with_gaps
            FROM sessions""",
        ),
        Query(
            "brokers",
            ("sessions",),
            f"""
            SELECT server_product, version, count(*) AS sessions,
                   count(*) FILTER (WHERE outcome = 'connected') AS connected,
                   count(*) FILTER (WHERE outcome = 'refused') AS refused,
                   count(*) FILTER (WHERE outcome = 'unanswered') AS unanswered,
                   sum(frames_c2s + frames_s2c) AS frames,
                   {percentile(0.5, "connect_latency_us", "connect_latency_us IS NOT NULL")} AS connect_p50_us
            FROM sessions GROUP BY server_product, version
            ORDER BY sessions DESC, server_product, version LIMIT 20""",
        ),
        Query(
            "sessions",
            ("sessions", "compliance_findings", "heartbeats", "deliveries"),
            f"""
            SELECT s.stream_id, s.client_ip, s.client_port, s.server_ip, s.server_port, s.transport, s.opened_ns,
                   s.closed_ns, s.version, s.server_product, s.server_version, s.client_product, s.outcome,
                   s.error_message, s.end_kind, s.ended_by, s.frames_c2s, s.frames_s2c, s.gap_octets,
                   coalesce(f.must, 0) AS must, coalesce(f.must_server, 0) AS must_server, coalesce(f.should, 0) AS should,
                   coalesce(f.should_server, 0) AS should_server, h.ratio,
                   coalesce(d.unsettled, 0) AS unsettled
            FROM sessions s
            LEFT JOIN (SELECT stream_id, count_if(level = 'M') AS must, count_if(level = 'M' AND side = 'server') AS must_server,
                              count_if(level = 'S') AS should, count_if(level = 'S' AND side = 'server') AS should_server
                       FROM compliance_findings GROUP BY stream_id) f ON f.stream_id = s.stream_id
            LEFT JOIN (SELECT stream_id, max(CAST(max_gap_ms AS DOUBLE) / interval_ms) AS ratio
                       FROM heartbeats WHERE interval_ms > 0 GROUP BY stream_id) h ON h.stream_id = s.stream_id
            LEFT JOIN (SELECT stream_id, count(*) AS unsettled FROM deliveries WHERE {NOT_SETTLED.sql()}
                       GROUP BY stream_id) d ON d.stream_id = s.stream_id
            ORDER BY must DESC, CASE WHEN s.outcome = 'refused' THEN 0 ELSE 1 END, h.ratio DESC NULLS LAST, should DESC,
                     s.opened_ns, s.stream_id LIMIT 500""",
        ),
        Query(
            "quality",
            ("quality_results",),
            """
            SELECT table_name, column_name, expectation, severity, success, observed, total, failing
            FROM (SELECT *, count(*) OVER () AS total,
                         sum(CASE WHEN success THEN 0 ELSE 1 END) OVER () AS failing
                  FROM quality_results
                  WHERE run_id = (SELECT max_by(run_id, checked_ts) FROM quality_results)) latest
            ORDER BY success, CASE severity WHEN 'error' THEN 0 ELSE 1 END, table_name, column_name, expectation
            LIMIT 25""",
        ),
        CLOCKS,
        *FIRST,
        destinations(1000, "destinations"),
        *latency.QUERIES,
        *heartbeats.QUERIES,
        *judged.QUERIES,
        dialogues.FOUND,
        *residence.QUERIES,
        *CULPRITS,
    )
}

# The queries of the summary at the end of a run.
_TOTALS = ("captures_total", "clocks_total", "sessions_total", "residence_total", "ack_total")
SUMMARY = (*_TOTALS, "brokers", "heartbeat_verdicts", "levels", "rules", "broken")
