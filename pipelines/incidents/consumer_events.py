"""Events of consumers: slow, gone, leaving messages unacknowledged, getting the same message again and again."""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import AGAIN, AGAIN_SHARE, DELIVERED, MANY_CONNECTIONS, MINUTE_NS
from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, SECOND_NS
from pipelines.incidents.who import SUBJECT, SUBJECT_KIND
from stompcap.tables.outcomes import NOT_SETTLED

LEFT, LEFT_SESSIONS, LEFT_WITHIN_S, LIVED_S = 10, 3, 3600, 120
"""So many messages left by sessions of a client that ended in so many minutes within so many seconds; shorter sessions are a loop.

Sessions that end in the same minute, as instances of a service do when it is deployed, are one time.
"""

FEW_CONTENTS, NEAR = 3, 2
"""Many redeliveries in a minute are a loop; of no more than so many contents: poison. What a broker that was away delivers again, within
`NEAR` minutes, is neither."""

_OF_SESSION = f"s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product"

SLOW = f"""
    SELECT m.source, m.subject_kind, m.subject, m.server_product, coalesce(m.destination_name, '') AS what, {NO_TEXT} AS text,
           min(d.delivered_ns) AS begin_ns, greatest(max(d.delivered_ns), max(coalesce(d.settled_ns, d.delivered_ns))) AS end_ns,
           count(*) AS messages, m.service_us / 1e6 AS amount, min(d.stream_id) AS stream_id, 's2c' AS direction,
           min(CASE WHEN d.stream_id = d.one THEN d.stream_offset END) AS stream_offset, m.destination_name, m.usual_us / 1e6 AS before,
           CAST(max(t.backlog_change) AS DOUBLE) AS backlog, max(t.residence_p95_us) / 1e6 AS late_s
    FROM slow_minutes m JOIN (
        SELECT d.*, s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product, {DELIVERED}
               AS minute, min(d.stream_id) OVER (PARTITION BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, d.destination_name,
                                                 {DELIVERED}) AS one
        FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
        WHERE d.delivered_ns > 0
    ) d ON d.source = m.source AND d.subject_kind = m.subject_kind AND d.subject = m.subject AND d.minute = m.minute
        AND d.destination_name IS NOT DISTINCT FROM m.destination_name AND d.server_product IS NOT DISTINCT FROM m.server_product
        AND coalesce(d.service_us, d.ack_latency_us) >= 0.5 * m.service_us
    LEFT JOIN by_minute t ON t.source = m.source AND t.destination_name = m.destination_name
         AND t.server_product IS NOT DISTINCT FROM m.server_product AND t.minute = m.minute
    WHERE m.slow AND NOT EXISTS (
        SELECT 1 FROM instances i WHERE i.source = m.source AND i.subject_kind = m.subject_kind AND i.subject = m.subject
        AND i.minute = m.minute AND i.destination_name IS NOT DISTINCT FROM m.destination_name
        AND i.server_product IS NOT DISTINCT FROM m.server_product)
    GROUP BY m.source, m.subject_kind, m.subject, m.server_product, m.destination_name, m.minute, m.service_us, m.usual_us"""
"""Minutes in which a consumer took much longer for a message than before; with what its destination suffered."""

SUBSCRIBING = """
    SELECT p.source, u.destination_name, u.subscribed_ns FROM subscriptions u JOIN streams p ON p.stream_id = u.stream_id"""

SILENT = f"""
    SELECT {_OF_SESSION}, s.closed_ns, s.stream_id, u.destination_name FROM ends s
    JOIN (SELECT DISTINCT stream_id, destination_name FROM subscriptions) u ON u.stream_id = s.stream_id
    WHERE s.cause = 'heartbeat_client' AND s.stream_id NOT IN (SELECT stream_id FROM deliveries WHERE {NOT_SETTLED.sql()})
      AND s.stream_id NOT IN (SELECT stream_id FROM cuts)"""
"""Consumers whose connection ended for want of heart-beats, with nothing in flight (else they are stalled), by destination."""

GONE = f"""
    SELECT s.source, s.subject_kind, s.subject, s.server_product, coalesce(s.destination_name, '') AS what, {NO_TEXT} AS text,
           s.closed_ns AS begin_ns, n.subscribed_ns AS end_ns, greatest(coalesce(b.backlog, 0), 0) AS messages, {NO_NUMBER} AS amount,
           s.stream_id, {NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset, s.destination_name, {NO_NUMBER} AS before,
           CAST(b.backlog AS DOUBLE) AS backlog, {NO_NUMBER} AS late_s
    FROM silent_consumers s
    LEFT JOIN (SELECT s.stream_id, s.destination_name, sum(m.backlog_change) AS backlog
               FROM silent_consumers s
               JOIN by_minute m ON m.source = s.source AND m.destination_name = s.destination_name
               AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product
               WHERE m.minute >= floor(s.closed_ns / {MINUTE_NS}.0)
               GROUP BY s.stream_id, s.destination_name) b
    ON b.stream_id = s.stream_id AND b.destination_name = s.destination_name
    ASOF LEFT JOIN subscribing n
    ON n.source = s.source AND n.destination_name = s.destination_name AND n.subscribed_ns > s.closed_ns"""
"""Silent consumers, until the next one subscribes to the destination: an ASOF JOIN, for a destination may have many of both."""

LEFT_UNACKNOWLEDGED = f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, max(nth) OVER near - min(nth) OVER near + 1 AS times, sum(messages) OVER near AS lost FROM (
            SELECT {_OF_SESSION}, coalesce(d.destination_name, '') AS what, {NO_TEXT} AS text, s.closed_ns AS begin_ns,
                   dense_rank() OVER (PARTITION BY s.source, {SUBJECT_KIND}, {SUBJECT}, coalesce(d.destination_name, '')
                                      ORDER BY floor(s.closed_ns / {MINUTE_NS}.0)) AS nth,
                   s.closed_ns AS end_ns, d.unsettled AS messages, {NO_NUMBER} AS amount, s.stream_id, 's2c' AS direction,
                   d.stream_offset, d.destination_name, {NO_NUMBER} AS before, {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
            FROM ends s
            JOIN (SELECT stream_id, destination_name, count(*) AS unsettled, min(stream_offset) AS stream_offset FROM deliveries
                  WHERE {NOT_SETTLED.sql()} GROUP BY stream_id, destination_name) d ON d.stream_id = s.stream_id
            WHERE s.closed_ns - s.opened_ns >= {LIVED_S * SECOND_NS} AND s.gap_octets = 0
              AND s.cause NOT IN ('broker_stop', 'heartbeat_client', 'capture_end')
              AND s.stream_id NOT IN (SELECT stream_id FROM cuts)) closed
        WINDOW near AS (PARTITION BY source, subject_kind, subject, what ORDER BY begin_ns
                        RANGE BETWEEN {LEFT_WITHIN_S * SECOND_NS} PRECEDING AND {LEFT_WITHIN_S * SECOND_NS} FOLLOWING)) counted
    WHERE times >= {LEFT_SESSIONS} AND lost >= {LEFT}"""
"""Sessions that end with messages neither acknowledged nor refused, again and again."""

NACKED = f"""
    SELECT m.source, m.subject_kind, m.subject, m.server_product, coalesce(m.destination_name, '') AS what, {NO_TEXT} AS text,
           c.first_ns AS begin_ns, c.last_ns AS end_ns, c.nacked AS messages, CAST(c.nacked AS DOUBLE) / m.messages AS amount, c.stream_id,
           's2c' AS direction, c.stream_offset, m.destination_name, {NO_NUMBER} AS before, {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
    FROM consumer_past m JOIN (
        SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product, d.destination_name, {DELIVERED} AS minute,
               count(*) AS nacked, min(d.delivered_ns) AS first_ns, max(d.settled_ns) AS last_ns, min(d.stream_id) AS stream_id,
               min(d.stream_offset) AS stream_offset,
               count_if(d.body_hash IS NULL OR l.last_ns <= d.settled_ns
                        OR d.body_hash IN (SELECT body_hash FROM deliveries WHERE redelivered)) AS unknown
        FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
        JOIN (SELECT stream_id, max(delivered_ns) AS last_ns FROM deliveries GROUP BY stream_id) l ON l.stream_id = d.stream_id
        WHERE d.settlement = 'nack' AND d.delivered_ns > 0
          AND d.stream_id NOT IN (SELECT stream_id FROM deliveries WHERE redelivered)
        GROUP BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, d.destination_name, {DELIVERED}
    ) c ON c.source = m.source AND c.subject_kind = m.subject_kind AND c.subject = m.subject AND c.minute = m.minute
        AND c.destination_name IS NOT DISTINCT FROM m.destination_name AND c.server_product IS NOT DISTINCT FROM m.server_product
    WHERE c.nacked >= {AGAIN} AND c.nacked >= {AGAIN_SHARE} * m.messages OR c.unknown = 0"""
"""Minutes in which a consumer refused much of what it got, and none of it came back to it; or little, and none came back to anybody, though
the consumer got others after it."""

_REPEATED = f"""
    SELECT m.source, m.subject_kind, m.subject, m.server_product, coalesce(m.destination_name, '') AS what, {NO_TEXT} AS text,
           c.first_ns AS begin_ns, c.last_ns AS end_ns, m.redelivered AS messages,
           CAST(m.redelivered AS DOUBLE) / m.messages AS amount, c.first.stream_id AS stream_id, 's2c' AS direction,
           c.first.stream_offset AS stream_offset, m.destination_name, CAST(c.contents AS DOUBLE) AS before, {NO_NUMBER} AS backlog,
           {NO_NUMBER} AS late_s
    FROM consumer_past m JOIN (
        SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product, d.destination_name,
               {DELIVERED} AS minute, count(DISTINCT coalesce(d.body_hash, d.stream_offset)) AS contents,
               min({{'ns': d.delivered_ns, 'stream_id': d.stream_id, 'stream_offset': d.stream_offset}}) AS first,
               min(d.delivered_ns) AS first_ns, max(d.delivered_ns) AS last_ns
        FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
        WHERE d.redelivered AND d.delivered_ns > 0
        GROUP BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, d.destination_name, {DELIVERED}
    ) c ON c.source = m.source AND c.subject_kind = m.subject_kind AND c.subject = m.subject AND c.minute = m.minute
        AND c.destination_name IS NOT DISTINCT FROM m.destination_name AND c.server_product IS NOT DISTINCT FROM m.server_product
    WHERE m.most_connections < {MANY_CONNECTIONS} AND m.redelivered >= {AGAIN} AND m.redelivered >= {AGAIN_SHARE} * m.messages
      AND NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = m.source
                      AND m.minute >= floor(o.begin_ns / {MINUTE_NS}.0)
                      AND m.minute <= floor(coalesce(o.end_ns, o.last_ns) / {MINUTE_NS}.0) + {NEAR})"""

REDELIVERY_LOOP = f"{_REPEATED} AND c.contents > {FEW_CONTENTS}"
"""Minutes in which much of what a consumer got had been delivered before."""

POISON_MESSAGE = f"{_REPEATED} AND c.contents <= {FEW_CONTENTS}"
"""The same, of few messages: one that no consumer can take."""

CTES = {"subscribing": SUBSCRIBING, "silent_consumers": SILENT, "lost_consumers": GONE}
