"""The SQL of what the capture lacks, for table journeys: a hole with room for a SEND leaves it open whether there was another one."""

# ruff: noqa: S608  the SQL consists of our own constants and of numbers

from __future__ import annotations

from stompcap.journeys.walk import HORIZON_NS

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
SELECT s.source, s.slot, max(CASE WHEN h.direction = 'c2s' AND h.last_slot >= s.slot - 1 AND h.first_slot <= s.slot
                                  THEN h.octets END) AS sent_octets,
       max(CASE WHEN h.direction = 's2c' AND h.last_slot >= s.slot AND h.first_slot <= s.slot + 1 THEN h.octets END) AS got_octets
FROM (
    SELECT DISTINCT source, slot FROM (
        SELECT source, CAST(floor(at_ns / {HORIZON_NS}) AS BIGINT) AS slot FROM message
        UNION ALL SELECT source, CAST(floor(at_ns / {HORIZON_NS}) AS BIGINT) AS slot FROM send
    ) either
) s JOIN holes h ON h.source = s.source AND h.first_slot <= s.slot + 1 AND h.last_slot >= s.slot - 1
GROUP BY s.source, s.slot"""
"""What is missing around each time: the longest hole in a span of one horizon and the one before it (behind it)."""
