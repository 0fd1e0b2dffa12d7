"""View session_ends: why sessions ended, also by what only other connections and the layers below STOMP show.

A connection's own cause (`sessions.close_cause`) stands, unless it is unknown or a bare RST. Then what layers said decides: a fatal alert
of TLS, a Close of WebSocket (1009: message too big; RFC 6455, 7.4.1; browsers give no code unless told one); both fit equally. A broker
stopped where it closed three and more connections within a second for which nothing else is known, or which say so (its Close with 1001,
`going away`, or without a code; RabbitMQ's ERROR of a shutdown), and a second later none of its connections was open: a broker that goes
on had reasons that are not known.
"""

from __future__ import annotations

from stompcap.tables.view import View

SESSION_ENDS = View(
    "session_ends",
    "Sessions with `cause`: close_cause, and what only other tables show: tls_alert, websocket_close, broker_stop (three and more "
    "connections that a broker closed within a second, without another reason, none being left); and with `cause_evidence`",
    ("sessions", "streams", "transports"),
    """
    WITH layers AS (
        SELECT stream_id, max(CASE WHEN kind = 'tls' THEN close_reason END) AS tls_alert,
               max(CASE WHEN kind IN ('websocket', 'sockjs') THEN close_code END) AS websocket_code,
               max(CASE WHEN kind IN ('websocket', 'sockjs') THEN closed_by END) AS websocket_closed_by
        FROM {transports} GROUP BY stream_id
    ), seen AS (
        SELECT t.stream_id, t.server_ip, t.opened_ns, t.closed_ns, t.last_ns, t.close_cause,
               CASE WHEN t.close_cause = 'error' THEN concat(coalesce(t.error_message, ''), coalesce(t.error_detail, '')) END AS error_text,
               c.source, c.close_kind, c.closed_by, c.rst_by, l.tls_alert, l.websocket_code, l.websocket_closed_by,
               l.websocket_code IS NOT NULL OR l.websocket_closed_by IS NOT NULL AS websocket_closed
        FROM {sessions} t LEFT JOIN {streams} c ON c.stream_id = t.stream_id LEFT JOIN layers l ON l.stream_id = t.stream_id
    ), layered AS (
        SELECT *, CASE WHEN close_cause NOT IN ('unknown', 'reset') THEN close_cause WHEN websocket_code = 1009 THEN 'size_limit'
                       WHEN tls_alert IS NOT NULL AND websocket_closed THEN 'unknown'
                       WHEN tls_alert IS NOT NULL THEN 'tls_alert' WHEN websocket_closed THEN 'websocket_close'
                       ELSE close_cause END AS by_layer
        FROM seen
    ), gone AS (
        SELECT *, CASE WHEN closed_by = 'server' AND (by_layer IN ('unknown', 'reset')
                            OR by_layer = 'websocket_close' AND coalesce(websocket_code, 1001) = 1001
                               AND coalesce(websocket_closed_by, 'server') = 'server'
                            OR by_layer = 'error' AND lower(error_text) LIKE '%shutdown%')
                       THEN closed_ns END AS gone_ns
        FROM layered
    ), events AS (
        SELECT source, server_ip, opened_ns AS at_ns, 1 AS step, CAST(NULL AS STRING) AS asked_by FROM gone
        UNION ALL SELECT source, server_ip, coalesce(closed_ns, last_ns) AS at_ns, -1 AS step, CAST(NULL AS STRING) AS asked_by FROM gone
        UNION ALL SELECT source, server_ip, gone_ns + 1000000000 AS at_ns, 0 AS step, stream_id AS asked_by FROM gone
                  WHERE gone_ns IS NOT NULL
    ), running AS (
        SELECT asked_by, sum(step) OVER (PARTITION BY source, server_ip ORDER BY at_ns RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
                         AS still_open FROM events
    ), alone AS (
        SELECT g.*, CASE WHEN r.still_open = 0 THEN g.gone_ns END AS left_none_ns
        FROM gone g LEFT JOIN running r ON r.asked_by = g.stream_id
    ), together AS (
        SELECT stream_id, count(*) OVER (PARTITION BY source, server_ip ORDER BY left_none_ns
                                         RANGE BETWEEN 1000000000 PRECEDING AND 1000000000 FOLLOWING) AS closed_together
        FROM alone WHERE left_none_ns IS NOT NULL
    ), counted AS (
        SELECT a.*, coalesce(t.closed_together, 0) AS closed_together FROM alone a LEFT JOIN together t ON t.stream_id = a.stream_id
    ), told AS (SELECT *, CASE WHEN closed_together >= 3 THEN 'broker_stop' ELSE by_layer END AS cause FROM counted)
    SELECT s.*, e.source, e.close_kind, e.closed_by, e.rst_by, e.tls_alert, e.websocket_code, e.websocket_closed_by, e.websocket_closed,
           e.by_layer, e.gone_ns, e.left_none_ns, e.closed_together, e.cause,
           CASE WHEN e.cause = 'broker_stop'
                THEN concat(CAST(e.closed_together AS STRING), ' connections that the broker closed within a second; ', s.close_evidence)
                WHEN e.cause = 'tls_alert' THEN concat('alert ', e.tls_alert, '; ', s.close_evidence)
                WHEN e.cause <> s.close_cause AND e.websocket_closed
                THEN concat('Close', coalesce(' ' || CAST(e.websocket_code AS STRING), ''),
                            coalesce(' of the ' || e.websocket_closed_by, ''), '; ', s.close_evidence)
                ELSE s.close_evidence END AS cause_evidence
    FROM told e JOIN {sessions} s ON s.stream_id = e.stream_id
    """,
)
