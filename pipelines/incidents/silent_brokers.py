"""Events of brokers that stand still: they confirm late and at once, or deliver and confirm nothing for a while, maybe to the end.

A broker whose memory or disk is full reads from its producers no more, and says nothing: their kernels go on to acknowledge what they send.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import MINUTE_NS
from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, SECOND_NS
from pipelines.incidents.leaps import leapt_ns
from pipelines.incidents.who import BROKER

STILL_US, STILL_TIMES = 2_000_000, 20
"""The broker stood still if it confirmed SENDs of two connections within a second, so many microseconds after they were sent, and so
many times as late as the best minute's 95th percentile before."""

SILENT_S, SILENT_TIMES, BEFORE_S, OWED = 10, 10, 60, 10
"""Or if it delivered and confirmed nothing for so many seconds, so many times as long as between two answers of the minute before, though
so many SENDs of two connections were to be confirmed, or went to destinations whose consumers had nothing in flight."""

AFTER_STOP = 5  # minutes behind a stop of the broker

_NOT_STOPPED = f"""NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = c.source AND c.minute >= floor(o.begin_ns / {MINUTE_NS}.0) - 1
                      AND c.minute <= floor(coalesce(o.end_ns, o.last_ns) / {MINUTE_NS}.0) + {AFTER_STOP})"""

_CONFIRMED_AT_ONCE = f"""
    SELECT c.source, 'broker' AS subject_kind, c.subject, c.server_product, 'still' AS what, {NO_TEXT} AS text, c.first_ns AS begin_ns,
           c.answered_ns AS end_ns, 1 AS messages, c.receipt_us / 1e6 AS amount, c.stream_id, 'c2s' AS direction, c.stream_offset,
           c.destination_name, m.best_receipt_us / 1e6 AS before, {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
    FROM (
        SELECT *, min(stream_id) OVER near AS one, max(stream_id) OVER near AS other FROM (
            SELECT s.source, {BROKER} AS subject, s.server_product, x.first_ns, x.first_ns + 1000 * x.receipt_us AS answered_ns,
                   x.receipt_us, x.stream_id, x.stream_offset, x.destination_name,
                   CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT) AS minute
            FROM sends x JOIN clients s ON s.stream_id = x.stream_id
            WHERE x.receipt_us >= {STILL_US}
              AND {leapt_ns("s.source", "x.first_ns", "x.first_ns + 1000 * x.receipt_us")} = 0) late
        WINDOW near AS (PARTITION BY source, subject ORDER BY answered_ns
                        RANGE BETWEEN {SECOND_NS} PRECEDING AND {SECOND_NS} FOLLOWING)) c
    JOIN destination_past m ON m.source = c.source AND m.destination_name = c.destination_name AND m.minute = c.minute
    WHERE c.one <> c.other AND c.receipt_us >= {STILL_TIMES} * m.best_receipt_us AND {_NOT_STOPPED}"""
"""SENDs of several connections that a broker confirmed at once, long after they were sent."""

ANSWERED = f"""
    SELECT *, lead(at_ns) OVER in_order AS end_ns, row_number() OVER in_order AS nth FROM (
    SELECT s.source, {BROKER} AS broker, s.server_product, t.at_ns
    FROM (SELECT stream_id, delivered_ns AS at_ns FROM deliveries WHERE delivered_ns > 0
          UNION ALL SELECT stream_id, first_ns + 1000 * receipt_us FROM sends WHERE receipt_us IS NOT NULL AND first_ns > 0) t
    JOIN clients s ON s.stream_id = t.stream_id) answers
    WINDOW in_order AS (PARTITION BY source, broker ORDER BY at_ns)"""
"""When brokers delivered or confirmed something, and when next."""

_SEEN = "SELECT source, max(last_ns) AS seen_ns FROM captures GROUP BY source"
SILENCES = f"""
    SELECT a.source, a.broker, a.server_product, a.at_ns AS begin_ns, a.end_ns, coalesce(a.end_ns, a.seen_ns) AS until_ns,
           CAST(floor(a.at_ns / {MINUTE_NS}.0) AS BIGINT) AS minute
    FROM (
        SELECT l.*, l.nth - coalesce(b.nth, 0) AS before
        FROM (SELECT a.*, e.seen_ns FROM answered a JOIN ({_SEEN}) e ON e.source = a.source
              WHERE coalesce(a.end_ns, e.seen_ns) - a.at_ns >= {SILENT_S * SECOND_NS}) l
        ASOF LEFT JOIN (SELECT * FROM answered WHERE end_ns IS NULL OR end_ns > at_ns) b
        ON b.source = l.source AND b.broker = l.broker AND b.at_ns < l.at_ns - {BEFORE_S * SECOND_NS}) a
    WHERE a.before >= {SILENT_TIMES} AND coalesce(a.end_ns, a.seen_ns) - a.at_ns
          >= greatest({SILENT_S * SECOND_NS}, {SILENT_TIMES * BEFORE_S * SECOND_NS} / a.before)
      AND {leapt_ns("a.source", "a.at_ns", "coalesce(a.end_ns, a.seen_ns)")} = 0"""
"""Times in which a broker delivered and confirmed nothing, for much longer than between two answers before."""

ASKED = f"""
    SELECT g.* FROM (SELECT s.source, {BROKER} AS broker, x.stream_id, x.sent_ns
                     FROM sends x JOIN clients s ON s.stream_id = x.stream_id
                     WHERE x.sent_ns > 0 AND x.transaction IS NULL) x
    ASOF JOIN silences g ON g.source = x.source AND g.broker = x.broker AND x.sent_ns >= g.begin_ns
    WHERE x.sent_ns <= g.until_ns - {STILL_US * 1000}
    GROUP BY ALL HAVING count(*) >= {OWED} AND count(DISTINCT x.stream_id) > 1"""
"""Those in which several connections sent something."""

_WAITING = f"""
    SELECT d.source, d.broker, d.begin_ns, d.destination_name FROM (
        SELECT g.source, g.broker, g.begin_ns, d.destination_name,
               count_if(d.ack_mode <> 'auto' AND (d.settled_ns IS NULL OR d.settled_ns > g.begin_ns + {STILL_US * 1000})
                        AND coalesce(s.closed_ns, g.until_ns) >= g.until_ns) AS in_flight,
               count_if(d.delivered_ns >= g.begin_ns - {BEFORE_S * SECOND_NS}) AS lately, max(d.stream_id) AS stream_id
        FROM asked g JOIN clients s ON s.source = g.source AND {BROKER} = g.broker AND coalesce(s.closed_ns, g.until_ns) >= g.begin_ns
        JOIN deliveries d ON d.stream_id = s.stream_id AND d.delivered_ns BETWEEN g.begin_ns - {3600 * SECOND_NS} AND g.begin_ns
        GROUP BY g.source, g.broker, g.begin_ns, d.destination_name) d
    WHERE d.in_flight = 0 AND d.lately > 0 AND NOT EXISTS (
        SELECT 1 FROM stalls z WHERE z.stream_id = d.stream_id AND z.kind = 'zero_window' AND z.end_ns >= d.begin_ns)"""
"""Destinations that were delivered from lately, to consumers that have nothing in flight and read."""

_SILENT = f"""
    SELECT c.source, 'broker' AS subject_kind, c.broker AS subject, c.server_product, 'still' AS what, {NO_TEXT} AS text, c.begin_ns,
           c.end_ns, CAST(c.owed AS BIGINT) AS messages, (c.until_ns - c.begin_ns) / 1e9 AS amount, c.first.stream_id AS stream_id,
           'c2s' AS direction, c.first.stream_offset AS stream_offset, {NO_TEXT} AS destination_name, {NO_NUMBER} AS before,
           {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
    FROM (
        SELECT g.source, g.broker, g.server_product, g.begin_ns, g.end_ns, g.until_ns, g.minute, count(*) AS owed,
               count(DISTINCT x.stream_id) AS producers,
               min({{'ns': x.sent_ns, 'stream_id': x.stream_id, 'stream_offset': x.stream_offset}}) AS first
        FROM asked g JOIN sends x ON x.sent_ns BETWEEN g.begin_ns AND g.until_ns - {STILL_US * 1000}
        JOIN clients s ON s.stream_id = x.stream_id AND s.source = g.source AND {BROKER} = g.broker
        LEFT JOIN ({_WAITING}) w ON w.source = g.source AND w.broker = g.broker AND w.begin_ns = g.begin_ns
             AND w.destination_name = x.destination_name
        WHERE x.transaction IS NULL AND s.error_message IS NULL AND (x.receipt IS NOT NULL OR w.destination_name IS NOT NULL)
        GROUP BY g.source, g.broker, g.server_product, g.begin_ns, g.end_ns, g.until_ns, g.minute) c
    WHERE c.owed >= {OWED} AND c.producers > 1 AND {_NOT_STOPPED} AND NOT EXISTS (
        SELECT 1 FROM cuts o WHERE o.source = c.source AND o.broker = c.broker
        AND o.begin_ns BETWEEN c.begin_ns - {SILENT_S * SECOND_NS} AND c.begin_ns + {SILENT_S * SECOND_NS})"""

BROKER_STILL = f"{_CONFIRMED_AT_ONCE} UNION ALL {_SILENT}"
"""Those, and the silences in which SENDs waited for a broker; one that lasts to the capture's end has no end."""

STANDING = f"""
    SELECT DISTINCT source, minute FROM (
        SELECT source, CAST(floor(begin_ns / {MINUTE_NS}.0) AS BIGINT) AS minute FROM still_events
        UNION ALL SELECT source, CAST(floor(end_ns / {MINUTE_NS}.0) AS BIGINT) FROM still_events) minutes"""
"""Minutes in which a broker stood still."""

CTES = {"answered": ANSWERED, "silences": SILENCES, "asked": ASKED, "still_events": BROKER_STILL, "standing": STANDING}
