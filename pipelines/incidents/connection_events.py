"""Events of connections that do not come about or do not last: refusals, resets of SYN, loops, storms, ERRORs.

`s` stands for a session with the name of its client (relations `clients` and `ends`), `p` for a row of streams.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import SHORT_S
from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, OF_TRAFFIC, SECOND_NS, alike, error_text, many
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND
from stompcap.incidents.facts import OFTEN
from stompcap.options import STOMP_PORTS
from stompcap.tables.outcomes import NOT_SETTLED

EQUAL, EQUAL_WITHIN_S = OFTEN, 600
"""So many unanswered CONNECTs or resets of one client within so many seconds are an incident; of refusals and ERRORs fewer are a note."""

LOOPS, LOOP_WITHIN_S = 5, 600
"""So many connections of a client, none of which lives longer than `SHORT_S` or ends as it should, are a loop."""

STORM, STORM_TIMES, STORM_PAST_MINUTES, STORM_LEAST_MINUTES = 60, 10, 60, 2
"""So many connections of a client in a minute, and so many times the mean of the hour before (of two minutes or more), are a storm."""

AFTER_STOP_S = 300
"""Within so many seconds behind a stop of the broker many connections are no storm."""

OWN_KINDS = "'refused', 'disconnect', 'capture_end', 'error', 'heartbeat_client', 'heartbeat_server', 'idle_cut', 'broker_stop'"
"""Causes of a close that are no loop's: it was wanted, or is an incident of its own kind."""

_PORTS = ", ".join(map(str, sorted(STOMP_PORTS)))
_ENDED = "coalesce(s.closed_ns, s.last_ns, s.opened_ns)"
_OF_SESSION = f"s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product"
_SESSIONS = "FROM clients s"
_ENDS = "FROM ends s"
_TEXT = error_text()

REFUSED = f"""
    SELECT s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, k.server_product,
           concat({BROKER}, ' ', {alike(_TEXT)}) AS what, {_TEXT} AS text, s.opened_ns AS begin_ns, {_ENDED} AS end_ns,
           0 AS messages, {NO_NUMBER} AS amount, s.stream_id, 's2c' AS direction, 0 AS stream_offset
    {_SESSIONS} JOIN brokers k ON k.source = s.source AND k.broker = {BROKER} WHERE s.outcome = 'refused' AND s.opened_ns IS NOT NULL"""
"""CONNECTs answered with an ERROR, by the broker that answers."""

_NAMES = 4  # clients that a sentence names
_TEN_MINUTES = f"CAST(floor(s.opened_ns / {EQUAL_WITHIN_S * SECOND_NS}.0) AS BIGINT)"
_UNANSWERED = f"{_SESSIONS} WHERE s.outcome = 'unanswered' AND s.gap_octets = 0 AND s.closed_ns IS NOT NULL"
UNANSWERED = many(f"""
    SELECT {_OF_SESSION}, 'unanswered' AS what, {NO_TEXT} AS text, s.opened_ns AS begin_ns, {_ENDED} AS end_ns, 0 AS messages,
           ({_ENDED} - s.opened_ns) / 1e9 AS amount, s.stream_id, 'c2s' AS direction, 0 AS stream_offset
    {_UNANSWERED} AND s.closed_by IS DISTINCT FROM 'server'
    UNION ALL
    SELECT s.source, 'broker' AS subject_kind, {BROKER} AS subject, k.server_product, 'closed' AS what, n.names AS text,
           s.opened_ns AS begin_ns, {_ENDED} AS end_ns, 0 AS messages, CAST(n.clients AS DOUBLE) AS amount, s.stream_id, 'c2s' AS direction,
           0 AS stream_offset
    FROM clients s
    JOIN (SELECT s.source, {BROKER} AS broker, {_TEN_MINUTES} AS minutes, count(DISTINCT {SUBJECT}) AS clients,
                 array_to_string(list_sort(list(DISTINCT {SUBJECT}))[1:{_NAMES}], ', ') AS names
          {_UNANSWERED} AND s.closed_by = 'server' GROUP BY s.source, {BROKER}, {_TEN_MINUTES}) n
    ON n.source = s.source AND n.broker = {BROKER} AND n.minutes = {_TEN_MINUTES}
    JOIN brokers k ON k.source = s.source AND k.broker = {BROKER}
    WHERE s.outcome = 'unanswered' AND s.gap_octets = 0 AND s.closed_ns IS NOT NULL AND s.closed_by = 'server'""",
    EQUAL, EQUAL_WITHIN_S)  # fmt: skip
"""CONNECTs without an answer up to the close, no byte being missing: given up by the client, or closed by the broker, whoever it is that
comes: it has as many connections as it may have, or cannot ask who the client is."""

CONNECT_REFUSED = many(f"""
    SELECT p.source, 'client' AS subject_kind, p.client_ip AS subject, {NO_TEXT} AS server_product,
           concat(p.server_ip, ':', CAST(p.server_port AS STRING)) AS what, k.login AS text, p.first_ns AS begin_ns, p.last_ns AS end_ns,
           0 AS messages, {NO_NUMBER} AS amount, p.stream_id, {NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset
    FROM streams p LEFT JOIN (
        SELECT s.source, s.client_ip, s.server_port, CASE WHEN min({SUBJECT}) = max({SUBJECT}) THEN min({SUBJECT}) END AS login
        FROM clients s WHERE {SUBJECT_KIND} = 'login'
        GROUP BY s.source, s.client_ip, s.server_port
    ) k ON k.source = p.source AND k.client_ip = p.client_ip AND k.server_port = p.server_port
    WHERE p.syn_seen AND p.synack_seen IS NOT TRUE AND p.close_kind = 'rst' AND p.closed_by = 'server'
      AND p.octets_c2s = 0 AND p.octets_s2c = 0
      AND (p.server_port IN ({_PORTS}) OR p.server_port IN (SELECT server_port FROM clients))
      AND NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = p.source AND o.server_ip = p.server_ip AND p.first_ns >= o.begin_ns
                      AND (o.end_ns IS NULL OR p.first_ns < o.end_ns))""", EQUAL, EQUAL_WITHIN_S)  # fmt: skip
"""TCP connections refused by a RST, outside the times in which the broker is known to be stopped; `text` is the login, if the address has
one alone."""

_SHORT = f"""
    SELECT {_OF_SESSION}, concat(s.server_ip, ':', CAST(s.server_port AS STRING)) AS what, s.ended_by, s.closed_ns,
           (s.closed_ns - s.opened_ns) / 1e9 AS lifetime_s, s.stream_id
    {_ENDS} WHERE s.outcome = 'connected' AND s.cause NOT IN ({OWN_KINDS}) AND s.closed_ns - s.opened_ns <= {SHORT_S * SECOND_NS}
      AND s.error_message IS NULL AND s.stream_id NOT IN (SELECT stream_id FROM idles)
      AND (s.cause NOT IN ('unknown', 'websocket_close') OR s.ended_by = 'server'
           OR s.stream_id IN (SELECT stream_id FROM subscriptions))"""
_ONE = "CASE WHEN min({0}) = max({0}) THEN min({0}) END"
_HELD = f"""
    SELECT d.stream_id, count(*) AS unsettled, CAST(min_by(d.body_hash, d.stream_offset) AS BIGINT) AS first_hash,
           min_by(d.destination_name, d.stream_offset) AS destination_name
    FROM deliveries d JOIN short b ON b.stream_id = d.stream_id WHERE {NOT_SETTLED.sql()} GROUP BY d.stream_id"""
RECONNECT_LOOP = many(f"""
    SELECT source, subject_kind, subject, min(server_product) AS server_product, min(what) AS what,
           min(CASE WHEN ended_by = 'server' THEN 'server' ELSE 'client' END) AS text, min(closed_ns) AS begin_ns,
           max(closed_ns) AS end_ns, CAST(sum(unsettled) AS BIGINT) AS messages, avg(lifetime_s) AS amount, min(stream_id) AS stream_id,
           {NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset, {_ONE.format("destination_name")} AS destination_name,
           CAST(min(same) AS DOUBLE) AS before, {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
    FROM (
        SELECT b.*, coalesce(h.unsettled, 0) AS unsettled, coalesce(u.destination_name, x.destination_name) AS destination_name,
               CASE WHEN b.closed_ns - lag(b.closed_ns) OVER earlier <= {LOOP_WITHIN_S * SECOND_NS}
                    THEN CASE WHEN h.first_hash = lag(h.first_hash) OVER earlier AND (h.first_hash, h.destination_name) NOT IN (
                                  SELECT body_hash, destination_name FROM deliveries
                                  WHERE settled_ns IS NOT NULL AND body_hash IS NOT NULL AND destination_name IS NOT NULL)
                         THEN 1 ELSE 0 END END AS same
        FROM short b LEFT JOIN (SELECT stream_id, {_ONE.format("destination_name")} AS destination_name FROM subscriptions
                                GROUP BY stream_id) u ON u.stream_id = b.stream_id
        LEFT JOIN (SELECT x.stream_id, {_ONE.format("x.destination_name")} AS destination_name FROM sends x
                   JOIN short b ON b.stream_id = x.stream_id GROUP BY x.stream_id) x ON x.stream_id = b.stream_id
        LEFT JOIN ({_HELD}) h ON h.stream_id = b.stream_id
        WINDOW earlier AS (PARTITION BY b.source, b.subject_kind, b.subject, b.what ORDER BY b.closed_ns, b.stream_id)
    ) ended GROUP BY source, subject_kind, subject, CAST(floor(closed_ns / 1e9) AS BIGINT), what""",
    LOOPS, LOOP_WITHIN_S, OF_TRAFFIC)  # fmt: skip
"""Seconds in which short connections of a client ended without DISCONNECT, or ERROR, or another reason that is said elsewhere.

A producer may leave by a bare FIN; of those without a subscription only what was broken off, or closed by the broker, counts. `text` is
who ended them, `before` is 1 where each left the same message unacknowledged first, and nobody ever took it.
"""

BROKERS = f"SELECT s.source, {BROKER} AS broker, max(s.server_product) AS server_product {_SESSIONS} GROUP BY s.source, {BROKER}"
"""Brokers with their product, which those that they let in know."""

CTES = {"brokers": BROKERS, "short": _SHORT}


def _storm(kind: str, name: str, least_logins: int) -> str:
    """Minutes in which a client, or an address with so many logins, opened many more connections than before."""
    minute = "CAST(floor(s.opened_ns / 6e10) AS BIGINT)"
    return f"""
    SELECT source, subject_kind, subject, server_product, 'storm' AS what, {NO_TEXT} AS text, first_ns AS begin_ns, last_ns AS end_ns,
           0 AS messages, CAST(connections AS DOUBLE) AS amount, stream_id, {NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset
    FROM (
        SELECT *, coalesce(sum(connections) OVER (PARTITION BY source, subject_kind, subject ORDER BY minute
                           RANGE BETWEEN {STORM_PAST_MINUTES} PRECEDING AND 1 PRECEDING), 0) AS before
        FROM (
            SELECT s.source, {kind} AS subject_kind, {name} AS subject, min(s.server_product) AS server_product, s.server_ip,
                   {minute} AS minute, count(*) AS connections, count(DISTINCT {SUBJECT}) AS logins, min(s.opened_ns) AS first_ns,
                   max(s.opened_ns) AS last_ns, min(s.stream_id) AS stream_id
            {_SESSIONS} WHERE s.outcome = 'connected' GROUP BY s.source, {kind}, {name}, s.server_ip, {minute}) minutes) counted
    JOIN (SELECT source AS seen_source, CAST(floor(min(first_ns) / 6e10) AS BIGINT) AS first_minute FROM captures GROUP BY source) seen
    ON seen_source = source
    WHERE connections >= {STORM} AND logins >= {least_logins} AND minute - first_minute >= {STORM_LEAST_MINUTES}
      AND connections >= {STORM_TIMES} * before / least(minute - first_minute, {STORM_PAST_MINUTES})
      AND NOT EXISTS (SELECT 1 FROM stops o WHERE o.source = counted.source AND o.server_ip = counted.server_ip
                      AND counted.last_ns >= o.begin_ns
                      AND counted.first_ns < coalesce(o.end_ns, o.begin_ns) + {AFTER_STOP_S * SECOND_NS})"""


STORMS = _storm(SUBJECT_KIND, SUBJECT, 0) + " UNION ALL " + _storm("'client'", "s.client_ip", STORM // 2)
"""Minutes in which a client opened many more connections than in the hour before, or an address with many logins did.

Not those behind a stop of the broker: there everyone comes back.
"""

_BEHIND_RECEIPT = "DS-06"
"""The rule that nothing follows the RECEIPT of a DISCONNECT: Spring's relay says `Connection to broker closed.` to many that leave so."""

_EACH_ERROR = f"""
    SELECT s.* REPLACE (coalesce(e.said, s.error_message) AS error_message,
                        CASE WHEN e.said IS NULL THEN s.error_detail ELSE e.detail END AS error_detail),
           coalesce(e.first_ns, {_ENDED}) AS error_ns, e.stream_offset AS error_offset
    {_ENDS} LEFT JOIN (SELECT stream_id, first_ns, stream_offset, header['message'] AS said, body_preview AS detail FROM frames
                       WHERE command = 'ERROR' AND direction = 's2c') e ON e.stream_id = s.stream_id
    WHERE s.error_message IS NOT NULL AND s.outcome <> 'refused' AND s.cause NOT IN ('broker_stop', 'idle_cut', 'heartbeat_client')
      AND NOT EXISTS (SELECT 1 FROM compliance_findings f WHERE f.rule_id = '{_BEHIND_RECEIPT}' AND f.stream_id = e.stream_id
                      AND f.stream_offset < e.stream_offset)"""
ERRORS = f"""
    SELECT {_OF_SESSION}, {alike(_TEXT)} AS what, {_TEXT} AS text, s.error_ns AS begin_ns, s.error_ns AS end_ns, 0 AS messages,
           {NO_NUMBER} AS amount, s.stream_id, 's2c' AS direction, s.error_offset AS stream_offset, x.destination_name,
           {NO_NUMBER} AS before, {NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s
    FROM ({_EACH_ERROR}) s LEFT JOIN (SELECT stream_id, {_ONE.format("destination_name")} AS destination_name FROM sends
                                      WHERE stream_id NOT IN (SELECT stream_id FROM subscriptions) GROUP BY stream_id) x
    ON x.stream_id = s.stream_id WHERE s.error_ns IS NOT NULL"""
"""ERRORs by what they say, each at its own time: RabbitMQ and ActiveMQ go on after many. What comes behind the RECEIPT of a DISCONNECT
hurts nobody. Where a session sends alone, and to one destination, that is named: Artemis does not say that an address is full."""
