"""The queries of a report: SQL over views named like the tables.

Each answer is small for any lake: aggregates over bounded groups, or the worst few with a LIMIT; no query
brings a whole table to the driver. Groups whose names come from the wire (destinations, products, commands) are
bounded by a LIMIT too. The SQL works in both engines of stompcap.lake.query.
"""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.clocks import CLOCKS
from stompcap.lake.query import Query
from stompcap.report import residence
from stompcap.report.culprits import BINS_PER_DECADE, CULPRITS
from stompcap.report.first import FIRST
from stompcap.report.whole import destinations
from stompcap.tables.outcomes import ASKING, CUMULATIVE, DIRECT, MEASURED, NOT_SETTLED, figures


def _percentile(share: float, column: str, where: str) -> str:
    """An exact percentile, linear between neighbours."""
    return f"percentile_cont({share}) WITHIN GROUP (ORDER BY {column}) FILTER (WHERE {where})"


# A cumulative ACK gives only an upper bound of the latency, so it is never mixed with direct ones.
_DIRECT, _CUMULATIVE = DIRECT.sql(), CUMULATIVE.sql()
_ACK_FIGURES = f"""
    {figures()},
    count(*) FILTER (WHERE settlement = 'nack') AS nacked,
    count(*) FILTER (WHERE {_DIRECT}) AS direct,
    {_percentile(0.5, "ack_latency_us", _DIRECT)} AS p50_us,
    {_percentile(0.95, "ack_latency_us", _DIRECT)} AS p95_us,
    {_percentile(0.99, "ack_latency_us", _DIRECT)} AS p99_us,
    max(ack_latency_us) FILTER (WHERE {_DIRECT}) AS max_us,
    count(*) FILTER (WHERE {_CUMULATIVE}) AS cumulative,
    {_percentile(0.5, "ack_latency_us", _CUMULATIVE)} AS cumulative_p50_us,
    {_percentile(0.95, "ack_latency_us", _CUMULATIVE)} AS cumulative_p95_us"""

_BY_LEVEL = "CASE {level} WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END"

TIME_SLICES = 60  # of the ack latency time line
RATIO_BINS = 40  # of the heart-beat histogram, a tenth of the interval each; the last one includes all above

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
                   {_percentile(0.5, "connect_latency_us", "connect_latency_us IS NOT NULL")} AS connect_p50_us
            FROM sessions GROUP BY server_product, version
            ORDER BY sessions DESC, server_product, version LIMIT 20""",
        ),
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
                   {_percentile(0.5, "latency_us", "status = 'answered'")} AS p50_us,
                   {_percentile(0.95, "latency_us", "status = 'answered'")} AS p95_us
            FROM receipts GROUP BY command ORDER BY asked DESC, command LIMIT 15""",
        ),
        Query(
            "heartbeat_verdicts",
            ("heartbeats",),
            """
            SELECT direction, verdict, count(*) AS directions, sum(beats) AS beats, sum(gaps) AS gaps,
                   sum(late) AS late, sum(violations) AS violations, sum(dead) AS dead
            FROM heartbeats GROUP BY direction, verdict ORDER BY direction, verdict LIMIT 20""",
        ),
        Query(
            "heartbeat_ratios",
            ("heartbeats",),
            f"""
            SELECT direction, least(CAST(floor(10.0 * max_gap_ms / interval_ms) AS INT), {RATIO_BINS}) AS bin,
                   count(*) AS directions
            FROM heartbeats WHERE max_gap_ms IS NOT NULL AND interval_ms > 0 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 200""",
        ),
        Query(
            "heartbeats",
            ("heartbeats", "sessions"),
            """
            SELECT h.stream_id, h.direction, h.interval_ms, h.beats, h.max_gap_ms, h.gaps, h.late, h.violations, h.dead,
                   h.observed_ms, h.verdict, s.server_product, s.client_product,
                   CAST(h.max_gap_ms AS DOUBLE) / h.interval_ms AS ratio
            FROM heartbeats h LEFT JOIN sessions s ON s.stream_id = h.stream_id
            WHERE h.interval_ms > 0
            ORDER BY CASE h.verdict WHEN 'dead' THEN 0 WHEN 'violation' THEN 1 WHEN 'late' THEN 2 WHEN 'ok' THEN 3
                                    ELSE 4 END,
                     ratio DESC NULLS LAST, h.stream_id, h.direction LIMIT 25""",
        ),
        Query(
            "heartbeat_gaps",
            ("heartbeat_violations",),
            """
            SELECT stream_id, direction, gap_start_ns, gap_ms, interval_ms, ratio, severity, ended_by, excused
            FROM heartbeat_violations
            ORDER BY CASE WHEN excused IS NULL THEN 0 ELSE 1 END, ratio DESC NULLS LAST, gap_start_ns, stream_id
            LIMIT 25""",
        ),
        Query(
            "levels",
            ("compliance_findings",),
            """
            SELECT level, side, count(*) AS findings, count(DISTINCT rule_id) AS rules,
                   count(DISTINCT stream_id) AS sessions
            FROM compliance_findings GROUP BY level, side ORDER BY level, side LIMIT 10""",
        ),
        Query(
            "rules",
            ("compliance", "rules"),
            """
            SELECT c.rule_id, r.level, r.side, r.clause, r.title, r.explanation, c.sessions, c.passed, c.failed, c.not_evaluable
            FROM (SELECT rule_id, count(*) AS sessions, sum(passed) AS passed, sum(failed) AS failed, sum(not_evaluable) AS not_evaluable
                  FROM compliance GROUP BY rule_id) c
            LEFT JOIN rules r ON r.id = c.rule_id
            ORDER BY c.failed DESC, c.rule_id LIMIT 200""",
        ),
        Query(
            "broken",
            ("compliance", "compliance_findings", "rules"),
            f"""
            SELECT f.rule_id, f.level, f.side, r.title, r.side AS who, f.findings, f.broken_in, c.sessions, c.judged, c.not_evaluable
            FROM (SELECT rule_id, level, side, count(*) AS findings, count(DISTINCT stream_id) AS broken_in
                  FROM compliance_findings GROUP BY rule_id, level, side) f
            LEFT JOIN (SELECT rule_id, count(*) AS sessions, sum(passed + failed) AS judged, sum(not_evaluable) AS not_evaluable
                       FROM compliance GROUP BY rule_id) c ON c.rule_id = f.rule_id
            LEFT JOIN rules r ON r.id = f.rule_id
            ORDER BY {_BY_LEVEL.format(level="f.level")}, f.findings DESC, f.rule_id, f.side LIMIT 600""",
        ),
        Query(
            "product_findings",
            ("compliance_findings", "sessions"),
            """
            SELECT f.rule_id, f.level, f.side, CASE WHEN f.side = 'server' THEN s.server_product ELSE s.client_product END AS product,
                   count(*) AS findings
            FROM compliance_findings f JOIN sessions s ON s.stream_id = f.stream_id
            GROUP BY 1, 2, 3, 4 ORDER BY findings DESC, 1, 2, 3, 4 LIMIT 2000""",
        ),
        Query(
            "product_judged",
            ("compliance_summary", "rules"),
            """
            SELECT o.side, o.rule_id, o.product, r.side AS who, sum(o.judged) AS judged
            FROM (SELECT 'server' AS side, rule_id, server_product AS product, passed + failed AS judged FROM compliance_summary
                  UNION ALL
                  SELECT 'client' AS side, rule_id, client_product AS product, passed + failed AS judged FROM compliance_summary) o
            JOIN rules r ON r.id = o.rule_id
            WHERE r.side IN ('both', o.side)
            GROUP BY o.side, o.rule_id, o.product, r.side ORDER BY judged DESC, 1, 2, 3 LIMIT 4000""",
        ),
        Query(
            "findings",
            ("compliance_findings",),
            f"""
            SELECT rule_id, level, side, stream_id, direction, stream_offset, ts_ns,
                   substr(evidence, 1, 500) AS evidence
            FROM (SELECT *, row_number() OVER (PARTITION BY rule_id, level
                                               ORDER BY ts_ns, stream_id, stream_offset) AS nth
                  FROM compliance_findings) f
            WHERE nth <= 3
            ORDER BY {_BY_LEVEL.format(level="level")}, rule_id, nth LIMIT 300""",
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
        *residence.QUERIES,
        *CULPRITS,
    )
}

# The queries of the summary at the end of a run.
_TOTALS = ("captures_total", "clocks_total", "sessions_total", "residence_total", "ack_total")
SUMMARY = (*_TOTALS, "brokers", "heartbeat_verdicts", "levels", "rules", "broken")
