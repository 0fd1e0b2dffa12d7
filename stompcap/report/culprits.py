"""The queries of a report that name culprits: consumers, silent sessions, errors, reconnecting clients, and the evidence behind verdicts.

As those of `stompcap.report.queries`: small answers for any lake, SQL for both engines.
"""

from __future__ import annotations

from stompcap.lake.query import Query
from stompcap.tables.outcomes import ASKING, DIRECT, NOT_SETTLED

STORM = 10
"""Connections of one client to one broker within a minute, from which on they are listed."""
BINS_PER_DECADE = 5  # of the distributions of ack latency
CONSUMERS = 20  # listed
SILENCES = 12  # session directions drawn with their silences
TIME_SLICES = 60  # of the time line of connections

_DIRECT = DIRECT.sql("d")
_WORST = "unsettled DESC, p95_us DESC NULLS LAST, deliveries DESC, stream_id, subscription"
_SLOWEST = "p95_us DESC NULLS LAST, deliveries DESC, stream_id, subscription"


def _consumers(order: str) -> str:
    """The first subscriptions in this order, with the figures of their deliveries."""
    return f"""
        SELECT * FROM (
            SELECT d.stream_id, d.subscription, max(d.destination) AS destination, max(d.ack_mode) AS ack_mode,
                   count(*) AS deliveries, count_if({NOT_SETTLED.sql("d")}) AS unsettled,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY d.ack_latency_us) FILTER (WHERE {_DIRECT}) AS p50_us,
                   percentile_cont(0.95) WITHIN GROUP (ORDER BY d.ack_latency_us) FILTER (WHERE {_DIRECT}) AS p95_us,
                   max(d.ack_latency_us) FILTER (WHERE {_DIRECT}) AS max_us
            FROM deliveries d WHERE {ASKING.sql("d")} GROUP BY d.stream_id, d.subscription) one
        ORDER BY {order} LIMIT {CONSUMERS}"""  # noqa: S608


def _consumers_query(name: str, order: str) -> Query:
    """These subscriptions with their clients and prefetches."""
    return Query(
        name,
        ("deliveries", "subscriptions", "sessions"),
        f"""
        SELECT c.*, u.prefetch, u.max_in_flight, s.client_ip, s.client_port, s.client_product, s.login
        FROM ({_consumers(order)}) c
        LEFT JOIN (SELECT stream_id AS u_stream, subscription AS u_subscription, max(prefetch) AS prefetch,
                          max(max_in_flight) AS max_in_flight
                   FROM subscriptions GROUP BY stream_id, subscription) u
               ON u.u_stream = c.stream_id AND u.u_subscription = c.subscription
        LEFT JOIN (SELECT stream_id AS s_stream, client_ip, client_port, client_product, login FROM sessions) s ON s.s_stream = c.stream_id
        ORDER BY {order} LIMIT {CONSUMERS}""",  # noqa: S608
    )


CULPRITS = (
    _consumers_query("consumers", _WORST),
    _consumers_query("slow_consumers", _SLOWEST),
    Query(
        "consumer_bins",
        ("deliveries",),
        f"""
        WITH c AS ({_consumers(_SLOWEST)})
        SELECT d.stream_id, d.subscription, CAST(floor({BINS_PER_DECADE} * log10(greatest(d.ack_latency_us, 1))) AS INT) AS bin,
               count(*) AS deliveries
        FROM deliveries d JOIN c ON c.stream_id = d.stream_id AND c.subscription IS NOT DISTINCT FROM d.subscription
        WHERE {_DIRECT} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT {CONSUMERS * 100}""",  # noqa: S608
    ),
    Query(
        "silences",
        ("heartbeats", "heartbeat_violations", "sessions", "streams"),
        f"""
        WITH w AS (SELECT stream_id, direction, interval_ms, verdict, cut_off_after_intervals,
                          CAST(max_gap_ms AS DOUBLE) / interval_ms AS ratio
                   FROM heartbeats WHERE verdict IN ('dead', 'violation') AND interval_ms > 0
                   ORDER BY CASE verdict WHEN 'dead' THEN 0 ELSE 1 END, ratio DESC NULLS LAST, stream_id, direction LIMIT {SILENCES}),
             g AS (SELECT v.stream_id, v.direction, v.gap_start_ns, v.gap_end_ns, v.gap_ms, v.severity, v.excused,
                          row_number() OVER (PARTITION BY v.stream_id, v.direction ORDER BY v.gap_ms DESC, v.gap_start_ns) AS nth
                   FROM heartbeat_violations v JOIN w ON w.stream_id = v.stream_id AND w.direction = v.direction)
        SELECT w.*, s.opened_ns, coalesce(s.closed_ns, s.last_ns) AS end_ns, s.end_kind, s.ended_by, s.server_product,
               c.closed_by, g.gap_start_ns, g.gap_end_ns, g.gap_ms, g.severity, g.excused
        FROM w JOIN sessions s ON s.stream_id = w.stream_id LEFT JOIN streams c ON c.stream_id = w.stream_id
        LEFT JOIN g ON g.stream_id = w.stream_id AND g.direction = w.direction AND g.nth <= 30
        ORDER BY CASE w.verdict WHEN 'dead' THEN 0 ELSE 1 END, w.ratio DESC NULLS LAST, w.stream_id, w.direction, g.gap_start_ns
        LIMIT {SILENCES * 30}""",  # noqa: S608
    ),
    Query(
        # numbers in messages differ from session to session; the page puts the lengths of numbers together too
        "errors",
        ("sessions",),
        """
        SELECT substr(translate(error_message, '0123456789', '##########'), 1, 300) AS text, server_product,
               substr(min(error_message), 1, 300) AS example, count(*) AS sessions,
               count(*) FILTER (WHERE outcome = 'refused') AS refused, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns,
               min(stream_id) AS stream_id
        FROM sessions WHERE error_message IS NOT NULL GROUP BY 1, 2 ORDER BY sessions DESC, text, server_product LIMIT 300""",
    ),
    Query(
        "reconnects",
        ("sessions",),
        f"""
        SELECT client_ip, server_ip, server_port, CAST(floor(opened_ns / 60e9) AS BIGINT) AS minute, min(opened_ns) AS first_ns,
               max(opened_ns) AS last_ns, count(*) AS connections, count(*) FILTER (WHERE outcome = 'refused') AS refused,
               count(*) FILTER (WHERE outcome = 'unanswered') AS unanswered, count(DISTINCT login) AS logins, min(login) AS login,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY closed_ns - opened_ns) FILTER (WHERE closed_ns IS NOT NULL) AS lifetime_ns,
               min(stream_id) AS stream_id
        FROM sessions WHERE opened_ns IS NOT NULL
        GROUP BY client_ip, server_ip, server_port, CAST(floor(opened_ns / 60e9) AS BIGINT) HAVING count(*) >= {STORM}
        ORDER BY connections DESC, first_ns, client_ip, server_ip, server_port LIMIT 15""",  # noqa: S608
    ),
    Query(
        "openings",
        ("sessions",),
        f"""
        WITH span AS (SELECT min(opened_ns) AS begin_ns, max(opened_ns) AS end_ns FROM sessions)
        SELECT CAST(floor({TIME_SLICES} * ((opened_ns - begin_ns) / (end_ns - begin_ns + 1.0))) AS INT) AS slice,
               min(begin_ns) AS first_ns, min(end_ns) AS last_ns, count(*) AS sessions,
               count(*) FILTER (WHERE outcome IN ('refused', 'unanswered')) AS failed
        FROM sessions CROSS JOIN span WHERE opened_ns IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT {TIME_SLICES}""",  # noqa: S608
    ),
    Query(
        "evidence",
        ("streams", "sessions", "compliance"),
        """
        SELECT t.source, count(*) AS sessions, count(*) FILTER (WHERE NOT s.complete_start) AS no_start,
               count(*) FILTER (WHERE NOT s.complete_end) AS no_end, count(*) FILTER (WHERE s.gap_octets > 0) AS with_gaps,
               sum(s.gap_octets) AS gap_octets, sum(coalesce(t.octets_c2s, 0) + coalesce(t.octets_s2c, 0)) AS octets,
               sum(CASE WHEN t.clock_steps_back > 0 THEN 1 ELSE 0 END) AS stepped, sum(c.judged) AS judged,
               sum(c.not_evaluable) AS not_evaluable
        FROM sessions s JOIN streams t ON t.stream_id = s.stream_id
        LEFT JOIN (SELECT stream_id, sum(passed + failed) AS judged, sum(not_evaluable) AS not_evaluable
                   FROM compliance GROUP BY stream_id) c ON c.stream_id = s.stream_id
        GROUP BY t.source ORDER BY sessions DESC, t.source LIMIT 15""",
    ),
    Query(
        "session_rules",
        ("compliance_findings",),
        """
        WITH worst AS (SELECT stream_id, count(*) FILTER (WHERE level = 'M') AS musts FROM compliance_findings
                       GROUP BY stream_id ORDER BY musts DESC, stream_id LIMIT 1000)
        SELECT stream_id, rule_id, findings
        FROM (SELECT f.stream_id, f.rule_id, count(*) AS findings,
                     row_number() OVER (PARTITION BY f.stream_id ORDER BY min(CASE f.level WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END),
                                                                          count(*) DESC, f.rule_id) AS nth
              FROM compliance_findings f JOIN worst w ON w.stream_id = f.stream_id GROUP BY f.stream_id, f.rule_id) r
        WHERE nth <= 4 ORDER BY stream_id, nth LIMIT 4000""",
    ),
)
