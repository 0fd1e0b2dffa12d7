"""Views of the lake about who is slow: what a consumer's time is bounded by, and where it settled nothing for long.

The SQL is understood by DuckDB and Spark alike, as that of stompcap.views.
"""

# ruff: noqa: S608  the SQL consists of our own constants

from __future__ import annotations

from stompcap.tables.outcomes import NOT_SETTLED, RESIDENCE, SETTLED
from stompcap.tables.view import View

STALLED_S = 10
"""From how many seconds without a settlement on a consumer with deliveries in flight is stalled."""

STALLS = f"SELECT * FROM ended WHERE end_ns - begin_ns > {STALLED_S}000000000"
"""The step of view consumer_stalls that tells which pauses are long enough."""

FAR_NS = 9223372036854775807  # behind all times
NO_CLOCKS_DIFFER = "coalesce(p.clock_difference_min_us, 0) <= 0 AND coalesce(p.clock_difference_max_us, 0) >= 0"
ASKED = f"""SELECT d.stream_id, d.subscription, d.stream_offset, d.delivered_ns, d.settled_ns, d.settle_offset, d.settlement,
               d.octets_missing, coalesce(d.settled_ns, {FAR_NS}) AS until_ns, d.network_us, d.consumer_us
        FROM {{deliveries}} d WHERE d.ack_mode IN ('client', 'client-individual') AND d.subscription IS NOT NULL
             AND (({SETTLED.sql('d')}) OR ({NOT_SETTLED.sql('d')})) AND d.delivered_ns > 0"""

CONSUMER_STALLS = View(
    "consumer_stalls",
    f"Times of more than {STALLED_S} s in which a subscription had deliveries in flight and the client settled none: when, `in_flight` at "
    "its begin, what ended it; `uncertain` where an ACK between may be missing from the capture; session and capture point. None where the "
    "clocks of the directions differ",
    ("deliveries", "subscriptions", "sessions", "streams", "captures"),
    f"""
    WITH asked AS (
        {ASKED}
    ), turns AS (
        SELECT stream_id, subscription, until_ns, settle_offset, min(delivered_ns) AS first_ns, min(settlement) AS settlement,
               max(CASE WHEN octets_missing THEN 1 ELSE 0 END) AS missing
        FROM asked GROUP BY stream_id, subscription, until_ns, settle_offset
    ), lined AS (
        SELECT *, lag(until_ns) OVER (PARTITION BY stream_id, subscription ORDER BY settle_offset NULLS LAST, until_ns) AS before_ns,
               min(first_ns) OVER (PARTITION BY stream_id, subscription ORDER BY settle_offset NULLS LAST, until_ns
                                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS oldest_ns
        FROM turns
    ), named AS (
        SELECT stream_id, subscription, min(destination) AS destination, max(unsubscribed_ns) AS unsubscribed_ns,
               count(*) - count(unsubscribed_ns) AS open
        FROM {{subscriptions}} GROUP BY stream_id, subscription
    ), ended AS (
        SELECT l.stream_id, l.subscription, n.destination, greatest(coalesce(l.before_ns, l.oldest_ns), l.oldest_ns) AS begin_ns,
               CASE WHEN l.until_ns < {FAR_NS} THEN l.until_ns WHEN n.open = 0 THEN n.unsubscribed_ns
                    ELSE coalesce(s.closed_ns, CASE WHEN p.clock_steps_back > 0 THEN s.last_ns ELSE greatest(s.last_ns, e.seen_ns) END)
               END AS end_ns,
               CASE WHEN l.until_ns < {FAR_NS} THEN l.settlement WHEN n.open = 0 THEN 'unsubscribe'
                    WHEN s.end_kind = 'disconnect' THEN 'disconnect' WHEN s.closed_ns IS NOT NULL THEN 'close'
                    ELSE 'capture_end' END AS ended_by,
               l.missing = 1 OR (l.until_ns = {FAR_NS} AND s.gap_octets > 0) AS uncertain
        FROM lined l JOIN {{sessions}} s ON s.stream_id = l.stream_id JOIN {{streams}} p ON p.stream_id = l.stream_id
        LEFT JOIN named n ON n.stream_id = l.stream_id AND n.subscription = l.subscription
        LEFT JOIN (SELECT source, max(last_ns) AS seen_ns FROM {{captures}} GROUP BY source) e ON e.source = p.source
        WHERE {NO_CLOCKS_DIFFER}
    ), stalled AS ({STALLS}), moves AS (
        SELECT stream_id, subscription, delivered_ns AS ns, 1 AS step, CAST(NULL AS BIGINT) AS end_ns FROM asked
        UNION ALL SELECT stream_id, subscription, greatest(delivered_ns, until_ns), -1, NULL FROM asked
        UNION ALL SELECT stream_id, subscription, begin_ns, 0, end_ns FROM stalled
    ), counted AS (
        SELECT stream_id, subscription, ns AS begin_ns, end_ns, CAST(max(in_flight) AS BIGINT) AS in_flight
        FROM (SELECT *, sum(step) OVER (PARTITION BY stream_id, subscription ORDER BY ns) AS in_flight
              FROM moves WHERE stream_id IN (SELECT stream_id FROM stalled)) m
        WHERE end_ns IS NOT NULL AND in_flight > 0 GROUP BY stream_id, subscription, ns, end_ns
    )
    SELECT t.stream_id, t.subscription, t.destination, t.begin_ns, t.end_ns,
           CAST(floor((t.end_ns - t.begin_ns) / 1000000.0) AS BIGINT) AS stalled_ms, c.in_flight, t.ended_by, t.uncertain,
           {{session}}, p.source
    FROM stalled t JOIN counted c ON c.stream_id = t.stream_id AND c.subscription = t.subscription AND c.begin_ns = t.begin_ns
         AND c.end_ns = t.end_ns
    LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id LEFT JOIN {{streams}} p ON p.stream_id = t.stream_id
    """,
)

SUBSCRIPTION_BOUNDS = View(
    "subscription_bounds",
    "Subscriptions in mode client and client-individual, and what more than half of their time (`whole_us`) is spent with, `bounded_by`: "
    "network (`waited_us`: the share of ack latencies until TCP acknowledged, and windows of the client that were closed), prefetch "
    "(full_us), broker (`broker_us`: nothing in flight, though a message that came next had been sent, by journeys), idle (else nothing in "
    "flight), consumer (in flight below the limit, or of one that is not known), unknown (none of them, or times cannot be compared); "
    "session and capture point",
    ("subscriptions", "deliveries", "journeys", "stalls", "sessions", "streams"),
    f"""
    WITH asked AS (
        {ASKED}
    ), lined AS (
        SELECT *, max(until_ns) OVER (PARTITION BY stream_id, subscription ORDER BY delivered_ns, stream_offset
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
        FROM asked
    ), known AS (
        SELECT t.*, CASE WHEN t.unsubscribed_ns IS NOT NULL THEN t.unsubscribed_ns ELSE coalesce(s.closed_ns, s.last_ns) END AS end_ns
        FROM {{subscriptions}} t JOIN {{sessions}} s ON s.stream_id = t.stream_id
    ), shared AS (
        SELECT k.stream_id, k.subscribe_offset, sum(l.network_us) AS network_us, sum(l.network_us + l.consumer_us) AS parts_us,
               CAST(sum(CASE WHEN {RESIDENCE} AND l.delivered_ns > coalesce(l.free_ns, k.subscribed_ns)
                        THEN least(j.residence_us, CAST(floor((l.delivered_ns - greatest(coalesce(l.free_ns, 0), k.subscribed_ns)) / 1000.0)
                                                        AS BIGINT))
                        ELSE 0 END) AS BIGINT) AS broker_us
        FROM known k JOIN lined l ON l.stream_id = k.stream_id AND l.subscription = k.subscription
             AND l.delivered_ns >= k.subscribed_ns AND l.delivered_ns <= k.end_ns
        LEFT JOIN {{journeys}} j ON j.message_stream_id = l.stream_id AND j.message_offset = l.stream_offset
        GROUP BY k.stream_id, k.subscribe_offset
    ), closed AS (
        SELECT k.stream_id, k.subscribe_offset,
               CAST(sum(floor((least(z.end_ns, k.end_ns) - greatest(z.begin_ns, k.subscribed_ns)) / 1000.0)) AS BIGINT) AS closed_us
        FROM known k JOIN {{stalls}} z ON z.stream_id = k.stream_id AND z.direction = 's2c' AND z.kind = 'zero_window'
             AND z.begin_ns < k.end_ns AND z.end_ns > k.subscribed_ns
        GROUP BY k.stream_id, k.subscribe_offset
    ), spent AS (
        SELECT k.*, greatest(CAST(floor((k.end_ns - k.subscribed_ns) / 1000.0) AS BIGINT), k.idle_us) AS whole_us,
               coalesce(h.broker_us, 0) AS broker_us, coalesce(c.closed_us, 0) AS closed_us,
               CASE WHEN h.parts_us > 0 THEN 1.0 * h.network_us / h.parts_us ELSE 0.0 END AS network_share
        FROM known k LEFT JOIN shared h ON h.stream_id = k.stream_id AND h.subscribe_offset = k.subscribe_offset
        LEFT JOIN closed c ON c.stream_id = k.stream_id AND c.subscribe_offset = k.subscribe_offset
        WHERE k.ack_mode IN ('client', 'client-individual')
    ), parted AS (
        SELECT *, least(closed_us + CAST(floor((whole_us - idle_us) * network_share) AS BIGINT), whole_us) AS waited_us FROM spent
    )
    SELECT t.stream_id, t.subscribe_offset, t.subscription, t.destination, t.destination_name, t.prefetch, t.delivered, t.max_in_flight,
           t.mean_in_flight, t.whole_us, t.idle_us, t.full_us, t.broker_us, t.waited_us, t.limited_since_ns,
           CASE WHEN t.mean_in_flight IS NULL OR t.whole_us <= 0 THEN 'unknown' WHEN 2 * t.waited_us > t.whole_us THEN 'network'
                WHEN 2 * t.full_us > t.whole_us THEN 'prefetch' WHEN 2 * t.broker_us > t.whole_us THEN 'broker'
                WHEN 2 * (t.idle_us - t.broker_us) > t.whole_us THEN 'idle'
                WHEN 2 * (t.whole_us - t.idle_us - coalesce(t.full_us, 0)) > t.whole_us THEN 'consumer' ELSE 'unknown' END AS bounded_by,
           {{session}}, p.source
    FROM parted t LEFT JOIN {{sessions}} s ON s.stream_id = t.stream_id LEFT JOIN {{streams}} p ON p.stream_id = t.stream_id
    """,
)

CONSUMERS = (CONSUMER_STALLS, SUBSCRIPTION_BOUNDS)
