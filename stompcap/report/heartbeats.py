"""The queries of heart-beats: verdicts, the longest silences against their interval, the worst session directions and single gaps."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.query import Query

RATIO_BINS = 40  # of the histogram, a tenth of the interval each; the last one includes all above

QUERIES = (
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
)
