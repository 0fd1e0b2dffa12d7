"""Events of how connections end: brokers that stop, heart-beats missed, silences that something between cuts off.

`ends` stands for view session_ends, `stops` and `idles` for the relations that are declared here.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, SECOND_NS, many
from pipelines.incidents.leaps import leapt_ns
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND

SILENT_S, AS_LONG = 5, 1.02
"""Three connections without heart-beats that are closed after silences as long as each other, of so many seconds, were cut for that."""

LATE, LATE_WITHIN_S = 3, 600
"""So many silences within so many seconds, each a violation of what was agreed on, are worth a note although nobody closed for them."""

_NOWHERE = f"{NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset"
_OF_SESSION = f"s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product"
_ENDS = "FROM ends s"
_UNSETTLED = (
    "LEFT JOIN (SELECT stream_id, sum(unsettled) AS unsettled FROM subscriptions GROUP BY stream_id) d ON d.stream_id = s.stream_id"
)
_SILENCE_S = "CAST(nullif(regexp_extract(s.cause_evidence, '([0-9.]+) s after the last', 1), '') AS DOUBLE)"

STOPS = f"""
    SELECT g.source, g.server_ip, g.begin_ns, g.last_ns, min(n.opened_ns) AS end_ns
    FROM (
        SELECT s.source, s.server_ip, CAST(floor(s.closed_ns / 2e9) AS BIGINT) AS moment, min(s.closed_ns) AS begin_ns,
               max(s.closed_ns) AS last_ns
        {_ENDS} WHERE s.cause = 'broker_stop' GROUP BY s.source, s.server_ip, CAST(floor(s.closed_ns / 2e9) AS BIGINT)) g
    LEFT JOIN (SELECT s.source, s.server_ip, s.opened_ns FROM clients s
               WHERE s.outcome = 'connected') n
    ON n.source = g.source AND n.server_ip = g.server_ip AND n.opened_ns > g.last_ns
    GROUP BY g.source, g.server_ip, g.begin_ns, g.last_ns"""
"""When brokers stopped (relation `stops`), and when a client was answered again: null where none was."""

BROKER_STOPPED = f"""
    SELECT s.source, 'broker' AS subject_kind, {BROKER} AS subject, s.server_product, 'stop' AS what, {NO_TEXT} AS text,
           s.closed_ns AS begin_ns, o.end_ns, coalesce(d.unsettled, 0) AS messages, {NO_NUMBER} AS amount, s.stream_id, {_NOWHERE}
    {_ENDS} JOIN stops o ON o.source = s.source AND o.server_ip = s.server_ip AND s.closed_ns BETWEEN o.begin_ns AND o.last_ns
    {_UNSETTLED} WHERE s.cause = 'broker_stop'"""
"""The connections that a broker closed when it stopped."""

HEARTBEATS = f"""
    SELECT s.source, CASE WHEN s.cause = 'heartbeat_client' THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN s.cause = 'heartbeat_client' THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product, s.cause AS what,
           {NO_TEXT} AS text, coalesce(g.begin_ns, s.closed_ns) AS begin_ns, s.closed_ns AS end_ns,
           coalesce(d.unsettled, 0) AS messages, h.intervals AS amount, s.stream_id, {_NOWHERE}
    {_ENDS} {_UNSETTLED}
    LEFT JOIN (SELECT stream_id, direction, max(gap_start_ns) AS begin_ns FROM heartbeat_violations GROUP BY stream_id, direction) g
    ON g.stream_id = s.stream_id AND g.direction = CASE WHEN s.cause = 'heartbeat_client' THEN 'c2s' ELSE 's2c' END
    LEFT JOIN (SELECT stream_id, direction, max(cut_off_after_intervals) AS intervals FROM heartbeats GROUP BY stream_id, direction) h
    ON h.stream_id = s.stream_id AND h.direction = CASE WHEN s.cause = 'heartbeat_client' THEN 'c2s' ELSE 's2c' END
    WHERE (s.cause = 'heartbeat_server'
           OR (s.cause = 'heartbeat_client' AND s.stream_id NOT IN (SELECT stream_id FROM subscriptions)))
      AND s.stream_id NOT IN (SELECT stream_id FROM cuts)"""
"""Connections that one side closed because the other missed its heart-beats. Clients with a subscription are consumers that are gone."""

_ASKS_S = "CAST(nullif(regexp_extract(s.cause_evidence, 'for ([0-9.]+) s the', 1), '') AS DOUBLE)"
_CLIENT_GONE = "s.cause_evidence LIKE '%the server repeats%'"
VANISHED = f"""
    SELECT s.source, CASE WHEN {_CLIENT_GONE} THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN {_CLIENT_GONE} THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product,
           CASE WHEN {_CLIENT_GONE} THEN 'client' ELSE 'broker' END AS what, {NO_TEXT} AS text,
           CAST(s.last_ns - {_ASKS_S} * 1e9 AS BIGINT) AS begin_ns, CAST(NULL AS BIGINT) AS end_ns, 0 AS messages,
           {_ASKS_S} AS amount, s.stream_id, {_NOWHERE}
    {_ENDS} {_UNSETTLED} WHERE s.cause = 'vanished' AND {_ASKS_S} IS NOT NULL AND coalesce(d.unsettled, 0) = 0
      AND s.stream_id NOT IN (SELECT stream_id FROM cuts)"""
"""Connections that one side repeats itself on to their last packet, without an answer of the other. With messages in flight it is a
consumer that is stalled."""

LATE_BEATS = many(f"""
    SELECT s.source, CASE WHEN v.direction = 'c2s' THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN v.direction = 'c2s' THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product, 'late' AS what,
           {NO_TEXT} AS text, v.gap_start_ns AS begin_ns, v.gap_end_ns AS end_ns, 0 AS messages, v.ratio AS amount, v.stream_id,
           v.direction, CAST(NULL AS BIGINT) AS stream_offset
    FROM heartbeat_violations v JOIN clients s ON s.stream_id = v.stream_id
    WHERE v.severity <> 'late' AND v.excused IS NULL AND v.ended_by IN ('data', 'heartbeat')
      AND {leapt_ns("s.source", "v.gap_start_ns", "v.gap_end_ns")} = 0""", LATE, LATE_WITHIN_S)  # fmt: skip
"""Silences much longer than agreed on, behind which the connection went on."""

IDLES = f"""
    SELECT * FROM (
    SELECT s.stream_id, {_SILENCE_S} AS silent_s, CASE WHEN s.error_message IS NULL THEN 'between' ELSE 'broker' END AS what
    FROM ends s WHERE s.cause = 'idle_cut'
    UNION ALL
    SELECT stream_id, silent_s, 'between' AS what
    FROM (
        SELECT *, lag(silent_s, 2) OVER alike AS shortest_s, lag(silent_s) OVER alike AS shorter_s, lead(silent_s) OVER alike AS longer_s,
               lead(silent_s, 2) OVER alike AS longest_s
        FROM (
            SELECT s.source, s.server_ip, s.server_port, s.closed_by, {_SILENCE_S} AS silent_s, s.stream_id {_ENDS}
            WHERE s.cause = 'unknown' AND s.outcome = 'connected' AND s.gap_octets = 0
              AND coalesce(s.heartbeat_c2s_ms, 0) = 0 AND coalesce(s.heartbeat_s2c_ms, 0) = 0) quiet
        WHERE silent_s >= {SILENT_S}
        WINDOW alike AS (PARTITION BY source, server_ip, server_port, closed_by ORDER BY silent_s, stream_id)) lined
    WHERE silent_s <= {AS_LONG} * shortest_s OR longest_s <= {AS_LONG} * silent_s
       OR (silent_s <= {AS_LONG} * shorter_s AND longer_s <= {AS_LONG} * silent_s)) cut
    WHERE stream_id NOT IN (SELECT s.stream_id {_ENDS} JOIN stops o ON o.source = s.source AND o.server_ip = s.server_ip
                            WHERE s.closed_ns BETWEEN o.begin_ns - {SECOND_NS} AND o.last_ns + {SECOND_NS})"""
"""Connections that were closed for their silence: as the broker says, after a time that is usual, or three and more after equal times.

Those that end with others, when a broker stops, were closed for that.
"""

IDLE_CUTS = f"""
    SELECT {_OF_SESSION}, i.what, {NO_TEXT} AS text, s.closed_ns AS begin_ns, s.closed_ns AS end_ns, 0 AS messages,
           i.silent_s AS amount, s.stream_id, {_NOWHERE}
    {_ENDS} JOIN idles i ON i.stream_id = s.stream_id {_UNSETTLED} WHERE coalesce(d.unsettled, 0) = 0"""
"""Connections without heart-beats that were closed for their silence: by the broker, which says so, or by something between.

Where deliveries were not settled, the consumer was stalled, which is an incident of its own.
"""
