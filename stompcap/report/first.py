"""The queries of the first screen: incidents, what came and went at each destination over time, and who it was."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.query import Query
from stompcap.tables.incidents import ORDER
from stompcap.tables.outcomes import NOT_SETTLED

DRAWN = 12
"""Destinations in the time line: those of incidents, then the busiest."""

INCIDENTS_FIRST, INCIDENTS_SHOWN = 200, 5000
"""Incidents of the first screen, and of the whole page, at whose end the others are."""

LOGINS = 1000

_LOGIN = "CASE WHEN s.login LIKE '%***%' THEN NULL ELSE nullif(s.login, '') END"
WHO = f"coalesce({_LOGIN}, nullif(s.client_id, ''), nullif(s.user_agent, ''), s.client_ip, '')"
"""The first name that a client has, as in `incidents.subject`; a masked login is none."""

_SLICE = """
    CASE WHEN span.last_ts - span.first_ts > INTERVAL '15' DAY THEN date_trunc('day', m.minute_ts)
         WHEN span.last_ts - span.first_ts > INTERVAL '60' HOUR THEN date_trunc('hour', m.minute_ts)
         WHEN span.last_ts - span.first_ts > INTERVAL '6' HOUR
             THEN date_trunc('hour', m.minute_ts) + INTERVAL '10' MINUTE * CAST(floor(extract(MINUTE FROM m.minute_ts) / 10) AS INT)
         ELSE m.minute_ts END"""

FIRST = (
    Query("incidents", ("incidents",), f"SELECT * FROM incidents ORDER BY {ORDER} LIMIT {INCIDENTS_SHOWN}"),
    Query("incident_levels", ("incidents",), "SELECT level, count(*) AS number FROM incidents GROUP BY level ORDER BY level LIMIT 3"),
    Query(
        # slices of a minute up to 6 hours, of ten minutes up to 60 hours, of an hour up to 15 days, else of a day
        "minutes",
        ("destination_minutes", "incidents"),
        f"""
        WITH named AS (SELECT m.destination_name, max(CASE WHEN i.destination_name IS NULL THEN 0 ELSE 1 END) AS hurt,
                              sum(m.sends + m.messages) AS busy
                       FROM destination_minutes m
                       LEFT JOIN (SELECT DISTINCT destination_name FROM incidents WHERE level <> 'note') i
                              ON i.destination_name = m.destination_name
                       WHERE m.destination_name IS NOT NULL GROUP BY m.destination_name
                       ORDER BY hurt DESC, busy DESC, m.destination_name LIMIT {DRAWN}),
             span AS (SELECT min(minute_ts) AS first_ts, max(minute_ts) AS last_ts FROM destination_minutes)
        SELECT m.destination_name, {_SLICE} AS slice_ts, max(named.hurt) AS hurt, max(named.busy) AS busy, sum(m.sends) AS sends,
               sum(m.messages) AS messages, sum(m.backlog_change) AS backlog_change, max(m.residence_p95_us) AS residence_us,
               max(m.ack_p95_us) AS ack_us, max(CASE WHEN m.backlog_incomplete THEN 1 ELSE 0 END) AS incomplete
        FROM destination_minutes m JOIN named ON named.destination_name = m.destination_name CROSS JOIN span
        GROUP BY 1, 2 ORDER BY max(named.hurt) DESC, max(named.busy) DESC, 1, 2 LIMIT 10000""",
    ),
    Query("destinations_total", ("destination_minutes",),
          "SELECT count(DISTINCT destination_name) AS destinations FROM destination_minutes"),
    Query(
        "who",
        ("sessions", "deliveries", "sends", "compliance_findings"),
        f"""
        SELECT * FROM (
        SELECT {WHO} AS who, count(*) AS connections, count_if(s.outcome IN ('refused', 'unanswered')) AS refused,
               count(s.error_message) AS errors, sum(coalesce(p.sent, 0)) AS sent, sum(coalesce(d.delivered, 0)) AS delivered,
               sum(coalesce(d.unsettled, 0)) AS unsettled, sum(coalesce(d.redelivered, 0)) AS redelivered,
               max(d.slowest_us) AS slowest_us, sum(coalesce(f.must, 0)) AS must, min(s.opened_ns) AS first_ns, max(s.last_ns) AS last_ns,
               min(s.stream_id) AS stream_id
        FROM sessions s
        LEFT JOIN (SELECT stream_id, count(*) AS delivered, count_if({NOT_SETTLED.sql()}) AS unsettled,
                          count_if(redelivered) AS redelivered, max(ack_latency_us) AS slowest_us
                   FROM deliveries GROUP BY stream_id) d ON d.stream_id = s.stream_id
        LEFT JOIN (SELECT stream_id, count(*) AS sent FROM sends GROUP BY stream_id) p ON p.stream_id = s.stream_id
        LEFT JOIN (SELECT stream_id, count(*) AS must FROM compliance_findings WHERE level = 'M' AND side = 'client' GROUP BY stream_id) f
               ON f.stream_id = s.stream_id
        GROUP BY 1) named
        ORDER BY unsettled + refused DESC, must DESC, delivered + sent DESC, who LIMIT {LOGINS}""",
    ),
    Query("who_total", ("sessions",), f"SELECT count(DISTINCT {WHO}) AS names FROM sessions s"),
)
