"""The SQL of table journeys: which SEND a MESSAGE comes from, by what can be known.

`SENDS`, `MESSAGES` and `HOLES` gather what is asked, by joins that both DuckDB and Spark do. What follows is of one body: MESSAGEs and
SENDs of one key (source, destination, digest of the content) are brought into one sequence by time, and a walk along each tells what they
are to each other (`pipelines.metrics.journeys_sequences`), so that 100,000 equal bodies cost what 100,000 others do. DuckDB does these
steps, over all bodies or, in tasks of Spark, over some.

Nothing looks further than some horizons of time: what lies beyond changes no row, so a run may leave it out (`pipelines.metrics.journeys`).
"""

# ruff: noqa: S608  the SQL consists of our own constants and of numbers

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from pipelines.metrics.journeys_holes import HOLES, LOST
from pipelines.metrics.journeys_sequences import walk_along
from stompcap.journeys.walk import HORIZON_NS, LONG
from stompcap.tables import outcomes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

REACH = LONG + 2
"""Horizons that a row's neighbours may lie away from it."""

FRONT = "front"
"""What stands for the producer of SENDs and MESSAGEs in front of a proxy, so that they are joined with each other alone; no session of
ActiveMQ is called so."""

LIVES = """
opened AS (
    SELECT c.stream_id, c.source, c.first_ns, c.last_ns, s.session, s.connect_latency_us
    FROM streams c JOIN sessions s ON s.stream_id = c.stream_id WHERE s.session IS NOT NULL
), pairs AS (
    SELECT source, session, max(first_ns) AS later_ns, min(connect_latency_us) AS least_us
    FROM opened GROUP BY source, session HAVING count(*) = 2
), fronts AS (
    SELECT o.stream_id FROM opened o JOIN pairs p ON p.source = o.source AND p.session = o.session
    WHERE o.first_ns < p.later_ns AND p.later_ns <= o.last_ns AND o.connect_latency_us > p.least_us
), lives AS (
    SELECT c.stream_id, c.source, c.first_ns, c.last_ns, c.gap_octets_c2s, c.gap_octets_s2c,
           c.inner_gap_octets_c2s, c.inner_gap_octets_s2c, s.server_product, s.closed_ns,
           CASE WHEN f.stream_id IS NULL THEN n.session END AS session, f.stream_id IS NOT NULL AS front,
           coalesce(c.clock_difference_min_us <= 0 AND c.clock_difference_max_us >= 0, true) AS agrees,
           CASE WHEN c.clock_difference_min_us <= c.clock_difference_max_us
                     AND (c.clock_difference_min_us > 0 OR c.clock_difference_max_us < 0)
                THEN c.clock_difference_min_us * 1000 ELSE 0 END AS ahead_ns,
           CASE WHEN NOT c.syn_seen AND NOT c.synack_seen THEN c.first_ns END AS midstream_ns,
           coalesce(c.clock_steps_back > 0, false) AS stepped
    FROM streams c LEFT JOIN sessions s ON s.stream_id = c.stream_id
    LEFT JOIN fronts f ON f.stream_id = c.stream_id
    LEFT JOIN (SELECT c.source, s.session FROM streams c JOIN sessions s ON s.stream_id = c.stream_id
               LEFT JOIN fronts b ON b.stream_id = s.stream_id
               WHERE s.server_product = 'ActiveMQ' AND s.session LIKE 'ID:%' AND b.stream_id IS NULL
               GROUP BY c.source, s.session HAVING count(*) = 1) n
         ON n.source = c.source AND n.session = s.session AND s.server_product = 'ActiveMQ'
)"""
"""Connections.

pairs         sessions that two connections have
fronts        those from clients to a proxy whose connections to the broker were captured too: the proxy passes CONNECTED on, so that two
              connections have one session, of which the one to the broker begins later and is answered sooner
session       of ActiveMQ the connection's id, unless others have it too
agrees        whether the clocks of both directions agree
ahead_ns      by how much that of the broker's is ahead at least
midstream_ns  since when those are seen that were open before the capture
stepped       its clock stepped back: a MESSAGE may have an earlier time than its SEND
"""

SENDS = f"""
placed AS (
    SELECT l.source, x.stream_id, x.stream_offset, x.sent_ts AS ts, x.sent_ns, x.effective_ns, coalesce(x.effective_ns, x.sent_ns) AS at_ns,
           x.destination, x.destination_name, x.content_hash, x.length_octets AS octets, coalesce(x.own_id, false) AS alone,
           coalesce(coalesce(x.effective_ns, x.sent_ns) - l.midstream_ns <= {HORIZON_NS}, false) AS early,
           CASE WHEN l.front THEN '{FRONT}' ELSE coalesce(l.session, '') END AS producer,
           CASE WHEN l.session IS NOT NULL THEN x.number END AS number, l.agrees,
           l.server_product, x.body_octets, x.body_hash, x.receipt_us,
           CASE WHEN x.transaction_outcome IN ('aborted', 'implicitly_aborted') THEN 'aborted'
                WHEN x.receipt_status = 'refused' THEN 'refused' END AS undone
    FROM sends x JOIN lives l ON l.stream_id = x.stream_id
    WHERE $sends
), had AS (
    SELECT DISTINCT l.source, d.destination_name, CAST(floor(d.first_ns / {HORIZON_NS}) AS BIGINT) AS slot
    FROM deliveries d JOIN lives l ON l.stream_id = d.stream_id
), served AS (
    SELECT source, destination_name, slot FROM had UNION SELECT source, destination_name, slot - 1 AS slot FROM had
), ends AS (
    SELECT source, max(last_ns) AS end_ns FROM captures GROUP BY source
), sent AS (
    SELECT p.*, e.end_ns, v.source IS NOT NULL AS has_consumer
    FROM placed p
    LEFT JOIN ends e ON e.source = p.source
    LEFT JOIN served v ON v.source = p.source AND v.destination_name = p.destination_name
         AND v.slot = CAST(floor(p.at_ns / {HORIZON_NS}) AS BIGINT)
)"""
"""SENDs, with when the capture ends, and whether their destination had MESSAGEs then or a horizon later."""

MESSAGES = f"""
known AS (
    SELECT DISTINCT source, session FROM lives WHERE session IS NOT NULL
), named AS (
    SELECT l.source, d.stream_id, d.stream_offset, d.delivered_ts AS ts, d.first_ns, d.first_ns - l.ahead_ns AS at_ns,
           d.destination, coalesce(d.moved_from, d.destination_name) AS destination_name, d.moved_from,
           d.destination_name AS delivered_name,
           d.content_hash, d.body_octets, d.body_hash, d.broker_timestamp_us, coalesce(d.redelivered, false) AS marked, l.agrees, l.stepped,
           coalesce(d.first_ns - l.midstream_ns <= {HORIZON_NS}, false) AS early,
           l.server_product, d.subscription,
           CASE WHEN coalesce(d.moved_from, d.destination_name) LIKE 'topic/%'
                THEN concat(d.stream_id, '/', coalesce(d.subscription, '')) ELSE '' END AS lane,
           CASE l.server_product WHEN 'ActiveMQ' THEN d.message_id WHEN 'Artemis' THEN regexp_replace(d.message_id, '^[0-9]+,', '') END
               AS broker_id,
           d.message_id, {outcomes.GIVEN_BACK.sql("d")} AS given_back, l.closed_ns,
           {outcomes.kept("d")} AS kept,
           CASE WHEN l.front THEN '{FRONT}' ELSE coalesce(k.session, '') END AS producer, d.producer_number AS number
    FROM deliveries d JOIN lives l ON l.stream_id = d.stream_id
    LEFT JOIN known k ON k.source = l.source AND k.session = d.producer_session
    WHERE $deliveries
)"""
"""MESSAGEs, with the connection of their producer where the capture has it.

broker_id   what the broker calls the message, whoever it is delivered to: Artemis puts the number of the consumer before it
given_back  its consumer did not settle it, or took that back
kept        its consumer settled it by an ACK, or need not
destination_name  that of its SEND: where the broker moved it from (`moved_from`), if it did; it was delivered at `delivered_name`
closed_ns   of its connection
"""

SAME_ID = ("source", "destination_name", "content_hash", "producer", "lane", "broker_id")

REPEATS = f"""
WITH alike AS (
    SELECT {', '.join(SAME_ID)}, row_number() OVER () AS id_no, min(CASE WHEN given_back THEN closed_ns END) AS left_ns,
           min(CASE WHEN NOT kept THEN at_ns END) AS refused_ns
    FROM message WHERE broker_id IS NOT NULL GROUP BY {', '.join(SAME_ID)} HAVING count(*) > 1
), several AS (
    SELECT a.id_no, a.left_ns, a.refused_ns, m.message_no, m.message_id, m.at_ns, m.first_ns, m.stream_id, m.stream_offset, m.moved_from,
           m.given_back
    FROM message m JOIN alike a ON {' AND '.join(f'm.{name} IS NOT DISTINCT FROM a.{name}' for name in SAME_ID)}
), got AS (
    SELECT *, row_number() OVER same_id AS place, lag(at_ns) OVER same_id AS before_ns, first_value(at_ns) OVER same_id AS head_ns,
           first_value(message_no) OVER same_id AS head_no
    FROM several WINDOW same_id AS (PARTITION BY id_no ORDER BY at_ns, stream_id, stream_offset)
), begun AS (
    SELECT id_no, message_id, min(place) AS place FROM got GROUP BY id_no, message_id
), back AS (
    SELECT id_no, stream_id, min(at_ns) AS at_ns FROM several WHERE given_back GROUP BY id_no, stream_id
)
SELECT g.message_no, CASE WHEN g.at_ns - g.head_ns <= {HORIZON_NS} THEN g.head_no ELSE g.message_no END AS first_no,
       g.place > f.place OR coalesce(g.left_ns < g.first_ns, false) OR coalesce(b.at_ns < g.at_ns, false)
       OR g.moved_from IS NOT NULL AND coalesce(g.refused_ns < g.at_ns, false) AS returned
FROM got g JOIN begun f ON f.id_no = g.id_no AND f.message_id = g.message_id
LEFT JOIN back b ON b.id_no = g.id_no AND b.stream_id = g.stream_id
WHERE g.at_ns - g.before_ns <= {HORIZON_NS}"""
"""MESSAGEs that repeat an earlier one by the broker's id, and whether the broker had that one back.

It had if a consumer got the whole id, or left the message unsettled before: its connection had ended, or it is the same connection; and
if it moved the message, which no consumer's ACK had settled.
Otherwise these are copies: what goes to several queues of a multicast address of Artemis has one id.
"""

IDENTIFIED = f"""
SELECT m.message_no, s.send_no
FROM message m JOIN send s ON s.source = m.source AND s.producer = m.producer AND s.number = m.number
WHERE m.producer <> '' AND s.undone IS NULL AND (m.body_hash = s.body_hash OR m.body_hash IS NULL AND s.body_hash IS NULL)
      AND coalesce(abs(m.at_ns - s.at_ns) <= {HORIZON_NS}, true)"""
"""MESSAGEs that name their SEND.

ActiveMQ's message-id is the id of the producer's connection, as its CONNECTED has it in header session, and the number of the SEND in it
(ProtocolConverter: producer -1:1 of the connection, and a sequence of message ids). The body must be the same."""

DECIDED = f"""
SELECT a.message_no, a.sequence,
       CASE WHEN NOT a.possible OR (a.single AND s.server_product <> m.server_product) THEN 'none'
            WHEN s.server_product <> m.server_product THEN 'ambiguous'
            WHEN a.single AND s.alone THEN 'unique'
            WHEN coalesce(x.sent_octets >= s.octets, false) THEN 'lost'
            WHEN a.single AND a.certain THEN 'unique'
            WHEN a.in_order AND s.at_ns >= a.at_ns - {HORIZON_NS} THEN 'ordered'
            ELSE 'ambiguous' END AS verdict,
       CASE WHEN verdict IN ('unique', 'ordered') THEN a.from_no END AS send_no
FROM walked a
JOIN message m ON m.message_no = a.message_no
LEFT JOIN send s ON s.send_no = a.from_no
LEFT JOIN lost x ON x.source = m.source AND x.slot = CAST(floor(a.at_ns / {HORIZON_NS}) AS BIGINT)"""

JUDGED = """
WITH told AS (
    SELECT m.message_no, coalesce(v.verdict, 'none') AS verdict, v.send_no, m.marked OR coalesce(r.returned, false) AS again,
           r.message_no IS NOT NULL AS repeated, m.at_ns, m.moved_from, m.kept
    FROM message m LEFT JOIN repeats r ON r.message_no = m.message_no
    LEFT JOIN (SELECT message_no, verdict, send_no FROM decided
               UNION ALL SELECT message_no, 'identity' AS verdict, send_no FROM identified) v
         ON v.message_no = coalesce(r.first_no, m.message_no)
), refused AS (
    SELECT send_no, min(at_ns) AS at_ns FROM told
    WHERE NOT kept AND send_no IN (SELECT send_no FROM told WHERE moved_from IS NOT NULL) GROUP BY send_no
)
SELECT t.message_no, t.verdict, t.send_no, t.again OR t.moved_from IS NOT NULL AND coalesce(f.at_ns < t.at_ns, false) AS redelivery,
       t.repeated
FROM told t LEFT JOIN refused f ON f.send_no = t.send_no"""
"""What becomes of each MESSAGE: its SEND, and whether it comes again.

One that the broker moved does if a consumer got it and sent no ACK.
"""

COPIES = """
SELECT j.message_no, row_number() OVER (PARTITION BY j.send_no ORDER BY m.at_ns, m.stream_id, m.stream_offset) AS copy
FROM judged j JOIN message m ON m.message_no = j.message_no WHERE j.send_no IS NOT NULL AND NOT j.redelivery"""
"""Which copy of its SEND a MESSAGE is."""

DOUBTFUL = f"""
SELECT DISTINCT send_no
FROM (
    SELECT e.send_no, e.at_ns, min(CASE WHEN d.verdict IN ('ambiguous', 'lost') THEN e.at_ns END)
                               OVER (PARTITION BY e.sequence ORDER BY e.place DESC
                                     ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_ns
    FROM walked e LEFT JOIN decided d ON d.message_no = e.message_no
    WHERE e.sequence IN (SELECT sequence FROM decided WHERE verdict IN ('ambiguous', 'lost'))
) following WHERE send_no IS NOT NULL AND next_ns - at_ns <= {HORIZON_NS}"""
"""SENDs that a MESSAGE could be."""

ROWS = f"""
SELECT m.source, m.ts,
       s.stream_id AS send_stream_id, s.stream_offset AS send_offset, s.sent_ns AS send_ns, s.effective_ns,
       m.stream_id AS message_stream_id, m.stream_offset AS message_offset, m.first_ns AS message_ns,
       s.destination, m.destination AS delivered_destination, m.delivered_name AS destination_name, m.moved_from,
       m.server_product, m.subscription,
       CASE WHEN j.verdict = 'lost' THEN 'ambiguous'
            WHEN j.verdict = 'none' AND m.broker_timestamp_us IS NOT NULL THEN 'timestamp' ELSE j.verdict END AS joined_by,
       CASE WHEN j.verdict = 'lost' THEN 'octets_lost' WHEN j.verdict = 'ambiguous' THEN 'unknown'
            WHEN j.verdict <> 'none' OR m.broker_timestamp_us IS NOT NULL THEN NULL
            WHEN m.at_ns IS NULL OR m.content_hash IS NULL OR j.repeated OR m.producer = '{FRONT}' OR m.moved_from IS NOT NULL
                 OR m.stepped THEN 'unknown'
            WHEN x.sent_octets >= m.body_octets THEN 'octets_lost' ELSE 'no_send' END AS reason,
       CASE WHEN j.redelivery OR m.moved_from IS NOT NULL THEN NULL
            WHEN j.verdict = 'none' AND m.broker_timestamp_us * 1000 <= m.first_ns
            THEN CAST(floor((m.first_ns - m.broker_timestamp_us * 1000) / 1000) AS BIGINT)
            WHEN s.agrees AND m.agrees AND m.first_ns >= s.effective_ns
            THEN CAST(floor((m.first_ns - s.effective_ns) / 1000) AS BIGINT) END AS residence_us,
       s.receipt_us, c.copy, j.redelivery, m.broker_timestamp_us, m.body_octets, m.body_hash, m.content_hash
FROM judged j JOIN message m ON m.message_no = j.message_no
LEFT JOIN send s ON s.send_no = j.send_no
LEFT JOIN copies c ON c.message_no = j.message_no
LEFT JOIN lost x ON x.source = m.source AND x.slot = CAST(floor(m.at_ns / {HORIZON_NS}) AS BIGINT)
UNION ALL
SELECT s.source, s.ts,
       s.stream_id AS send_stream_id, s.stream_offset AS send_offset, s.sent_ns AS send_ns, s.effective_ns,
       NULL AS message_stream_id, NULL AS message_offset, NULL AS message_ns,
       s.destination, NULL AS delivered_destination, s.destination_name, NULL AS moved_from, s.server_product, NULL AS subscription,
       CASE WHEN d.send_no IS NOT NULL THEN 'ambiguous' ELSE 'none' END AS joined_by,
       CASE WHEN s.undone IS NOT NULL THEN s.undone WHEN d.send_no IS NOT NULL THEN 'unknown'
            WHEN s.at_ns + {HORIZON_NS} > s.end_ns THEN 'not_yet'
            WHEN s.at_ns IS NULL THEN 'unknown'
            WHEN x.got_octets >= s.body_octets THEN 'octets_lost'
            WHEN NOT s.has_consumer THEN 'no_consumer' ELSE 'unknown' END AS reason,
       NULL AS residence_us, s.receipt_us, NULL AS copy, false AS redelivery, NULL AS broker_timestamp_us,
       s.body_octets, s.body_hash, s.content_hash
FROM send s
LEFT JOIN doubtful d ON d.send_no = s.send_no
LEFT JOIN lost x ON x.source = s.source AND x.slot = CAST(floor(s.at_ns / {HORIZON_NS}) AS BIGINT)
WHERE s.send_no NOT IN (SELECT send_no FROM judged WHERE send_no IS NOT NULL)"""

GATHERED = {"lives": LIVES, "sent": SENDS, "named": MESSAGES, "holes": HOLES}
"""What is gathered before, by name: its steps. The last three read the first."""

BEFORE = {
    "send": "SELECT *, row_number() OVER () AS send_no FROM sent", "message": "SELECT *, row_number() OVER () AS message_no FROM named",
    "repeats": REPEATS, "identified": IDENTIFIED,
}  # fmt: skip
BEHIND = {"lost": LOST, "decided": DECIDED, "judged": JUDGED, "copies": COPIES, "doubtful": DOUBTFUL}
"""The tables that are made before the walk, and behind it. Each reads those before it."""


def gather(name: str, sends: str = "true", deliveries: str = "true") -> str:
    """The query for one of what is `GATHERED`, of the SENDs `x` and the MESSAGEs `d` that pass these conditions."""
    return Template(f"WITH {GATHERED[name]} SELECT * FROM {name}").substitute(sends=sends, deliveries=deliveries)


def gather_all(database: DuckDBPyConnection, sends: str = "true", deliveries: str = "true") -> None:
    """Gather from views of a lake's tables what concerns the SENDs `x` and the MESSAGEs `d` that pass these conditions."""
    for name in GATHERED:
        made = "TABLE" if name in ("lives", "holes") else "TEMP VIEW"
        database.execute(f"CREATE {made} {name} AS {gather(name, sends, deliveries)}")


def join(database: DuckDBPyConnection) -> str:
    """Join what was gathered, whole or of some bodies; returns the query for the rows of table journeys."""
    for name, sql in BEFORE.items():
        database.execute(f"CREATE TABLE {name} AS {sql}")
    walk_along(database)
    for name, sql in BEHIND.items():
        database.execute(f"CREATE TABLE {name} AS {sql}")
    return ROWS
