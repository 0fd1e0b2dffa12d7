"""The SQL of table journeys: which SEND a MESSAGE comes from, by what can be known.

`SENDS`, `MESSAGES` and `HOLES` gather what is asked, by joins that both DuckDB and Spark do. What follows is of one body: MESSAGEs and
SENDs of one key (source, destination, digest of the content) are brought into one sequence by time
(`pipelines.metrics.journeys_sequences`). Every step is a window over such a sequence, or a join by number in it, so that 100,000 equal
bodies cost what 100,000 others do. DuckDB does these steps, over all bodies or, in tasks of Spark, over some.

Nothing looks further than some horizons of time: what lies beyond changes no row, so a run may leave it out (`pipelines.metrics.journeys`).
"""

# ruff: noqa: S608  the SQL consists of our own constants and of numbers

from __future__ import annotations

import re
from string import Template

from pipelines.metrics.journeys_sequences import EVENTS, HORIZON_NS, KEY, LONG, WALK

REACH = LONG + 2
"""Horizons that a row's neighbours may lie away from it."""

LIVES = """
lives AS (
    SELECT c.stream_id, c.source, c.first_ns, c.last_ns, c.gap_octets_c2s, c.gap_octets_s2c,
           c.inner_gap_octets_c2s, c.inner_gap_octets_s2c, s.server_product,
           n.session, coalesce(c.clock_difference_min_us <= 0 AND c.clock_difference_max_us >= 0, true) AS agrees,
           CASE WHEN c.clock_difference_min_us <= c.clock_difference_max_us
                     AND (c.clock_difference_min_us > 0 OR c.clock_difference_max_us < 0)
                THEN c.clock_difference_min_us * 1000 ELSE 0 END AS ahead_ns,
           CASE WHEN NOT c.syn_seen AND NOT c.synack_seen THEN c.first_ns END AS midstream_ns
    FROM streams c LEFT JOIN sessions s ON s.stream_id = c.stream_id
    LEFT JOIN (SELECT c.source, s.session FROM streams c JOIN sessions s ON s.stream_id = c.stream_id
               WHERE s.server_product = 'ActiveMQ' AND s.session LIKE 'ID:%' GROUP BY c.source, s.session HAVING count(*) = 1) n
         ON n.source = c.source AND n.session = s.session AND s.server_product = 'ActiveMQ'
)"""
"""Connections: of ActiveMQ its id, unless several have it, as where one is captured twice: then it names none of them; whether the
clocks of both directions agree, by how much that of the broker's is ahead at least; since when those are seen that were open before."""

SENDS = f"""
placed AS (
    SELECT l.source, x.stream_id, x.stream_offset, x.sent_ts AS ts, x.sent_ns, x.effective_ns, coalesce(x.effective_ns, x.sent_ns) AS at_ns,
           x.destination, x.destination_name, x.content_hash, x.length_octets AS octets, coalesce(x.own_id, false) AS alone,
           coalesce(coalesce(x.effective_ns, x.sent_ns) - l.midstream_ns <= {HORIZON_NS}, false) AS early,
           coalesce(l.session, '') AS producer, CASE WHEN l.session IS NOT NULL THEN x.number END AS number, l.agrees,
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
           d.destination, d.destination_name,
           d.content_hash, d.body_octets, d.body_hash, d.broker_timestamp_us, coalesce(d.redelivered, false) AS marked, l.agrees,
           coalesce(d.first_ns - l.midstream_ns <= {HORIZON_NS}, false) AS early,
           l.server_product, d.subscription,
           CASE WHEN d.destination_name LIKE 'topic/%' THEN concat(d.stream_id, '/', coalesce(d.subscription, '')) ELSE '' END AS lane,
           CASE WHEN l.server_product IN ('ActiveMQ', 'Artemis') THEN d.message_id END AS broker_id,
           coalesce(k.session, '') AS producer, d.producer_number AS number
    FROM deliveries d JOIN lives l ON l.stream_id = d.stream_id
    LEFT JOIN known k ON k.source = l.source AND k.session = d.producer_session
    WHERE $deliveries
)"""
"""MESSAGEs, with the connection of their producer where the capture has it."""

REPEATED = f"""
got AS (
    SELECT *, lag(at_ns) OVER same_id AS before_ns, first_value(at_ns) OVER same_id AS head_ns,
           first_value(stream_id) OVER same_id AS head_stream_id, first_value(stream_offset) OVER same_id AS head_offset
    FROM named
    WINDOW same_id AS (PARTITION BY source, destination_name, content_hash, lane, broker_id ORDER BY at_ns, stream_id, stream_offset)
), message AS (
    SELECT *, coalesce(broker_id IS NOT NULL AND at_ns - before_ns <= {HORIZON_NS}, false) AS repeated FROM got
), identified AS (
    SELECT m.stream_id, m.stream_offset, s.stream_id AS send_stream_id, s.stream_offset AS send_offset
    FROM message m JOIN sent s ON s.source = m.source AND s.producer = m.producer AND s.number = m.number
    WHERE m.producer <> '' AND s.undone IS NULL AND (m.body_hash = s.body_hash OR m.body_hash IS NULL AND s.body_hash IS NULL)
          AND coalesce(abs(m.at_ns - s.at_ns) <= {HORIZON_NS}, true)
)"""
"""MESSAGEs: which repeat an earlier one by the broker's id, and which name their SEND.

ActiveMQ's message-id is the id of the producer's connection, as its CONNECTED has it in header session, and the number of the SEND in it
(ProtocolConverter: producer -1:1 of the connection, and a sequence of message ids). The body must be the same."""

HOLES = f"""
lossy AS (
    SELECT * FROM lives WHERE gap_octets_c2s > 0 OR gap_octets_s2c > 0 OR inner_gap_octets_c2s > 0 OR inner_gap_octets_s2c > 0
), pieces AS (
    SELECT l.source, r.stream_id, r.direction, r.kind, r.length_octets, r.kind IN ('frame', 'eol') AS whole,
           coalesce(lag(r.last_ns) OVER in_stream, l.first_ns) AS from_ns, coalesce(lead(r.first_ns) OVER in_stream, l.last_ns) AS to_ns,
           sum(CASE WHEN r.kind IN ('frame', 'eol') THEN 1 ELSE 0 END)
               OVER (PARTITION BY r.stream_id, r.direction ORDER BY r.stream_offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
               AS island
    FROM raw_frames r JOIN lossy l ON l.stream_id = r.stream_id
    WINDOW in_stream AS (PARTITION BY r.stream_id, r.direction ORDER BY r.stream_offset)
), holes AS (
    SELECT source, direction, first_slot, last_slot, max(octets) AS octets
    FROM (
        SELECT source, direction, CAST(sum(length_octets) AS BIGINT) AS octets,
               CAST(floor(min(from_ns) / {HORIZON_NS}) AS BIGINT) AS first_slot,
               CAST(floor(max(to_ns) / {HORIZON_NS}) AS BIGINT) AS last_slot
        FROM pieces WHERE NOT whole GROUP BY source, stream_id, direction, island
        HAVING count_if(kind = 'gap') > 0
    ) every GROUP BY source, direction, first_slot, last_slot
)"""
"""What of each direction is missing from the capture: the longest hole of those that lie in the same horizons of time."""

LOST = f"""
slots AS (
    SELECT DISTINCT source, slot FROM (
        SELECT source, CAST(floor(at_ns / {HORIZON_NS}) AS BIGINT) AS slot FROM message
        UNION ALL SELECT source, CAST(floor(at_ns / {HORIZON_NS}) AS BIGINT) AS slot FROM sent
    ) either
), lost AS (
    SELECT s.source, s.slot, max(CASE WHEN h.direction = 'c2s' AND h.last_slot >= s.slot - 1 AND h.first_slot <= s.slot
                                      THEN h.octets END) AS sent_octets,
           max(CASE WHEN h.direction = 's2c' AND h.last_slot >= s.slot AND h.first_slot <= s.slot + 1 THEN h.octets END) AS got_octets
    FROM slots s JOIN holes h ON h.source = s.source AND h.first_slot <= s.slot + 1 AND h.last_slot >= s.slot - 1
    GROUP BY s.source, s.slot
)"""
"""What is missing around each time: the longest hole in a span of one horizon and the one before it (behind it)."""

JOINED = f"""
decided AS (
    SELECT a.source, a.destination_name, a.content_hash, a.producer, a.lane, a.at_ns, a.step, a.stream_id, a.stream_offset,
           n.stream_id AS send_stream_id, n.stream_offset AS send_offset,
           CASE WHEN NOT a.possible OR (a.single AND n.server_product <> a.server_product) THEN 'none'
                WHEN n.server_product <> a.server_product THEN 'ambiguous'
                WHEN a.single AND n.alone THEN 'unique'
                WHEN coalesce(x.sent_octets >= n.octets, false) THEN 'lost'
                WHEN a.single AND CASE WHEN a.step = 0 THEN a.repeats_it ELSE NOT (a.endless OR a.spoiled OR a.inherited) END THEN 'unique'
                WHEN a.in_order AND n.at_ns >= a.at_ns - {HORIZON_NS} THEN 'ordered'
                ELSE 'ambiguous' END AS verdict
    FROM asked a
    LEFT JOIN numbered n ON n.source = a.source AND n.destination_name = a.destination_name AND n.content_hash = a.content_hash
         AND n.producer = a.producer AND n.lane = a.lane
         AND n.nth = CASE WHEN a.single OR NOT a.in_order THEN a.offers ELSE a.first_offer + a.place - 1 END
    LEFT JOIN lost x ON x.source = a.source AND x.slot = CAST(floor(a.at_ns / {HORIZON_NS}) AS BIGINT)
), verdicts AS (
    SELECT stream_id, stream_offset, verdict,
           CASE WHEN verdict IN ('unique', 'ordered') THEN send_stream_id END AS send_stream_id,
           CASE WHEN verdict IN ('unique', 'ordered') THEN send_offset END AS send_offset
    FROM decided
    UNION ALL
    SELECT stream_id, stream_offset, 'identity' AS verdict, send_stream_id, send_offset FROM identified
), judged AS (
    SELECT m.*, coalesce(v.verdict, 'none') AS verdict, v.send_stream_id, v.send_offset
    FROM (
        SELECT *, CASE WHEN repeated AND at_ns - head_ns <= {HORIZON_NS} THEN head_stream_id ELSE stream_id END AS first_stream_id,
               CASE WHEN repeated AND at_ns - head_ns <= {HORIZON_NS} THEN head_offset ELSE stream_offset END AS first_offset
        FROM message
    ) m LEFT JOIN verdicts v ON v.stream_id = m.first_stream_id AND v.stream_offset = m.first_offset
), doubtful AS (
    SELECT stream_id, stream_offset, max(CASE WHEN next_ns - at_ns <= {HORIZON_NS} THEN 1 ELSE 0 END) AS may_be
    FROM (
        SELECT stream_id, stream_offset, at_ns, step,
               min(CASE WHEN step < 1 THEN at_ns END) OVER (PARTITION BY {KEY} ORDER BY at_ns DESC, step, stream_id, stream_offset
                                                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_ns
        FROM (
            SELECT {KEY}, at_ns, 1 AS step, stream_id, stream_offset FROM numbered
            UNION ALL
            SELECT {KEY}, at_ns, -1 AS step, stream_id, stream_offset FROM decided WHERE verdict IN ('ambiguous', 'lost')
        ) either
    ) following WHERE step = 1 GROUP BY stream_id, stream_offset
)"""

ROWS = f"""
SELECT m.source, m.ts,
       m.send_stream_id, m.send_offset, s.sent_ns AS send_ns, s.effective_ns,
       m.stream_id AS message_stream_id, m.stream_offset AS message_offset, m.first_ns AS message_ns,
       s.destination, m.destination AS delivered_destination, m.destination_name, m.server_product, m.subscription,
       CASE WHEN m.verdict = 'lost' THEN 'ambiguous'
            WHEN m.verdict = 'none' AND m.broker_timestamp_us IS NOT NULL THEN 'timestamp' ELSE m.verdict END AS joined_by,
       CASE WHEN m.verdict = 'lost' THEN 'octets_lost' WHEN m.verdict = 'ambiguous' THEN 'unknown'
            WHEN m.verdict <> 'none' OR m.broker_timestamp_us IS NOT NULL THEN NULL
            WHEN m.at_ns IS NULL OR m.content_hash IS NULL OR m.repeated THEN 'unknown'
            WHEN x.sent_octets >= m.body_octets THEN 'octets_lost' ELSE 'no_send' END AS reason,
       CASE WHEN m.marked OR m.repeated THEN NULL
            WHEN m.verdict = 'none' AND m.broker_timestamp_us * 1000 <= m.first_ns
            THEN CAST(floor((m.first_ns - m.broker_timestamp_us * 1000) / 1000) AS BIGINT)
            WHEN s.agrees AND m.agrees AND m.first_ns >= s.effective_ns
            THEN CAST(floor((m.first_ns - s.effective_ns) / 1000) AS BIGINT) END AS residence_us,
       s.receipt_us,
       CASE WHEN m.send_stream_id IS NOT NULL AND NOT (m.marked OR m.repeated)
            THEN row_number() OVER (PARTITION BY m.send_stream_id, m.send_offset, m.marked OR m.repeated
                                    ORDER BY m.at_ns, m.stream_id, m.stream_offset) END AS copy,
       m.marked OR m.repeated AS redelivery, m.broker_timestamp_us, m.body_octets, m.body_hash, m.content_hash
FROM judged m
LEFT JOIN sent s ON s.stream_id = m.send_stream_id AND s.stream_offset = m.send_offset
LEFT JOIN lost x ON x.source = m.source AND x.slot = CAST(floor(m.at_ns / {HORIZON_NS}) AS BIGINT)
UNION ALL
SELECT s.source, s.ts,
       s.stream_id AS send_stream_id, s.stream_offset AS send_offset, s.sent_ns AS send_ns, s.effective_ns,
       NULL AS message_stream_id, NULL AS message_offset, NULL AS message_ns,
       s.destination, NULL AS delivered_destination, s.destination_name, s.server_product, NULL AS subscription,
       CASE WHEN d.may_be = 1 THEN 'ambiguous' ELSE 'none' END AS joined_by,
       CASE WHEN s.undone IS NOT NULL THEN s.undone WHEN d.may_be = 1 THEN 'unknown'
            WHEN s.at_ns + {HORIZON_NS} > s.end_ns THEN 'not_yet'
            WHEN s.at_ns IS NULL THEN 'unknown'
            WHEN x.got_octets >= s.body_octets THEN 'octets_lost'
            WHEN NOT s.has_consumer THEN 'no_consumer' ELSE 'unknown' END AS reason,
       NULL AS residence_us, s.receipt_us, NULL AS copy, false AS redelivery, NULL AS broker_timestamp_us,
       s.body_octets, s.body_hash, s.content_hash
FROM sent s
LEFT JOIN (SELECT DISTINCT send_stream_id, send_offset FROM judged WHERE send_stream_id IS NOT NULL) j
     ON j.send_stream_id = s.stream_id AND j.send_offset = s.stream_offset
LEFT JOIN doubtful d ON d.stream_id = s.stream_id AND d.stream_offset = s.stream_offset
LEFT JOIN lost x ON x.source = s.source AND x.slot = CAST(floor(s.at_ns / {HORIZON_NS}) AS BIGINT)
WHERE j.send_stream_id IS NULL"""

GATHERED = {"lives": LIVES, "sent": SENDS, "named": MESSAGES, "holes": HOLES}
"""What is gathered before, by name: its steps. The last three read the first."""

_OF_BODIES = (REPEATED, EVENTS, WALK, LOST, JOINED)


def gather(name: str, sends: str = "true", deliveries: str = "true") -> str:
    """The query for one of what is `GATHERED`, of the SENDs `x` and the MESSAGEs `d` that pass these conditions."""
    return Template(f"WITH {GATHERED[name]} SELECT * FROM {name}").substitute(sends=sends, deliveries=deliveries)


def journeys_of_gathered() -> str:
    """DuckDB's query for the rows of table journeys from tables `sent`, `named` and `holes`, whole or those of some bodies."""
    return _once(",".join(_OF_BODIES)) + ROWS


def journeys(sends: str = "true", deliveries: str = "true") -> str:
    """DuckDB's query for the rows of table journeys: of the SENDs `x` and the MESSAGEs `d` that pass these conditions."""
    steps = _once(",".join((LIVES, SENDS, MESSAGES, HOLES, *_OF_BODIES)))
    return Template(steps + ROWS).substitute(sends=sends, deliveries=deliveries)


def _once(steps: str) -> str:
    """Steps that DuckDB is told to work out once each."""
    return "WITH " + re.sub(r"\b(\w+) AS \(\n", r"\1 AS MATERIALIZED (\n", steps)
