"""Events of one connection of a login that has several at a destination: it takes much longer for a message than the others.

What one of many takes hardly changes what all of them take, so each minute of a connection is compared with the best of the others. Where
one of them is as fast as ever, it is not the login that is slow.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import (
    DELIVERED,
    LEAST_MESSAGES,
    MINUTE_NS,
    NEAR,
    NEAR_MINUTES,
    SHORT_S,
    SLOWER,
    SLOWER_US,
    TIMED,
)
from pipelines.incidents.who import SUBJECT, SUBJECT_KIND

LEAST_OF_ONE = 2
"""Minutes of a connection with fewer messages say nothing: one that is very slow has few."""

_CONSUMER = "source, subject_kind, subject, server_product, destination_name"
_OF_MINUTE = f"PARTITION BY {_CONSUMER}, minute"

INSTANCE_MINUTES = f"""
    SELECT m.source, m.subject_kind, m.subject, m.server_product, m.destination_name, m.minute, d.stream_id, min(s.client_ip) AS client_ip,
           min(s.client_port) AS client_port, count(*) AS measured, min(d.delivered_ns) AS first_ns,
           max(coalesce(d.settled_ns, d.delivered_ns)) AS last_ns, min(d.stream_offset) AS stream_offset,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY coalesce(d.service_us, d.ack_latency_us)) AS service_us
    FROM deliveries d JOIN clients s ON s.stream_id = d.stream_id
    JOIN (SELECT * FROM slow_minutes WHERE connections > 1 AND measured >= {LEAST_MESSAGES}) m
    ON m.source = s.source AND m.subject_kind = {SUBJECT_KIND} AND m.subject = {SUBJECT} AND m.minute = {DELIVERED}
       AND m.destination_name IS NOT DISTINCT FROM d.destination_name AND m.server_product IS NOT DISTINCT FROM s.server_product
    WHERE d.delivered_ns > 0 AND {TIMED} AND (s.closed_ns IS NULL OR s.closed_ns - s.opened_ns > {SHORT_S}000000000)
    GROUP BY m.source, m.subject_kind, m.subject, m.server_product, m.destination_name, m.minute, d.stream_id"""

INSTANCES = f"""
    SELECT * FROM (
        SELECT *, count(*) OVER (PARTITION BY {_CONSUMER}, stream_id ORDER BY minute
                                 RANGE BETWEEN {NEAR} PRECEDING AND {NEAR} FOLLOWING) AS near
        FROM (
            SELECT *, min(CASE WHEN measured >= {LEAST_MESSAGES} THEN service_us END) OVER ({_OF_MINUTE}) AS best_us,
                   count(*) OVER ({_OF_MINUTE}) AS instances, count(*) OVER ({_OF_MINUTE}, client_ip) AS of_address
            FROM instance_minutes) compared
        WHERE measured >= {LEAST_OF_ONE} AND service_us >= {SLOWER} * best_us AND service_us - best_us >= {SLOWER_US}) slower
    WHERE near >= {NEAR_MINUTES}"""
"""Minutes in which a connection is slow and the best of the others is not."""

_NAME = "concat(i.client_ip, CASE WHEN i.of_address > 1 THEN concat(':', CAST(i.client_port AS STRING)) ELSE '' END)"

SLOW_INSTANCE = f"""
    SELECT i.source, i.subject_kind, i.subject, i.server_product,
           concat(i.destination_name, ' ', {_NAME}) AS what, concat({_NAME}, ', one of ', CAST(i.instances AS STRING)) AS text,
           min(CASE WHEN coalesce(d.service_us, d.ack_latency_us) >= 0.5 * i.service_us THEN d.delivered_ns END) AS begin_ns,
           i.last_ns AS end_ns, i.measured AS messages, i.service_us / 1e6 AS amount, i.stream_id, 's2c' AS direction,
           min(CASE WHEN coalesce(d.service_us, d.ack_latency_us) >= 0.5 * i.service_us THEN d.stream_offset END) AS stream_offset,
           i.destination_name, i.best_us / 1e6 AS before, CAST(max(t.backlog_change) AS DOUBLE) AS backlog,
           max(t.residence_p95_us) / 1e6 AS late_s
    FROM instances i JOIN deliveries d ON d.stream_id = i.stream_id AND d.destination_name IS NOT DISTINCT FROM i.destination_name
         AND floor(d.delivered_ns / {MINUTE_NS}.0) = i.minute
    LEFT JOIN by_minute t ON t.source = i.source AND t.destination_name = i.destination_name
         AND t.server_product IS NOT DISTINCT FROM i.server_product AND t.minute = i.minute
    GROUP BY i.source, i.subject_kind, i.subject, i.server_product, i.destination_name, i.minute, i.stream_id, i.client_ip, i.client_port,
             i.of_address, i.instances, i.last_ns, i.measured, i.service_us, i.best_us"""
"""The same as events, each from the first message that took so long, with what its destination suffered."""

CTES = {"instance_minutes": INSTANCE_MINUTES, "instances": INSTANCES}
