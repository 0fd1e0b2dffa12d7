"""Events of destinations: messages wait, a producer sends more, a broker or its confirmations are slow.

A consumer that is slow, or stalled, explains what its destination suffers: that is said once, of the consumer.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import DAY_MINUTES, DELIVERED, LEAST_MINUTES, MANY_CONNECTIONS, MINUTE_NS, PAST
from pipelines.incidents.flagged import NO_TEXT, SECOND_NS
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND
from pipelines.incidents.young_minutes import young_faster
from stompcap.incidents.surroundings import WRONG_LENGTH

LATE_US, LATER = 1_000_000, 10
"""A minute is late if half of its messages were so many microseconds in the broker, and so many times the best minute before."""

SLOW_BROKER_US, IDLE, SLOW_MESSAGES, SLOW_NEAR = 250_000, 0.5, 5, 2
"""The broker is slow if half of a minute's messages were so long in it, and consumers were busy for less of their time than this;
of so many messages, and in so many minutes near."""

MORE, GROWTH, GROWTH_SHARE, GROWTH_MINUTES = 2, 10, 0.2, 3
"""So many times the SENDs of the least five minutes before; a backlog that grows by so many, and that share of them; in so many minutes."""

CONFIRMED_US, CONFIRMED_TIMES, CONFIRMED_MINUTES = 250_000, 5, 2
"""Confirmations are slow if their 95th percentile is so many microseconds and times more than the best before, in so many minutes."""

NEAR = 5  # minutes around which something explains another
KEY = "source, destination_name, server_product"

DESTINATION_PAST = f"""
    SELECT *, min(CASE WHEN messages >= 3 THEN residence_p50_us END) OVER past AS best_us,
           count(CASE WHEN messages >= 3 THEN residence_p50_us END) OVER past AS past_minutes,
           min(receipt_p95_us) OVER past AS best_receipt_us, min(five) OVER past AS least_sends, count(five) OVER past AS fives
    FROM (
        SELECT *, CASE WHEN count(whole) OVER recent >= {LEAST_MINUTES} THEN avg(whole) OVER recent END AS five
        FROM (
            SELECT source, destination_name, server_product, minute,
                   sum(sends) AS sends, sum(messages) AS messages, sum(redeliveries) AS redeliveries, sum(backlog_change) AS backlog_change,
                   max(consumers) AS consumers, max(residence_p50_us) AS residence_p50_us, max(residence_p95_us) AS residence_p95_us,
                   max(receipt_p95_us) AS receipt_p95_us, CASE WHEN minute > min(first_minute) THEN sum(sends) END AS whole
            FROM by_minute LEFT JOIN (SELECT source AS seen_source, floor(min(first_ns) / {MINUTE_NS}.0) AS first_minute FROM captures
                                      GROUP BY source) seen ON seen_source = source
            WHERE destination_name IS NOT NULL GROUP BY source, destination_name, server_product, minute) minutes
        WINDOW recent AS (PARTITION BY {KEY} ORDER BY minute RANGE BETWEEN 4 PRECEDING AND CURRENT ROW)) rated
    WINDOW past AS (PARTITION BY {KEY} ORDER BY minute {PAST})"""

EXPLAINED = f"""
    SELECT source, destination_name, minute FROM slow_minutes WHERE slow OR most_connections >= {MANY_CONNECTIONS}
    UNION SELECT source, destination_name, minute FROM instances
    UNION SELECT source, destination_name, minute FROM redelivering
    UNION SELECT t.source, t.destination_name, CAST(floor(t.begin_ns / {MINUTE_NS}.0) AS BIGINT) FROM stalled t
    UNION SELECT t.source, t.destination_name, CAST(floor(t.end_ns / {MINUTE_NS}.0) AS BIGINT) FROM stalled t
    UNION SELECT p.source, x.destination_name, CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT)
          FROM sends x JOIN streams p ON p.stream_id = x.stream_id
          WHERE x.sent_ns > 0 AND x.stream_id IN (SELECT stream_id FROM compliance_findings WHERE rule_id = '{WRONG_LENGTH}')
"""
"""Minutes of destinations in which a client is the reason: a consumer is slow, stalled, in a loop, or gets again what it gives back; or a
producer's content-length is wrong, so that nobody knows which of its SENDs became messages."""


def _around(relation: str, minute: str) -> str:
    """The minutes that the rows of a relation may explain, one by one, each with the last that does.

    A comparison of each with each is dear where there are many.
    """
    at = f"SELECT DISTINCT source, destination_name, CAST({minute} AS BIGINT) AS at_minute FROM {relation}"
    near = f"SELECT source, destination_name, at_minute, at_minute + unnest(range(-1, {NEAR + 1})) AS minute FROM ({at}) at_minutes"
    return f"SELECT source, destination_name, minute, max(at_minute) AS at_minute FROM ({near}) near GROUP BY ALL"


UNEXPLAINED = f"""
    SELECT m.*, coalesce(b.busy * {MINUTE_NS} / greatest(least(e.seen_ns, (m.minute + 1) * {MINUTE_NS})
                                  - greatest(e.began_ns, m.minute * {MINUTE_NS}), {SECOND_NS}), 0) AS busy, b.busiest, b.far
    FROM destination_past m
    JOIN (SELECT source, min(first_ns) AS began_ns, max(last_ns) AS seen_ns FROM captures GROUP BY source) e ON e.source = m.source
    LEFT JOIN (SELECT source, destination_name, minute, max(busy_us / 6e7 / connections) AS busy,
                      max({{'busy': busy_us / connections, 'subject': subject}}).subject AS busiest,
                      max({{'busy': busy_us / connections, 'far': rtt_us / nullif(service_us, 0)}}).far AS far FROM consumer_minutes
               GROUP BY source, destination_name, minute) b
    ON b.source = m.source AND b.destination_name = m.destination_name AND b.minute = m.minute
    WHERE NOT EXISTS (SELECT 1 FROM ({_around("explained", "minute")}) e WHERE e.source = m.source
                      AND e.destination_name = m.destination_name AND e.minute = m.minute)
      AND NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = m.source
                      AND m.minute >= floor(o.begin_ns / {MINUTE_NS}.0) - 1
                      AND m.minute <= floor(coalesce(o.end_ns, o.last_ns) / {MINUTE_NS}.0) + {NEAR})"""
"""Minutes of destinations that no consumer and no stop of the broker explains, with how busy the busiest consumer was in the part of
them that was captured, its name, and which share of its time for a message is a round trip."""

WAITING = f"""
    SELECT m.* FROM unexplained m LEFT JOIN ({_around("subscribing", f"floor(subscribed_ns / {MINUTE_NS}.0)")}) u
    ON u.source = m.source AND u.destination_name = m.destination_name AND u.minute = m.minute
    WHERE m.residence_p50_us >= {SLOW_BROKER_US} AND (u.minute IS NULL OR EXISTS (
        SELECT 1 FROM destination_past w WHERE w.source = m.source AND w.destination_name = m.destination_name
        AND w.server_product IS NOT DISTINCT FROM m.server_product AND w.minute BETWEEN u.at_minute AND m.minute - 1
        AND w.messages >= 3 AND {LATER} * w.residence_p50_us <= m.residence_p50_us))"""
"""Those in which messages wait and no consumer came back, either, to what had waited for it: all was well after it came."""


def _earliest(of: str, moment: str) -> str:
    """Connection and offset of the earliest row; of those of one moment always the same."""
    return f"min({{'ns': {of}.{moment}, 'stream_id': {of}.stream_id, 'stream_offset': {of}.stream_offset}})"


_FAILED = "s.error_message IS NOT NULL OR x.stream_id IN (SELECT stream_id FROM short WHERE ended_by = 'server')"
PRODUCING = f"""
    SELECT s.source, x.destination_name, CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT) AS minute, {SUBJECT_KIND} AS subject_kind,
           {SUBJECT} AS subject, s.server_product, count(*) AS sends,
           sum(count_if({_FAILED})) OVER (PARTITION BY s.source, x.destination_name,
                                          CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT)) AS failed,
           {_earliest("x", "sent_ns")} AS first, 'c2s' AS direction, min(x.sent_ns) AS first_ns, max(x.sent_ns) AS last_ns,
           row_number() OVER (PARTITION BY s.source, x.destination_name, s.server_product, CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT)
                              ORDER BY count(*) DESC, {SUBJECT}) AS rank
    FROM sends x JOIN clients s ON s.stream_id = x.stream_id WHERE x.sent_ns > 0
    GROUP BY s.source, x.destination_name, s.server_product, CAST(floor(x.sent_ns / {MINUTE_NS}.0) AS BIGINT), {SUBJECT_KIND}, {SUBJECT}"""
"""Who sent most to a destination in a minute: rank 1; of all its SENDs, how many `failed`: their session got an ERROR, or was soon
closed by the broker, which may not have taken them."""

FASTER_MINUTES = f"""
    SELECT * FROM (
        SELECT *, count(*) OVER (PARTITION BY {KEY} ORDER BY minute RANGE BETWEEN {NEAR} PRECEDING AND {NEAR} FOLLOWING) AS near
        FROM unexplained WHERE messages > 0 AND fives > 0 AND sends >= {MORE} * least_sends
                       AND backlog_change >= greatest({GROWTH}, {GROWTH_SHARE} * sends)) grown
    WHERE near >= {GROWTH_MINUTES}
    UNION ALL SELECT m.* REPLACE (y.sends AS sends, y.usual AS least_sends), 0 AS near FROM unexplained m JOIN young_faster y
    ON y.source = m.source AND y.destination_name = m.destination_name AND y.minute = m.minute
    AND y.server_product IS NOT DISTINCT FROM m.server_product WHERE m.messages > 0"""
"""Minutes in which much more is sent; of the first ones those that are so by their tens of seconds."""


def first_frame(stream: str) -> str:
    """The first SEND or MESSAGE of a minute, as the frame that shows an event."""
    return f"{stream}.first.stream_id AS stream_id, {stream}.direction, {stream}.first.stream_offset AS stream_offset"


def minute_event(kind: str, subject: str, amount: str, before: str, messages: str, stream: str, what: str = "m.destination_name",
            text: str = NO_TEXT) -> str:
    """A minute of a destination, `m`, as an event, from the first to the last frame of `stream`, who sends or is delivered to."""
    return f"""
    SELECT m.source, {kind} AS subject_kind, {subject} AS subject, m.server_product, {what} AS what, {text} AS text,
           {stream}.first_ns AS begin_ns, {stream}.last_ns AS end_ns, CAST({messages} AS BIGINT) AS messages,
           CAST({amount} AS DOUBLE) AS amount, {first_frame(stream)}, m.destination_name, CAST({before} AS DOUBLE) AS before,
           CAST(m.backlog_change AS DOUBLE) AS backlog, m.residence_p95_us / 1e6 AS late_s"""


def _again(events: str) -> str:
    """Of events by minute those of which there are several near."""
    return f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, count(*) OVER (PARTITION BY {KEY} ORDER BY begin_ns
                  RANGE BETWEEN {NEAR * MINUTE_NS} PRECEDING AND {NEAR * MINUTE_NS} FOLLOWING) AS near FROM ({events}) minutes) counted
    WHERE near >= {SLOW_NEAR}"""


_LATER = f"m.messages >= {SLOW_MESSAGES} AND m.residence_p50_us >= {LATER} * m.best_us"
_LATE = f"m.past_minutes >= {LEAST_MINUTES} AND {_LATER}"
_NOT_FASTER = f"""NOT EXISTS (SELECT 1 FROM faster f WHERE f.source = m.source AND f.destination_name = m.destination_name
                              AND f.minute BETWEEN m.minute - {DAY_MINUTES} AND m.minute)"""
COUNTING = "least(m.sends - s.failed, m.backlog_change)"
QUEUE = "CASE WHEN m.destination_name LIKE 'queue/%' THEN concat('/', m.destination_name) ELSE m.destination_name END"

PRODUCER_FASTER = (
    minute_event("s.subject_kind", "s.subject", "m.sends", "m.least_sends", "greatest(m.backlog_change, 0)", "s")
    + """ FROM faster m JOIN producing s ON s.source = m.source AND s.destination_name = m.destination_name
               AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product AND s.minute = m.minute
          AND s.rank = 1"""
)
"""Minutes in which much more is sent than before, and the backlog grows though consumers work as ever."""

BROKER_SLOW = _again(
    minute_event("'broker'", "b.subject", "m.residence_p50_us / 1e6", "m.best_us / 1e6", "m.messages", "b", "''")
    + f""" FROM waiting m JOIN serving b ON b.source = m.source AND b.destination_name = m.destination_name
               AND coalesce(b.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product AND b.minute = m.minute
          WHERE {_LATER} AND m.residence_p50_us >= {SLOW_BROKER_US} AND m.busy < {IDLE} AND {_NOT_FASTER}"""
)
"""Minutes in which messages wait in the broker though their consumers are idle; one minute before them is past enough."""

SERVED = f"""
    SELECT s.source, d.destination_name, {DELIVERED} AS minute, {SUBJECT} AS subject, max(d.delivered_ns) AS last_ns
    FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id WHERE d.delivered_ns > 0
    GROUP BY s.source, d.destination_name, {DELIVERED}, {SUBJECT}"""
"""Who was delivered to in a minute, and when last."""

SERVING = f"""
    SELECT s.source, d.destination_name, s.server_product, {DELIVERED} AS minute, {_earliest("d", "delivered_ns")} AS first,
           's2c' AS direction, min({BROKER}) AS subject, min(d.delivered_ns) AS first_ns, max(d.delivered_ns) AS last_ns
    FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id WHERE d.delivered_ns > 0
    GROUP BY s.source, d.destination_name, s.server_product, {DELIVERED}"""

BACKLOG = f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, count(*) OVER (PARTITION BY {KEY} ORDER BY begin_ns
                  RANGE BETWEEN {NEAR * MINUTE_NS} PRECEDING AND {NEAR * MINUTE_NS} FOLLOWING) AS near
        FROM ({minute_event("'destination'", QUEUE, "m.busy", "m.far", "m.backlog_change", "b", text="m.busiest")}
              FROM unexplained m JOIN serving b ON b.source = m.source AND b.destination_name = m.destination_name
               AND coalesce(b.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product AND b.minute = m.minute
              WHERE m.messages > 0 AND m.backlog_change >= greatest({GROWTH}, {GROWTH_SHARE} * m.sends)
                AND m.destination_name LIKE 'queue/%' AND {_NOT_FASTER}) grown) counted
    WHERE near >= {GROWTH_MINUTES}"""
"""Minutes in which the backlog of a queue grows, with consumers that are as they ever were, or that are known since then alone."""

LATE_MESSAGES = _again(
    minute_event("'destination'", QUEUE, "m.residence_p50_us / 1e6", "m.best_us / 1e6", "m.messages", "b")
    + f""" FROM waiting m JOIN serving b ON b.source = m.source AND b.destination_name = m.destination_name
               AND coalesce(b.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product AND b.minute = m.minute
          WHERE {_LATE} AND m.residence_p50_us >= {LATE_US} AND m.busy >= {IDLE} AND {_NOT_FASTER}
            AND NOT EXISTS (SELECT 1 FROM backlogs g WHERE g.source = m.source AND g.destination_name = m.destination_name
                            AND floor(g.begin_ns / {MINUTE_NS}.0) BETWEEN m.minute - {DAY_MINUTES} AND m.minute + {NEAR})"""
)
"""Minutes in which messages come late, and neither a consumer nor a producer nor the broker is the reason that can be named."""

SLOW_CONFIRMS = f"""
    SELECT source, subject_kind, subject, server_product, what, text, begin_ns, end_ns, messages, amount, stream_id, direction,
           stream_offset, destination_name, before, backlog, late_s FROM (
        SELECT *, count(*) OVER (PARTITION BY {KEY} ORDER BY begin_ns
                  RANGE BETWEEN {2 * MINUTE_NS} PRECEDING AND {2 * MINUTE_NS} FOLLOWING) AS near
        FROM ({minute_event("'destination'", QUEUE, "m.receipt_p95_us / 1e6", "m.best_receipt_us / 1e6", "m.sends", "s")}
              FROM destination_past m JOIN producing s ON s.source = m.source AND s.destination_name = m.destination_name
               AND coalesce(s.server_product, m.server_product) IS NOT DISTINCT FROM m.server_product
                   AND s.minute = m.minute AND s.rank = 1
              WHERE m.receipt_p95_us >= {CONFIRMED_TIMES} * m.best_receipt_us AND m.receipt_p95_us - m.best_receipt_us >= {CONFIRMED_US}
                AND m.sends >= 3 AND NOT EXISTS (
                    SELECT 1 FROM slow_brokers o WHERE o.source = m.source AND o.server_product IS NOT DISTINCT FROM m.server_product
                    AND m.minute BETWEEN floor(o.begin_ns / {MINUTE_NS}.0) - 1 AND floor(o.end_ns / {MINUTE_NS}.0) + 1
                ) AND NOT EXISTS (
                    SELECT 1 FROM standing o WHERE o.source = m.source AND m.minute BETWEEN o.minute - 1 AND o.minute + 2)) slow) counted
    WHERE near >= {CONFIRMED_MINUTES}"""
"""Minutes in which RECEIPTs to SENDs came much later than before, and the broker is not slow with all that it does."""

CTES = {
    "destination_past": DESTINATION_PAST, "explained": EXPLAINED, "unexplained": UNEXPLAINED, "waiting": WAITING, "producing": PRODUCING,
    "young_faster": young_faster(MORE, GROWTH_SHARE), "faster": FASTER_MINUTES, "serving": SERVING, "served": SERVED,
    "backlogs": BACKLOG, "slow_brokers": BROKER_SLOW,
}  # fmt: skip
