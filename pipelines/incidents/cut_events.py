"""Events of several clients that lose their connections together while others keep theirs: a balancer, a switch or a firewall between.

A connection is lost when it is closed without a reason that is known, or when its client fell silent for good although heart-beats were
agreed on. What is said of them together (relation `cuts`) is not said of each again.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import NO_TEXT, SECOND_NS
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND

CUT_CLIENTS, CUT_SHARE, CUT_LIVED_S = 3, 0.1, 30
"""So many clients, and that share of the connections that the broker has, each so many seconds old, were cut together."""

CLOSED_WITHIN_S, SILENT_WITHIN_S = 1, 10
"""They were closed one after the other within so many seconds, or fell silent within so many: beats are that far apart."""

CUT_CAUSES = "'unknown', 'reset', 'vanished', 'heartbeat_client', 'heartbeat_server'"
"""Causes of a close for which something between may be the reason."""

NAMES = 4  # clients that a sentence names

_ASKS_S = "CAST(nullif(regexp_extract(s.cause_evidence, 'for ([0-9.]+) s the', 1), '') AS DOUBLE)"

LOST_TOGETHER = f"""
    SELECT *, sum(CASE WHEN before_ns IS NULL OR lost_ns - before_ns > within_ns THEN 1 ELSE 0 END)
              OVER (PARTITION BY source, broker, how ORDER BY lost_ns, stream_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
              AS together
    FROM (
        SELECT *, lag(lost_ns) OVER (PARTITION BY source, broker, how ORDER BY lost_ns, stream_id) AS before_ns,
               CASE WHEN how = 'silent' THEN {SILENT_WITHIN_S * SECOND_NS} ELSE {CLOSED_WITHIN_S * SECOND_NS} END AS within_ns
        FROM (
            SELECT s.source, {BROKER} AS broker, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.client_ip, s.server_product,
                   s.stream_id, s.closed_ns,
                   CASE WHEN g.silent_ns IS NOT NULL OR s.cause = 'vanished' THEN 'silent' ELSE 'closed' END AS how,
                   CAST(coalesce(g.silent_ns, s.closed_ns, s.last_ns - {_ASKS_S} * 1e9) AS BIGINT) AS lost_ns
            FROM ends s
            LEFT JOIN (SELECT v.stream_id, max(v.gap_start_ns) AS silent_ns FROM heartbeat_violations v
                       JOIN clients e ON e.stream_id = v.stream_id
                       WHERE v.direction = 'c2s' AND v.severity = 'dead' AND v.gap_end_ns >= e.closed_ns - {5 * SECOND_NS}
                       GROUP BY v.stream_id) g
            ON g.stream_id = s.stream_id
            WHERE s.outcome = 'connected' AND s.cause IN ({CUT_CAUSES})
              AND s.error_message IS NULL AND coalesce(s.closed_ns, s.last_ns) - s.opened_ns >= {CUT_LIVED_S * SECOND_NS}) lost
        WHERE lost_ns IS NOT NULL) lined"""

CUTS = f"""
    SELECT l.*, c.begin_ns, c.number, c.addresses, c.names, c.open FROM lost_together l JOIN (
        SELECT g.source, g.broker, g.how, g.together, g.begin_ns, g.number, g.clients, g.addresses, g.names, count(*) AS open
        FROM (
            SELECT source, broker, how, together, min(lost_ns) AS begin_ns, count(*) AS number, count(DISTINCT subject) AS clients,
                   CASE WHEN min(client_ip) = max(client_ip) THEN min(client_ip) END AS addresses,
                   array_to_string(list_sort(list_distinct(list(subject)))[1:{NAMES}], ', ') AS names
            FROM lost_together GROUP BY source, broker, how, together HAVING count(DISTINCT subject) >= {CUT_CLIENTS}) g
        JOIN clients s ON s.source = g.source AND {BROKER} = g.broker AND s.outcome = 'connected' AND s.opened_ns <= g.begin_ns
             AND coalesce(s.closed_ns, s.last_ns) >= g.begin_ns
        GROUP BY g.source, g.broker, g.how, g.together, g.begin_ns, g.number, g.clients, g.addresses, g.names
        HAVING g.number >= {CUT_SHARE} * count(*)) c
    ON c.source = l.source AND c.broker = l.broker AND c.how = l.how AND c.together = l.together"""
"""Connections that were lost together, with how many they are, of how many that were open, and whose."""

CUT_TOGETHER = f"""
    SELECT l.source, CASE WHEN l.addresses IS NOT NULL THEN 'network' ELSE 'broker' END AS subject_kind,
           coalesce(l.addresses, l.broker) AS subject, l.server_product, concat(l.how, ' ', l.broker) AS what,
           concat(CAST(l.number AS STRING), ' of ', CAST(l.open AS STRING), ' connections (', l.names,
                  CASE WHEN l.number > {NAMES} THEN ', …' ELSE '' END, ')') AS text,
           l.begin_ns, min(n.opened_ns) AS end_ns, coalesce(max(d.unsettled), 0) AS messages, CAST(l.open AS DOUBLE) AS amount, l.stream_id,
           {NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset
    FROM cuts l
    LEFT JOIN (SELECT s.source, {SUBJECT} AS subject, s.opened_ns FROM clients s
               WHERE s.outcome = 'connected') n
    ON n.source = l.source AND n.subject = l.subject AND n.opened_ns > l.lost_ns
    LEFT JOIN (SELECT stream_id, sum(unsettled) AS unsettled FROM subscriptions GROUP BY stream_id) d ON d.stream_id = l.stream_id
    GROUP BY l.source, l.addresses, l.broker, l.server_product, l.how, l.number, l.open, l.names, l.begin_ns, l.stream_id"""
"""One event a connection; it ends when its client is back."""

CTES = {"lost_together": LOST_TOGETHER, "cuts": CUTS}
