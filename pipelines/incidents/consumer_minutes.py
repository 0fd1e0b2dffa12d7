"""What each consumer took for a message, minute by minute, and when that was much more than before: SQL that other kinds join.

A minute is compared with the best minute of the day before it, so that a consumer that is slow for hours is not its own measure.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.who import SUBJECT, SUBJECT_KIND
from pipelines.incidents.young_minutes import young_slow
from stompcap.incidents.traffic import REFUSED, REFUSED_SHARE
from stompcap.tables.outcomes import MEASURED

TIMED = f"{MEASURED.sql('d')} AND d.redelivered IS NOT TRUE"
"""Deliveries whose time counts: one that comes again, and goes back, is an incident of its own kind."""

DAY_MINUTES = 1440
LEAST_MESSAGES, LEAST_MINUTES = 5, 2
"""Minutes with fewer messages say nothing, and nor does a past of fewer such minutes."""

SLOWER, SLOWER_US = 4, 50_000
"""A minute is slow if its median is so many times the best one before, and so many microseconds more."""

THAN_USUAL, AT_ONCE, NEAR, NEAR_MINUTES = 3, 10, 5, 2
"""And so many times the usual one; a single minute only if it is `AT_ONCE` times the best, else so many of those that are near."""

MANY_CONNECTIONS, SHORT_S = 3, 120
"""A consumer that had so many connections of so many seconds at most in a minute near is in a loop, and what it takes says nothing."""

AGAIN, AGAIN_SHARE = REFUSED, REFUSED_SHARE
"""So many messages that come again, or transactions that are rolled back, in a minute, and that share of all, are many."""

MINUTE_NS = 60_000_000_000
DAYS = (
    "365 * (year({at}) - 1970) + floor((year({at}) - 1969) / 4.0) - floor((year({at}) - 1901) / 100.0) "
    "+ floor((year({at}) - 1601) / 400.0)"
)
MINUTE_OF = f"CAST(1440 * ({DAYS} + dayofyear({{at}}) - 1) + 60 * hour({{at}}) + minute({{at}}) AS BIGINT)"
"""Minutes since the epoch of a TIMESTAMP in UTC, in the words that DuckDB and Spark share."""
DELIVERED = f"CAST(floor(d.delivered_ns / {MINUTE_NS}.0) AS BIGINT)"
PAST = f"RANGE BETWEEN {DAY_MINUTES} PRECEDING AND 1 PRECEDING"

CONSUMER_MINUTES = f"""
    SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, d.destination_name, s.server_product,
           {DELIVERED} AS minute, count(*) AS messages,
           count(DISTINCT d.stream_id) AS connections,
           count(DISTINCT CASE WHEN s.closed_ns - s.opened_ns <= {SHORT_S}000000000 THEN d.stream_id END) AS short_ones,
           sum(CASE WHEN d.redelivered THEN 1 ELSE 0 END) AS redelivered,
           sum(CASE WHEN {TIMED} THEN 1 ELSE 0 END) AS measured,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE WHEN {TIMED} THEN coalesce(d.service_us, d.ack_latency_us) END)
               AS service_us,
           sum(CASE WHEN {TIMED} THEN coalesce(d.service_us, d.ack_latency_us) ELSE 0 END) AS busy_us,
           min(s.rtt_client_us) AS rtt_us
    FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
    WHERE d.delivered_ns > 0
    GROUP BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, d.destination_name, {DELIVERED}"""

REDELIVERING = f"""
    SELECT source, destination_name, minute FROM consumer_minutes
    WHERE redelivered >= {AGAIN} AND redelivered >= {AGAIN_SHARE} * messages"""

CONSUMER_PAST = f"""
    SELECT *, min(CASE WHEN measured >= {LEAST_MESSAGES} THEN service_us END) OVER past AS best_us,
           count(CASE WHEN measured >= {LEAST_MESSAGES} THEN 1 END) OVER past AS past_minutes,
           max(short_ones) OVER (PARTITION BY source, subject_kind, subject, server_product, destination_name ORDER BY minute
                                  RANGE BETWEEN {NEAR} PRECEDING AND {NEAR} FOLLOWING) AS most_connections
    FROM consumer_minutes
    WINDOW past AS (PARTITION BY source, subject_kind, subject, server_product, destination_name ORDER BY minute {PAST})"""

YOUNG_SLOW = young_slow(TIMED, MANY_CONNECTIONS, SLOWER, SLOWER_US, THAN_USUAL, AT_ONCE)

_BY_MINUTE = f"""
    SELECT *, coalesce(slower AND service_us >= {THAN_USUAL} * usual_us AND (service_us >= {AT_ONCE} * best_us
                       OR sum(CASE WHEN slower AND service_us >= {THAN_USUAL} * usual_us THEN 1 ELSE 0 END) OVER near >= {NEAR_MINUTES}),
                       false) AS slow
    FROM (SELECT *, avg(CASE WHEN NOT slower AND measured >= {LEAST_MESSAGES} THEN service_us END) OVER past AS usual_us FROM (
        SELECT *, coalesce(past_minutes >= {LEAST_MINUTES} AND measured >= {LEAST_MESSAGES} AND most_connections < {MANY_CONNECTIONS}
                           AND service_us >= {SLOWER} * best_us AND service_us - best_us >= {SLOWER_US}, false) AS slower
        FROM consumer_past) judged
        WINDOW past AS (PARTITION BY source, subject_kind, subject, server_product, destination_name ORDER BY minute {PAST})) compared
    WINDOW near AS (PARTITION BY source, subject_kind, subject, server_product, destination_name ORDER BY minute
                    RANGE BETWEEN {NEAR} PRECEDING AND {NEAR} FOLLOWING)"""

_SAME_CONSUMER = """{one}.source = m.source AND {one}.subject_kind = m.subject_kind AND {one}.subject = m.subject
         AND {one}.server_product IS NOT DISTINCT FROM m.server_product
         AND {one}.destination_name IS NOT DISTINCT FROM m.destination_name"""
AT_FIRST = f"""
    SELECT m.* REPLACE (m.slow OR y.usual_us IS NOT NULL AS slow, coalesce(y.usual_us, m.usual_us) AS usual_us,
                        coalesce(y.best_us, m.best_us) AS best_us, coalesce(y.service_us, m.service_us) AS service_us)
    FROM ({_BY_MINUTE}) m LEFT JOIN young_slow y ON y.minute = m.minute AND {_SAME_CONSUMER.format(one="y")}"""
"""Minutes of consumers: `slow`, and `usual_us`, the mean of the medians of the minutes before that were not; of a consumer's first minutes
those of the slots before."""

_AS_SLOW = f"""{_SAME_CONSUMER.format(one="r")}
         AND m.minute > r.minute AND m.minute <= r.minute + {DAY_MINUTES} AND m.measured >= {LEAST_MESSAGES}
         AND m.most_connections < {MANY_CONNECTIONS} AND m.service_us >= {SLOWER} * r.best_us AND m.service_us - r.best_us >= {SLOWER_US}
         AND m.service_us >= {THAN_USUAL} * r.usual_us"""

STILL_SLOW = f"""
    WITH RECURSIVE later AS (
        SELECT source, subject_kind, subject, server_product, destination_name, minute, best_us, usual_us FROM (
            SELECT *, lead(minute) OVER (PARTITION BY source, subject_kind, subject, server_product, destination_name ORDER BY minute)
                      AS next_minute FROM at_first WHERE slow) known
        WHERE next_minute IS NULL OR next_minute > minute + {NEAR}
        UNION
        SELECT r.source, r.subject_kind, r.subject, r.server_product, r.destination_name, max(m.minute), r.best_us, r.usual_us
        FROM later r JOIN consumer_past m ON {_AS_SLOW}
        GROUP BY r.source, r.subject_kind, r.subject, r.server_product, r.destination_name, r.minute, r.best_us, r.usual_us)
    SELECT * FROM later"""
"""The last minutes of consumers that are slow, and what was best before; then the last within a day that is as slow against that, and so
on: one that is slow for days is measured by what it took before."""

SLOW_MINUTES = f"""
    SELECT f.* REPLACE (f.slow OR m.usual_us IS NOT NULL AS slow,
                        CASE WHEN f.slow OR m.usual_us IS NULL THEN f.usual_us ELSE m.usual_us END AS usual_us)
    FROM at_first f LEFT JOIN (
        SELECT m.source, m.subject_kind, m.subject, m.server_product, m.destination_name, m.minute, min(r.usual_us) AS usual_us
        FROM still_slow r JOIN consumer_past m ON {_AS_SLOW}
        GROUP BY m.source, m.subject_kind, m.subject, m.server_product, m.destination_name, m.minute) m
    ON f.minute = m.minute AND {_SAME_CONSUMER.format(one="f")}"""
"""All minutes, with those that are slow for longer than a day."""

BY_MINUTE = f"""
    SELECT source, destination_name, sends, messages, redeliveries, backlog_change, consumers, residence_p50_us, residence_p95_us,
           receipt_p95_us, {MINUTE_OF.format(at="minute_ts")} AS minute,
           coalesce(server_product, max(server_product) OVER (PARTITION BY source, destination_name)) AS server_product
    FROM destination_minutes"""
"""Table destination_minutes with minutes since the epoch, which are told once: what a calendar says is dear. Rows of
connections whose broker is not known are of the one that the destination is otherwise seen at."""

CTES = {"by_minute": BY_MINUTE, "consumer_minutes": CONSUMER_MINUTES, "redelivering": REDELIVERING, "consumer_past": CONSUMER_PAST,
        "young_slow": YOUNG_SLOW, "at_first": AT_FIRST, "still_slow": STILL_SLOW, "slow_minutes": SLOW_MINUTES}  # fmt: skip
