"""Events of queues that nobody reads: no consumer was captured, the consumers left, or one is there and gets nothing."""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import DAY_MINUTES, LEAST_MINUTES, MINUTE_NS, PAST
from pipelines.incidents.destination_events import COUNTING, KEY, NEAR, QUEUE, first_frame, minute_event
from pipelines.incidents.flagged import NO_NUMBER
from pipelines.incidents.who import SUBJECT

UNREAD, UNREAD_MINUTES = 20, 10
"""So many SENDs to a queue within so many minutes, and no consumer was captured."""

SELDOM = 0.05
"""A queue that was consumed from but for that share of the minutes in which it was sent to has lost its consumers when it is not."""

LISTENING = f"""
    SELECT m.source, m.destination_name, m.server_product, m.minute, min(w.subject) AS subject, max(w.lost) AS lost
    FROM destination_past m JOIN (
        SELECT s.source, u.destination_name, {SUBJECT} AS subject, s.gap_octets > 0 OR s.octets_s2c = 0 AS lost,
               floor(u.subscribed_ns / {MINUTE_NS}.0) + 1 AS first_minute,
               floor(coalesce(u.unsubscribed_ns, s.closed_ns, s.last_ns) / {MINUTE_NS}.0) AS last_minute
        FROM subscriptions u JOIN clients s ON s.stream_id = u.stream_id) w
    ON w.source = m.source AND w.destination_name = m.destination_name AND m.minute BETWEEN w.first_minute AND w.last_minute
    WHERE m.messages = 0 AND m.sends > 0 AND NOT EXISTS (
        SELECT 1 FROM served v WHERE v.source = m.source AND v.destination_name = m.destination_name
        AND v.minute BETWEEN m.minute - {DAY_MINUTES} AND m.minute + {DAY_MINUTES})
    GROUP BY m.source, m.destination_name, m.server_product, m.minute"""
"""Minutes in which a queue is sent to and consumers are subscribed that got nothing within a day, with the name of one; `lost`: or got what
was not captured."""

_UNEXPLAINED = f"""NOT EXISTS (SELECT 1 FROM still_events o WHERE o.source = m.source AND floor(o.begin_ns / {MINUTE_NS}.0) <= m.minute
                              AND (o.end_ns IS NULL OR floor(o.end_ns / {MINUTE_NS}.0) >= m.minute))
                AND NOT EXISTS (SELECT 1 FROM unread o WHERE o.source = m.source AND o.destination_name = m.destination_name
                                AND o.first_minute <= m.minute AND o.last_minute >= m.minute)
                AND NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = m.source AND m.minute >= floor(o.begin_ns / {MINUTE_NS}.0) - 1
                                AND m.minute <= floor(coalesce(o.end_ns, o.last_ns) / {MINUTE_NS}.0) + {NEAR})"""

NO_CONSUMER = f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, sum(messages) OVER (PARTITION BY {KEY} ORDER BY begin_ns
                  RANGE BETWEEN {UNREAD_MINUTES * MINUTE_NS} PRECEDING AND {UNREAD_MINUTES * MINUTE_NS} FOLLOWING) AS near
        FROM ({minute_event("'destination'", QUEUE, COUNTING, NO_NUMBER, COUNTING, "s", text="w.subject")}
              FROM destination_past m JOIN producing s ON s.source = m.source AND s.destination_name = m.destination_name
               AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product
                   AND s.minute = m.minute AND s.rank = 1
              LEFT JOIN listening w ON w.source = m.source AND w.destination_name = m.destination_name AND w.minute = m.minute
                   AND w.server_product IS NOT DISTINCT FROM m.server_product
              WHERE {COUNTING} > 0 AND m.messages = 0 AND m.destination_name LIKE 'queue/%'
                AND (w.subject IS NULL OR NOT w.lost AND {_UNEXPLAINED}) AND NOT EXISTS (
                    SELECT 1 FROM subscribed u WHERE u.source = m.source AND u.destination_name = m.destination_name
                    AND w.subject IS NULL AND coalesce(u.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product
                    AND u.first_minute <= m.minute + {DAY_MINUTES} AND u.last_minute >= m.minute - {DAY_MINUTES})) unread) counted
    WHERE near >= {UNREAD}"""
"""Minutes in which a queue is sent to, and no consumer of it was captured within a day, or one that never got anything."""

_HELD = f"""EXISTS (SELECT 1 FROM subscribed u WHERE u.source = m.source AND u.destination_name = m.destination_name
                                                       AND u.first_minute <= m.since AND u.last_ns >= w.last_ns + {MINUTE_NS})"""
LEFT_ALONE = f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, sum(messages) OVER (PARTITION BY {KEY}, since ORDER BY first_ns
                  RANGE BETWEEN {UNREAD_MINUTES * MINUTE_NS} PRECEDING AND {UNREAD_MINUTES * MINUTE_NS} FOLLOWING) AS near
        FROM (
            SELECT m.source, 'destination' AS subject_kind, {QUEUE} AS subject, m.server_product,
                   concat(m.destination_name, CASE WHEN {_HELD} THEN ' held' ELSE ' left' END) AS what, w.subject AS text,
                   w.last_ns AS begin_ns, s.last_ns AS end_ns, s.first_ns,
                   CAST({COUNTING} AS BIGINT) AS messages, CAST({COUNTING} AS DOUBLE) AS amount, {first_frame("s")}, m.destination_name,
                   CAST(m.served AS DOUBLE) AS before, CAST(m.backlog_change AS DOUBLE) AS backlog, {NO_NUMBER} AS late_s, m.since
            FROM (SELECT *, max(CASE WHEN messages > 0 THEN minute END) OVER past AS since,
                         count(CASE WHEN messages > 0 THEN 1 END) OVER past AS served,
                         count(CASE WHEN sends > 0 AND messages = 0 THEN 1 END) OVER past AS unserved
                  FROM destination_past WINDOW past AS (PARTITION BY {KEY} ORDER BY minute {PAST})) m
            JOIN producing s ON s.source = m.source AND s.destination_name = m.destination_name
                 AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product AND s.minute = m.minute
                 AND s.rank = 1
            JOIN (SELECT source, destination_name, minute, max(last_ns) AS last_ns, arg_max(subject, last_ns) AS subject FROM served
                  GROUP BY source, destination_name, minute) w
            ON w.source = m.source AND w.destination_name = m.destination_name AND w.minute = m.since
            WHERE {COUNTING} > 0 AND m.messages = 0 AND m.destination_name LIKE 'queue/%' AND m.served >= {LEAST_MINUTES}
              AND m.unserved - (m.minute - m.since - 1) <= {SELDOM} * m.served
              AND NOT EXISTS (SELECT 1 FROM stalled t WHERE t.source = m.source AND t.destination_name = m.destination_name
                              AND floor(t.begin_ns / {MINUTE_NS}.0) <= m.minute
                              AND (t.end_ns IS NULL OR floor(t.end_ns / {MINUTE_NS}.0) >= m.minute - 1))
              AND NOT EXISTS (SELECT 1 FROM lost_consumers g WHERE g.source = m.source AND g.destination_name = m.destination_name
                              AND floor(g.begin_ns / {MINUTE_NS}.0) <= m.minute
                              AND (g.end_ns IS NULL OR floor(g.end_ns / {MINUTE_NS}.0) >= m.minute - 1))
              AND {_UNEXPLAINED}) alone) counted
    WHERE near >= {UNREAD}"""
"""Minutes in which a queue is sent to and nothing is delivered, though it was nearly always consumed from before; since the last MESSAGE.

A consumer that is stalled, that does not read, or whose connection is lost, explains it, and so does a broker that stands still. `held`:
one is subscribed, and still nothing comes.
"""

UNREAD_BY_CONSUMERS = f"""
    SELECT DISTINCT p.source, u.destination_name, floor(z.begin_ns / {MINUTE_NS}.0) AS first_minute,
           floor(z.end_ns / {MINUTE_NS}.0) AS last_minute
    FROM stalls z JOIN subscriptions u ON u.stream_id = z.stream_id JOIN streams p ON p.stream_id = z.stream_id
    WHERE z.kind = 'zero_window'"""
"""When a consumer's window was closed."""

SUBSCRIBED = f"""
    SELECT s.source, u.destination_name, s.server_product, floor(min(u.subscribed_ns) / {MINUTE_NS}.0) AS first_minute,
           floor(max(coalesce(u.unsubscribed_ns, s.closed_ns, s.last_ns)) / {MINUTE_NS}.0) AS last_minute,
           max(coalesce(u.unsubscribed_ns, s.closed_ns, s.last_ns)) AS last_ns
    FROM subscriptions u JOIN clients s ON s.stream_id = u.stream_id
    GROUP BY s.source, u.destination_name, s.server_product, u.stream_id
    UNION SELECT source, destination_name, server_product, minute, minute, minute * {MINUTE_NS} FROM consumer_minutes"""
"""When destinations had consumers."""

CTES = {"subscribed": SUBSCRIBED, "unread": UNREAD_BY_CONSUMERS, "listening": LISTENING}
