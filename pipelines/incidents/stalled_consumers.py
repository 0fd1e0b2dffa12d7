"""Events of consumers that are stalled: with messages in flight, they settle none for much longer than they usually take.

A pause is long or not by what its consumer took before; of those that are long, it counts what is in flight.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import DAY_MINUTES, DELIVERED, MINUTE_NS
from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, SECOND_NS
from pipelines.incidents.leaps import leapt_ns
from pipelines.incidents.who import SUBJECT, SUBJECT_KIND
from stompcap.tables.consumers import CONSUMER_STALLS, STALLED_S, STALLS

STALLED_TIMES, WHOLE = 10, 0.9
"""A stall is so many times what the consumer usually takes for a message, or more. Where nothing at all was captured for that share of it,
a clock may have leapt, of which nobody speaks."""

SKIPPED, SKIPPED_SHARE = 3, 0.5
"""Where so many messages in flight, and that share of them, came before others that were settled, a stall began with the first of them."""

_ACKNOWLEDGED = f"""
    SELECT s.source, {SUBJECT} AS subject, s.server_product, d.destination_name, {DELIVERED} AS minute, d.delivered_ns, d.ack_latency_us
    FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
    WHERE d.ack_latency_us IS NOT NULL"""

ACKNOWLEDGED_MINUTES = f"""
    SELECT source, subject, server_product, destination_name, minute, count(*) AS messages, min(ack_latency_us) AS least_us,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ack_latency_us) AS usual_us
    FROM ({_ACKNOWLEDGED}) acknowledged GROUP BY source, subject, server_product, destination_name, minute"""

LEAST = f"""
    SELECT source, subject, min(CASE WHEN before >= minute - {DAY_MINUTES} THEN usual_us ELSE least(usual_us, least_us) END) AS least_us
    FROM (SELECT *, lag(minute) OVER (PARTITION BY source, subject, server_product, destination_name ORDER BY minute) AS before
          FROM acknowledged_minutes) minutes
    GROUP BY source, subject"""
"""Less than this a consumer never usually takes, of whatever destination: what it took in any minute, or for one message in a minute
with no day before it (`usual_before`, `usual_at_first`)."""

PAUSES = CONSUMER_STALLS.of().replace(STALLS, f"""
        SELECT e.* FROM ({STALLS}) e JOIN clients s ON s.stream_id = e.stream_id
        JOIN least_usual l ON l.source = s.source AND l.subject = {SUBJECT} AND e.end_ns - e.begin_ns >= {STALLED_TIMES} * 1000 * l.least_us
    """)
"""View consumer_stalls, without what cannot be long (`long_pauses`): of who always takes its time these are most."""

STILL = f"""
    SELECT * FROM (SELECT t.* REPLACE (t.stalled_ms - CAST(floor({leapt_ns("t.source", "t.begin_ns", "t.end_ns")} / 1e6) AS BIGINT)
                                       AS stalled_ms)
                   FROM pauses t WHERE NOT t.uncertain AND t.ended_by <> 'unsubscribe') without_leaps
    WHERE stalled_ms > 1000 * {STALLED_S} AND NOT EXISTS (
        SELECT 1 FROM streams p JOIN leaps l ON l.source = p.source AND l.begin_ns >= p.last_ns
        WHERE p.stream_id = without_leaps.stream_id AND p.close_kind = 'open' AND p.final AND l.end_ns <= without_leaps.end_ns)"""
"""Pauses of consumers, without the leaps of clocks in them; not those of connections that seem to end in a leap of a day."""

HOLDERS = f"""
    SELECT DISTINCT t.stream_id, t.subscription, t.begin_ns, t.source, d.destination_name, s.server_product, {SUBJECT} AS subject,
           CAST(floor(t.begin_ns / {MINUTE_NS}.0) AS BIGINT) AS minute
    FROM still t JOIN clients s ON s.stream_id = t.stream_id
    ASOF JOIN (SELECT * FROM deliveries WHERE ack_mode <> 'auto' AND delivered_ns > 0) d
    ON d.stream_id = t.stream_id AND d.subscription = t.subscription AND d.delivered_ns <= t.begin_ns
    WHERE d.destination_name IS NOT NULL"""
"""Whose pauses these are, and the destination of the latest message before each."""

_OF_HOLDER = """{one}.source = t.source AND {one}.subject = t.subject AND {one}.destination_name = t.destination_name
         AND {one}.server_product IS NOT DISTINCT FROM t.server_product"""
_CONSUMER_MINUTE = "source, subject, server_product, destination_name, minute"
USUAL_BEFORE = f"""
    SELECT {_CONSUMER_MINUTE}, min(usual_us) AS usual_us FROM (
        SELECT *, sum(messages) OVER (PARTITION BY {_CONSUMER_MINUTE} ORDER BY usual_us) AS as_long,
               sum(messages) OVER (PARTITION BY {_CONSUMER_MINUTE}) AS of_all
        FROM (SELECT t.source, t.subject, t.server_product, t.destination_name, t.minute, m.messages, m.usual_us
              FROM (SELECT DISTINCT {_CONSUMER_MINUTE} FROM holders) t JOIN acknowledged_minutes m
              ON {_OF_HOLDER.format(one="m")} AND m.minute >= t.minute - {DAY_MINUTES} AND m.minute < t.minute) minutes) lined
    WHERE 2 * as_long >= of_all GROUP BY {_CONSUMER_MINUTE}"""
"""What consumers took in the day before a minute: the median of the minutes' medians, weighted by messages."""

USUAL_AT_FIRST = f"""
    SELECT t.stream_id, t.subscription, t.begin_ns, percentile_cont(0.5) WITHIN GROUP (ORDER BY d.ack_latency_us) AS usual_us
    FROM (SELECT t.* FROM holders t LEFT JOIN usual_before b ON {_OF_HOLDER.format(one="b")} AND b.minute = t.minute
          WHERE b.minute IS NULL) t
    JOIN ({_ACKNOWLEDGED}) d ON {_OF_HOLDER.format(one="d")} AND d.minute = t.minute AND d.delivered_ns < t.begin_ns
    GROUP BY t.stream_id, t.subscription, t.begin_ns"""
"""What consumers took in the minute in which they stalled, where there is no day before it."""

USUAL = f"""
    SELECT t.stream_id, t.subscription, t.begin_ns, coalesce(b.usual_us, f.usual_us) AS usual_us
    FROM holders t
    LEFT JOIN usual_before b ON {_OF_HOLDER.format(one="b")} AND b.minute = t.minute
    LEFT JOIN usual_at_first f ON f.stream_id = t.stream_id AND f.subscription = t.subscription AND f.begin_ns = t.begin_ns"""
"""What a consumer took before it stalled. Each pause with each message of the day before would be as many rows as both multiplied."""

LONG = f"""
    SELECT t.*, u.usual_us FROM still t
    JOIN usual u ON u.stream_id = t.stream_id AND u.subscription = t.subscription AND u.begin_ns = t.begin_ns
    WHERE t.stalled_ms >= {STALLED_TIMES} * u.usual_us / 1e3"""
"""Those that are long for who usually takes `usual_us`: most pauses of who always takes its time are not."""

HELD = """
    SELECT t.*, h.held, h.destination_name, h.skipped, h.skipped_ns FROM long_pauses t LEFT JOIN (
        SELECT c.stream_id, c.subscription, c.begin_ns, count(*) AS held, max(d.destination_name) AS destination_name,
               count_if(d.stream_offset < k.settled_offset) AS skipped,
               min(CASE WHEN d.stream_offset < k.settled_offset THEN d.delivered_ns END) AS skipped_ns
        FROM long_pauses c JOIN deliveries d ON d.stream_id = c.stream_id AND d.subscription = c.subscription AND d.delivered_ns <= c.end_ns
        AND coalesce(d.settled_ns, c.end_ns) >= c.end_ns AND d.ack_mode <> 'auto'
        LEFT JOIN (SELECT c.stream_id, c.subscription, c.begin_ns, max(d.stream_offset) AS settled_offset
                   FROM long_pauses c JOIN deliveries d ON d.stream_id = c.stream_id AND d.subscription = c.subscription
                   AND d.settled_ns <= c.begin_ns GROUP BY c.stream_id, c.subscription, c.begin_ns) k
        ON k.stream_id = c.stream_id AND k.subscription = c.subscription AND k.begin_ns = c.begin_ns
        GROUP BY c.stream_id, c.subscription, c.begin_ns) h
    ON h.stream_id = t.stream_id AND h.subscription = t.subscription AND h.begin_ns = t.begin_ns"""
"""Long pauses with the messages that are in flight, and how many of these are `skipped`: they came before another one that was settled."""

_ALL_SILENT = f"""t.ended_by IN ('ack', 'nack') AND EXISTS (
               SELECT 1 FROM holes h WHERE h.source = s.source AND h.begin_ns >= t.begin_ns AND h.end_ns <= t.end_ns
               AND h.end_ns - h.begin_ns >= {WHOLE} * (t.end_ns - t.begin_ns))"""
_SKIPS = f"""t.skipped >= {SKIPPED} AND t.skipped >= {SKIPPED_SHARE} * t.held AND t.begin_ns - t.skipped_ns
              >= greatest({STALLED_S * SECOND_NS}, {STALLED_TIMES} * 1000 * t.usual_us)"""
STALLED = f"""
    SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product, coalesce(t.destination, '') AS what,
           concat(CASE WHEN {_ALL_SILENT} THEN 'silence' WHEN t.ended_by IN ('ack', 'nack') THEN 'settled'
                       WHEN t.ended_by = 'close' AND s.close_cause = 'heartbeat_client' THEN 'close beats'
                       WHEN t.ended_by = 'close' AND s.closed_by IS NOT NULL THEN concat('close ', s.closed_by) ELSE t.ended_by END,
                  CASE WHEN {_SKIPS} THEN ' skipping' ELSE '' END) AS text,
           CASE WHEN {_SKIPS} THEN t.skipped_ns ELSE t.begin_ns END AS begin_ns,
           CASE WHEN t.ended_by IN ('ack', 'nack') THEN t.end_ns WHEN t.ended_by <> 'capture_end' THEN n.back_ns END AS end_ns,
           greatest(t.held, t.in_flight) AS messages, t.stalled_ms / 1e3 AS amount, t.stream_id, {NO_TEXT} AS direction,
           CAST(NULL AS BIGINT) AS stream_offset, t.destination_name, t.usual_us / 1e6 AS before,
           CAST(b.backlog AS DOUBLE) AS backlog, {NO_NUMBER} AS late_s
    FROM held t JOIN clients s ON s.stream_id = t.stream_id
    LEFT JOIN (SELECT t.stream_id, t.begin_ns, min(u.subscribed_ns) AS back_ns
               FROM held t ASOF JOIN subscribing u
               ON u.source = t.source AND u.destination_name = t.destination_name AND u.subscribed_ns >= t.end_ns
               GROUP BY t.stream_id, t.begin_ns) n
    ON n.stream_id = t.stream_id AND n.begin_ns = t.begin_ns
    LEFT JOIN (SELECT t.stream_id, t.begin_ns, sum(m.backlog_change) AS backlog
               FROM held t JOIN clients s ON s.stream_id = t.stream_id JOIN by_minute m ON m.source = t.source
               AND m.destination_name = t.destination_name
               AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product
               AND m.minute >= floor(t.begin_ns / {MINUTE_NS}.0)
               AND (m.minute <= floor(t.end_ns / {MINUTE_NS}.0) OR t.ended_by NOT IN ('ack', 'nack'))
               GROUP BY t.stream_id, t.begin_ns) b ON b.stream_id = t.stream_id AND b.begin_ns = t.begin_ns
    WHERE t.ended_by IN ('ack', 'nack') OR t.stream_id NOT IN (SELECT stream_id FROM cuts)"""
"""Times in which a consumer with messages in flight, which had settled some before, settled none; until one consumes there again."""

CTES = {"acknowledged_minutes": ACKNOWLEDGED_MINUTES, "least_usual": LEAST, "pauses": PAUSES, "still": STILL, "holders": HOLDERS,
        "usual_before": USUAL_BEFORE, "usual_at_first": USUAL_AT_FIRST, "usual": USUAL, "long_pauses": LONG, "held": HELD,
        "stalled": STALLED}  # fmt: skip
