"""When the clock of a capture point leapt forward, or its machine slept: what was measured across that lasted nobody knows how long.

Times that leap back contradict the order of packets, which connections show (stompcap.tcp.clocks). One that leaps forward looks like a
silence of all: no broker and no consumer makes those be silent that wait for nobody. Heart-beats, and SENDs for which no RECEIPT is asked,
come by their sender's clock alone. A leap is a time in which nothing at all was captured, though several parties owed beats, or had sent
so more than once in as long a time before, and go on behind it as if it had not been. One of a day makes two of a connection. Where a
window was closed, or octets came again, the network or who reads is the reason.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import SECOND_NS
from pipelines.incidents.who import SUBJECT

LEAST_S, PARTIES, TIMES, BEATS = 2, 2, 3, 1.8
"""A leap takes so many seconds or more, and so many intervals of the heart-beats of so many parties; or they had sent so many times in as
long a time before it."""

_SECOND = f"CAST(floor({{}} / {SECOND_NS}.0) AS BIGINT)"

HOLES = f"""
    SELECT source, begin_ns, end_ns FROM (
        SELECT source, lag(last_ns) OVER (PARTITION BY source ORDER BY second) AS begin_ns, first_ns AS end_ns FROM (
            SELECT source, second, min(ns) AS first_ns, max(ns) AS last_ns FROM (
                SELECT source, unnest([first_second, first_second, last_second, last_second]) AS second,
                       unnest([least_first_ns, most_first_ns, least_last_ns, most_last_ns]) AS ns
                FROM (
                    SELECT p.source, {_SECOND.format("r.first_ns")} AS first_second, {_SECOND.format("r.last_ns")} AS last_second,
                           min(r.first_ns) AS least_first_ns, max(r.first_ns) AS most_first_ns, min(r.last_ns) AS least_last_ns,
                           max(r.last_ns) AS most_last_ns
                    FROM raw_frames r JOIN streams p ON p.stream_id = r.stream_id WHERE r.first_ns > 0
                    GROUP BY p.source, first_second, last_second) frames
                UNION ALL SELECT source, {_SECOND.format("ns")}, ns FROM (
                    SELECT source, unnest([first_ns, last_ns, fin_ns_c2s, fin_ns_s2c, rst_ns]) AS ns FROM streams) WHERE ns > 0) packets
            GROUP BY source, second) seconds) following
    WHERE end_ns - begin_ns >= {LEAST_S * SECOND_NS}"""
"""Times in which no packet of a source is known."""

_BEAT_MS = "CASE WHEN r.direction = 'c2s' THEN s.heartbeat_c2s_ms ELSE s.heartbeat_s2c_ms END"
_UNASKED = f"""
    SELECT r.stream_id, r.direction, r.first_ns AS ns, {_BEAT_MS} AS beat_ms
    FROM raw_frames r JOIN clients s ON s.stream_id = r.stream_id WHERE r.first_ns > 0 AND {_BEAT_MS} > 0
    UNION ALL SELECT stream_id, 'c2s', first_ns, NULL FROM sends WHERE receipt IS NULL AND first_ns > 0"""

_PARTY = "source, client_ip, client_port, server_ip, server_port, direction, sends"
_BEFORE = " || ".join(f"coalesce(lag(latest, {number}) OVER before, [])" for number in range(1, TIMES + 1))

PAUSES_OF_PARTIES = f"""
    SELECT {_PARTY}, subject, beat_ms, before[1] AS last_ns, before[{TIMES}] AS earlier_ns, next_ns FROM (
        SELECT {_PARTY}, lag(subject) OVER before AS subject, greatest(beat_ms, lag(beat_ms) OVER before) AS beat_ms,
               {_BEFORE} AS before, next_ns
        FROM (
            SELECT s.source, s.client_ip, s.client_port, s.server_ip, s.server_port, t.direction, t.beat_ms IS NULL AS sends,
                   {_SECOND.format("t.ns")} AS second, min({SUBJECT}) AS subject, max(t.beat_ms) AS beat_ms,
                   min(t.ns) AS next_ns, max(t.ns, {TIMES}) AS latest
            FROM ({_UNASKED}) t JOIN clients s ON s.stream_id = t.stream_id WHERE EXISTS (SELECT 1 FROM holes)
            GROUP BY ALL) seconds
        WINDOW before AS (PARTITION BY {_PARTY} ORDER BY second)) following
    WHERE next_ns - before[1] >= {LEAST_S * SECOND_NS}"""
"""Times in which a party sent nothing by its own clock: between `last_ns` and `next_ns`; `earlier_ns` is the last but two before it."""

LEAPS = f"""
    SELECT source, begin_ns, end_ns FROM (
        SELECT q.*, g.begin_ns, g.end_ns, g.end_ns - g.begin_ns AS long_ns
        FROM pauses_of_parties q ASOF JOIN holes g ON g.source = q.source AND (q.last_ns + q.next_ns) // 2 >= g.begin_ns) parties
    WHERE last_ns <= begin_ns AND next_ns >= end_ns AND 2 * (next_ns - last_ns - long_ns) <= long_ns
      AND CASE WHEN sends THEN earlier_ns >= begin_ns - long_ns ELSE long_ns >= {BEATS} * 1000000 * beat_ms END
      AND NOT EXISTS (SELECT 1 FROM stalls z JOIN streams o ON o.stream_id = z.stream_id WHERE o.source = parties.source
                      AND z.kind IN ('zero_window', 'retransmission') AND z.begin_ns < parties.end_ns AND z.end_ns > parties.begin_ns)
    GROUP BY source, begin_ns, end_ns
    HAVING count(DISTINCT CASE WHEN direction = 'c2s' THEN subject ELSE server_ip END) >= {PARTIES}"""
"""A hole that takes two thirds of a party's pause or more has the middle of that pause in it: so each pause has one hole at most."""

CTES = {"holes": HOLES, "pauses_of_parties": PAUSES_OF_PARTIES, "leaps": LEAPS}


def leapt_ns(source: str, begin: str, end: str) -> str:
    """SQL: how much of a time a clock leapt, in nanoseconds."""
    return f"""coalesce((SELECT CAST(sum(l.end_ns - l.begin_ns) AS BIGINT) FROM leaps l
                         WHERE l.source = {source} AND l.begin_ns >= {begin} AND l.end_ns <= {end}), 0)"""
