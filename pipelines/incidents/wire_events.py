"""Events of the network: retransmissions, closed windows and round trips, each against the rest of the capture."""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import NO_TEXT, SECOND_NS
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND

AGAIN, AGAIN_TIMES = 20, 5
"""So many retransmissions of an address in a minute, and so many times those of an average one of the others, are an incident."""

AGAIN_ALL, ALL_ADDRESSES, ALL_TIMES = 50, 3, 10
"""So many of a broker in a minute, of so many addresses, and so many times the mean of the hour before: of all its clients."""

CLOSED_S = 5
"""A window that was closed for so many seconds is an incident."""

FAR_US, FAR_TIMES, FAR_CONNECTIONS = 50_000, 10, 3
"""A round trip of so many microseconds, so many times that of the others, over so many connections of each within an hour: worth a note."""

_NOWHERE = f"{NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset"
_SESSION = "JOIN clients s ON s.stream_id = t.stream_id"

OF_ONE = f"""
    SELECT compared.source, 'network' AS subject_kind, compared.client_ip AS subject, {NO_TEXT} AS server_product, 'again' AS what,
           k.login AS text, first_ns AS begin_ns, last_ns AS end_ns, 0 AS messages, CAST(number AS DOUBLE) AS amount, stream_id, {_NOWHERE}
    FROM (
        SELECT *, (sum(number) OVER (PARTITION BY source, minute) - number) AS of_others,
               count(*) OVER (PARTITION BY source, minute) - 1 AS others
        FROM (
            SELECT p.source, p.client_ip, CAST(floor(t.begin_ns / 6e10) AS BIGINT) AS minute, count(*) AS number,
                   min(t.begin_ns) AS first_ns, max(t.end_ns) AS last_ns, min(t.stream_id) AS stream_id
            FROM stalls t JOIN streams p ON p.stream_id = t.stream_id WHERE t.kind = 'retransmission'
            GROUP BY p.source, p.client_ip, CAST(floor(t.begin_ns / 6e10) AS BIGINT)) minutes) compared
    LEFT JOIN (SELECT s.source, s.client_ip, CASE WHEN min({SUBJECT}) = max({SUBJECT}) THEN min({SUBJECT}) END AS login
               FROM clients s WHERE {SUBJECT_KIND} = 'login' GROUP BY s.source, s.client_ip) k
    ON k.source = compared.source AND k.client_ip = compared.client_ip
    WHERE number >= {AGAIN} AND number * greatest(others, 1) >= {AGAIN_TIMES} * of_others"""

RETRANSMISSIONS = f"""
    SELECT * FROM resent UNION ALL
    SELECT source, 'network' AS subject_kind, subject, server_product, 'all' AS what, {NO_TEXT} AS text, first_ns AS begin_ns,
           last_ns AS end_ns, 0 AS messages, CAST(number AS DOUBLE) AS amount, stream_id, {_NOWHERE}
    FROM (
        SELECT *, coalesce(sum(number) OVER (PARTITION BY source, subject ORDER BY minute RANGE BETWEEN 60 PRECEDING AND 1 PRECEDING), 0)
                  AS before
        FROM (
            SELECT p.source, concat(p.server_ip, ':', CAST(p.server_port AS STRING)) AS subject, min(s.server_product) AS server_product,
                   CAST(floor(t.begin_ns / 6e10) AS BIGINT) AS minute, count(*) AS number, count(DISTINCT p.client_ip) AS addresses,
                   min(t.begin_ns) AS first_ns, max(t.end_ns) AS last_ns, min(t.stream_id) AS stream_id
            FROM stalls t JOIN streams p ON p.stream_id = t.stream_id LEFT JOIN clients s ON s.stream_id = t.stream_id
            WHERE t.kind = 'retransmission'
            GROUP BY p.source, p.server_ip, p.server_port, CAST(floor(t.begin_ns / 6e10) AS BIGINT)) minutes) compared
    JOIN (SELECT source AS seen_source, CAST(floor(min(first_ns) / 6e10) AS BIGINT) AS first_minute FROM captures GROUP BY source) seen
    ON seen_source = source
    WHERE number >= {AGAIN_ALL} AND addresses >= {ALL_ADDRESSES} AND minute > first_minute
      AND number >= {ALL_TIMES} * before / least(minute - first_minute, 60)
      AND NOT EXISTS (SELECT 1 FROM resent o WHERE o.source = compared.source
                      AND o.begin_ns BETWEEN compared.first_ns AND compared.last_ns)"""
"""Minutes in which much is sent again to and from many addresses, none of which stands out."""

CTES = {"resent": OF_ONE}

CLOSED_WINDOWS = f"""
    SELECT s.source, CASE WHEN t.direction = 's2c' THEN {SUBJECT_KIND} ELSE 'broker' END AS subject_kind,
           CASE WHEN t.direction = 's2c' THEN {SUBJECT} ELSE {BROKER} END AS subject, s.server_product,
           CASE WHEN t.direction = 's2c' THEN 'client' ELSE 'broker' END AS what, {NO_TEXT} AS text, t.begin_ns, t.end_ns, 0 AS messages,
           (t.end_ns - t.begin_ns) / 1e9 AS amount, t.stream_id, {_NOWHERE}
    FROM stalls t {_SESSION} WHERE t.kind = 'zero_window' AND t.end_ns - t.begin_ns >= {CLOSED_S * SECOND_NS}"""

ROUND_TRIPS = f"""
    SELECT a.source, 'network' AS subject_kind, a.client_ip AS subject, {NO_TEXT} AS server_product, 'far' AS what, {NO_TEXT} AS text,
           a.begin_ns, a.end_ns, 0 AS messages, a.rtt_us / 1e6 AS amount, a.stream_id, {_NOWHERE}
    FROM (
        SELECT source, client_ip, CAST(floor(first_ns / 36e11) AS BIGINT) AS hour, count(*) AS connections, min(first_ns) AS begin_ns,
               max(last_ns) AS end_ns, percentile_cont(0.5) WITHIN GROUP (ORDER BY rtt_client_us) AS rtt_us, min(stream_id) AS stream_id
        FROM streams WHERE rtt_client_us IS NOT NULL AND protocol = 'stomp'
        GROUP BY source, client_ip, CAST(floor(first_ns / 36e11) AS BIGINT)) a
    JOIN (
        SELECT o.source, c.client_ip, o.hour, count(*) AS connections, percentile_cont(0.5) WITHIN GROUP (ORDER BY o.rtt_us) AS rtt_us
        FROM (SELECT source, client_ip, CAST(floor(first_ns / 36e11) AS BIGINT) AS hour,
                     percentile_cont(0.5) WITHIN GROUP (ORDER BY rtt_client_us) AS rtt_us
              FROM streams WHERE rtt_client_us IS NOT NULL AND protocol = 'stomp'
              GROUP BY source, client_ip, CAST(floor(first_ns / 36e11) AS BIGINT)) o
        JOIN (SELECT DISTINCT source, client_ip, CAST(floor(first_ns / 36e11) AS BIGINT) AS hour FROM streams
              WHERE rtt_client_us >= {FAR_US} AND protocol = 'stomp') c
        ON c.source = o.source AND c.hour = o.hour AND c.client_ip <> o.client_ip
        GROUP BY o.source, c.client_ip, o.hour) b
    ON b.source = a.source AND b.client_ip = a.client_ip AND b.hour = a.hour
    WHERE a.connections >= {FAR_CONNECTIONS} AND b.connections >= {FAR_CONNECTIONS} AND a.rtt_us >= {FAR_US}
      AND a.rtt_us >= {FAR_TIMES} * b.rtt_us"""
"""Addresses whose round trips are long, where those of most other addresses of the hour are not."""

