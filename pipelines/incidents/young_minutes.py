"""The first minutes of a consumer, ten seconds at a time: there are no whole minutes yet to compare with.

A capture of a minute or two has no others. A slot of ten seconds is compared with those of the ten minutes before it, much as minutes
are with the day before.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.who import SUBJECT, SUBJECT_KIND

SLOT_NS, SLOTS_OF_PAST = 10_000_000_000, 60

YOUNG, LEAST_OF_SLOT, LEAST_SLOTS = 3, 2, 2
"""Minutes with fewer than `YOUNG` before them are compared by slots; slots with fewer messages, or fewer slots before, say nothing."""

NEAR_SLOTS, SLOW_SLOTS, SLOW_AT_ONCE = 3, 3, 2
"""A slot is slow if so many of those near are; fewer if it takes many times as long as the best one."""


def young_slow(timed: str, many: int, slower: int, slower_us: int, than_usual: int, at_once: int) -> str:
    """Minutes of consumers that are slow by their slots, with the medians of these, and what was best and usual before.

    A delivery is of the slot in which it was settled: brokers may hand out a hundred at once.
    """
    consumer = "source, subject_kind, subject, server_product, destination_name"
    much = f"slower AND service_us >= {than_usual} * usual_us"
    return f"""
    SELECT {consumer}, CAST(floor(slot / {60_000_000_000 // SLOT_NS}.0) AS BIGINT) AS minute, avg(service_us) AS service_us,
           min(usual_us) AS usual_us, min(best_us) AS best_us
    FROM (
        SELECT *, {much} AND sum(CASE WHEN {much} THEN 1 ELSE 0 END) OVER near
                  >= CASE WHEN service_us >= {at_once} * best_us THEN {SLOW_AT_ONCE} ELSE {SLOW_SLOTS} END AS slow
        FROM (SELECT *, avg(CASE WHEN NOT slower THEN service_us END) OVER past AS usual_us FROM (
            SELECT *, min(service_us) OVER past AS best_us, count(*) OVER past >= {LEAST_SLOTS}
                      AND service_us >= {slower} * min(service_us) OVER past
                      AND service_us - min(service_us) OVER past >= {slower_us} AS slower
            FROM (
                SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product, d.destination_name,
                       CAST(floor(d.settled_ns / {SLOT_NS}.0) AS BIGINT) AS slot,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY coalesce(d.service_us, d.ack_latency_us)) AS service_us
                FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
                JOIN consumer_past m ON m.source = s.source AND m.subject_kind = {SUBJECT_KIND} AND m.subject = {SUBJECT}
                     AND m.minute = CAST(floor(d.settled_ns / 6e10) AS BIGINT)
                     AND m.destination_name IS NOT DISTINCT FROM d.destination_name
                     AND m.server_product IS NOT DISTINCT FROM s.server_product
                WHERE d.settled_ns > 0 AND {timed} AND m.past_minutes < {YOUNG} AND m.most_connections < {many}
                GROUP BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, d.destination_name,
                         CAST(floor(d.settled_ns / {SLOT_NS}.0) AS BIGINT)
                HAVING count(*) >= {LEAST_OF_SLOT}) slots
            WINDOW past AS (PARTITION BY {consumer} ORDER BY slot RANGE BETWEEN {SLOTS_OF_PAST} PRECEDING AND 1 PRECEDING)) judged
            WINDOW past AS (PARTITION BY {consumer} ORDER BY slot RANGE BETWEEN {SLOTS_OF_PAST} PRECEDING AND 1 PRECEDING)) compared
        WINDOW near AS (PARTITION BY {consumer} ORDER BY slot RANGE BETWEEN {NEAR_SLOTS} PRECEDING AND {NEAR_SLOTS} FOLLOWING)) slots
    WHERE slow GROUP BY {consumer}, CAST(floor(slot / {60_000_000_000 // SLOT_NS}.0) AS BIGINT)"""


MORE_AT_ONCE, LEAST_SENDS = 20, 3
"""A slot of a destination is faster with so many SENDs or more; its backlog grows by that many at least."""


def young_faster(more: int, growth_share: float) -> str:
    """Minutes of destinations that are sent much more to than in the slots before, while their backlog grows; rates are those of a minute.

    `destination_past` has no five minutes to compare these with. The first slot of a destination is not whole.
    """
    key, per_minute = "source, destination_name, server_product", 60_000_000_000 // SLOT_NS
    slot = f"CAST(floor({{}} / {SLOT_NS}.0) AS BIGINT)"
    past = f"past AS (PARTITION BY {key} ORDER BY slot RANGE BETWEEN {SLOTS_OF_PAST} PRECEDING AND 1 PRECEDING)"
    return f"""
    SELECT {key}, CAST(floor(slot / {per_minute}.0) AS BIGINT) AS minute, CAST(avg(sends) * {per_minute} AS BIGINT) AS sends,
           min(usual) * {per_minute} AS usual
    FROM (
        SELECT *, faster AND sum(CASE WHEN faster THEN 1 ELSE 0 END) OVER near >= {SLOW_SLOTS} AS lasts FROM (
            SELECT *, coalesce(whole >= {LEAST_SLOTS} AND sends >= greatest({more} * usual, {MORE_AT_ONCE})
                               AND sends - delivered >= greatest({LEAST_SENDS}, {growth_share} * sends), false) AS faster
            FROM (
                SELECT *, avg(CASE WHEN slot > first_slot THEN sends END) OVER past AS usual,
                       count(CASE WHEN slot > first_slot THEN sends END) OVER past AS whole
                FROM (
                    SELECT m.source, m.destination_name, m.server_product, t.slot, sum(t.sends) AS sends, sum(t.delivered) AS delivered,
                           min(t.slot) OVER (PARTITION BY m.source, m.destination_name, m.server_product) AS first_slot
                    FROM (
                        SELECT s.source, x.destination_name, {slot.format("x.sent_ns")} AS slot, count(*) AS sends, 0 AS delivered
                        FROM sends x JOIN clients s ON s.stream_id = x.stream_id
                        WHERE x.sent_ns > 0 AND s.error_message IS NULL
                        GROUP BY s.source, x.destination_name, {slot.format("x.sent_ns")}
                        UNION ALL
                        SELECT p.source, d.destination_name, {slot.format("d.delivered_ns")}, 0, count(*)
                        FROM deliveries d JOIN streams p ON p.stream_id = d.stream_id
                        WHERE d.delivered_ns > 0 AND d.redelivered IS NOT TRUE
                        GROUP BY p.source, d.destination_name, {slot.format("d.delivered_ns")}) t
                    JOIN destination_past m ON m.source = t.source AND m.destination_name = t.destination_name
                         AND m.minute = CAST(floor(t.slot / {per_minute}.0) AS BIGINT) AND m.fives = 0
                    GROUP BY m.source, m.destination_name, m.server_product, t.slot) slots
                WINDOW {past}) compared) judged
        WINDOW near AS (PARTITION BY {key} ORDER BY slot RANGE BETWEEN {NEAR_SLOTS} PRECEDING AND {NEAR_SLOTS} FOLLOWING)) slots
    WHERE lasts GROUP BY {key}, CAST(floor(slot / {per_minute}.0) AS BIGINT)"""
