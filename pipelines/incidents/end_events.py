"""Events of how connections end: brokers that stop, heart-beats missed, silences that something between cuts off.

`ends` stands for view session_ends.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import NO_TEXT, many
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND
from stompcap.tables.outcomes import NOT_SETTLED

SILENT_S, AS_LONG = 5, 1.02
"""Connections without heart-beats that a server closes after silences as long as each other, and of so many seconds, were cut for that."""

LATE, LATE_WITHIN_S = 3, 600
"""So many silences within so many seconds, each a violation of what was agreed on, are worth a note although nobody closed for them."""

_NOWHERE = f"{NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset"
_OF_SESSION = f"p.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product"
_ENDS = "FROM ends s JOIN streams p ON p.stream_id = s.stream_id"
_UNSETTLED = (
    f"LEFT JOIN (SELECT stream_id, count_if({NOT_SETTLED.sql()}) AS unsettled FROM deliveries GROUP BY stream_id) d "
    "ON d.stream_id = s.stream_id"
)
_SILENCE_S = "CAST(nullif(regexp_extract(s.cause_evidence, '([0-9.]+) s after the last', 1), '') AS DOUBLE)"

STOPS = f"""
    SELECT g.source, g.server_ip, g.server_product, g.begin_ns, g.last_ns, g.connections, g.unsettled, g.stream_id,
           min(n.opened_ns) AS end_ns
    FROM (
        SELECT p.source, s.server_ip, max(s.server_product) AS server_product, min(s.closed_ns) AS begin_ns, max(s.closed_ns) AS last_ns,
               count(*) AS connections, CAST(sum(coalesce(d.unsettled, 0)) AS BIGINT) AS unsettled, min(s.stream_id) AS stream_id
        {_ENDS} {_UNSETTLED} WHERE s.cause = 'broker_stop' GROUP BY p.source, s.server_ip, CAST(floor(s.closed_ns / 2e9) AS BIGINT)) g
    LEFT JOIN (SELECT p.source, s.server_ip, s.opened_ns FROM sessions s JOIN streams p ON p.stream_id = s.stream_id
               WHERE s.outcome = 'connected') n
    ON n.source = g.source AND n.server_ip = g.server_ip AND n.opened_ns > g.last_ns
    GROUP BY g.source, g.server_ip, g.server_product, g.begin_ns, g.last_ns, g.connections, g.unsettled, g.stream_id"""
"""When brokers stopped, and when a client was answered again: null where none was."""

BROKER_STOPPED = f"""
    SELECT source, 'broker' AS subject_kind, coalesce(server_product || ' ', '') || server_ip AS subject, server_product, server_ip AS what,
           {NO_TEXT} AS text, begin_ns, end_ns, unsettled AS messages, CAST(connections AS DOUBLE) AS amount, stream_id, {_NOWHERE}
    FROM stops"""

HEARTBEATS = f"""
    SELECT p.source, CASE WHEN s.cause = 'heartbeat_client' THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN s.cause = 'heartbeat_client' THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product, s.cause AS what,
           {NO_TEXT} AS text, coalesce(g.begin_ns, s.closed_ns) AS begin_ns, s.closed_ns AS end_ns,
           coalesce(d.unsettled, 0) AS messages, h.intervals AS amount, s.stream_id, {_NOWHERE}
    {_ENDS} {_UNSETTLED}
    LEFT JOIN (SELECT stream_id, direction, max(gap_start_ns) AS begin_ns FROM heartbeat_violations GROUP BY stream_id, direction) g
    ON g.stream_id = s.stream_id AND g.direction = CASE WHEN s.cause = 'heartbeat_client' THEN 'c2s' ELSE 's2c' END
    LEFT JOIN (SELECT stream_id, direction, max(cut_off_after_intervals) AS intervals FROM heartbeats GROUP BY stream_id, direction) h
    ON h.stream_id = s.stream_id AND h.direction = CASE WHEN s.cause = 'heartbeat_client' THEN 'c2s' ELSE 's2c' END
    WHERE s.cause = 'heartbeat_server'
       OR (s.cause = 'heartbeat_client' AND s.stream_id NOT IN (SELECT stream_id FROM subscriptions))"""
"""Connections that one side closed because the other missed its heart-beats. Clients with a subscription are consumers that are gone."""

LATE_BEATS = many(f"""
    SELECT p.source, CASE WHEN v.direction = 'c2s' THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN v.direction = 'c2s' THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product, 'late' AS what,
           {NO_TEXT} AS text, v.gap_start_ns AS begin_ns, v.gap_end_ns AS end_ns, 0 AS messages, v.ratio AS amount, v.stream_id,
           v.direction, CAST(NULL AS BIGINT) AS stream_offset
    FROM heartbeat_violations v JOIN sessions s ON s.stream_id = v.stream_id JOIN streams p ON p.stream_id = v.stream_id
    WHERE v.severity <> 'late' AND v.excused IS NULL AND v.ended_by IN ('data', 'heartbeat')""", LATE, LATE_WITHIN_S)  # fmt: skip
"""Silences much longer than agreed on, behind which the connection went on."""

IDLE_CUTS = f"""
    SELECT {_OF_SESSION}, CASE WHEN s.error_message IS NULL THEN 'between' ELSE 'broker' END AS what, {NO_TEXT} AS text,
           s.closed_ns AS begin_ns, s.closed_ns AS end_ns, coalesce(d.unsettled, 0) AS messages, {_SILENCE_S} AS amount, s.stream_id,
           {_NOWHERE}
    {_ENDS} {_UNSETTLED} WHERE s.cause = 'idle_cut'
    UNION ALL
    SELECT source, subject_kind, subject, server_product, 'between' AS what, {NO_TEXT} AS text, closed_ns AS begin_ns, closed_ns AS end_ns,
           unsettled AS messages, silent_s AS amount, stream_id, {_NOWHERE}
    FROM (
        SELECT *, lag(silent_s) OVER alike AS shorter_s, lead(silent_s) OVER alike AS longer_s
        FROM (
            SELECT {_OF_SESSION}, s.server_ip, s.server_port, s.closed_ns, coalesce(d.unsettled, 0) AS unsettled, {_SILENCE_S} AS silent_s,
                   s.stream_id
            {_ENDS} {_UNSETTLED}
            WHERE s.cause = 'unknown' AND p.closed_by = 'server' AND s.outcome = 'connected' AND s.gap_octets = 0
              AND coalesce(s.heartbeat_c2s_ms, 0) = 0 AND coalesce(s.heartbeat_s2c_ms, 0) = 0) quiet
        WHERE silent_s >= {SILENT_S}
        WINDOW alike AS (PARTITION BY source, server_ip, server_port ORDER BY silent_s, stream_id)) lined
    WHERE silent_s <= {AS_LONG} * shorter_s OR longer_s <= {AS_LONG} * silent_s"""
"""Connections without heart-beats that were closed for their silence: by the broker, which says so, or by something between."""

