"""Steps of the SQL of table journeys (`pipelines.metrics.journeys_sql`): the sequences of equal SENDs and MESSAGEs, and a walk along each.

What the walk knows of a MESSAGE is how many SENDs it could be, and its place among MESSAGEs for which SENDs wait.
"""

# ruff: noqa: S608  the SQL consists of our own constants and of numbers

from __future__ import annotations

HORIZON_NS = 3600 * 10**9
"""How long a MESSAGE may come behind its SEND to be joined to it."""

LONG = 2
"""Horizons that a sequence of equal messages may last without a pause of one, for its messages to be told apart by their order."""

KEY = "source, destination_name, content_hash, producer, lane"
"""What the SEND and the MESSAGE of a journey have in common: of ActiveMQ also the connection that the message id names, as far as it is
captured; of a topic it is looked at for each subscription by itself."""

SEQUENCE = "content_hash, sequence"
"""The same in two numbers, which windows sort and hash faster than words: the sequences of one content are numbered."""

ORDER = "ORDER BY at_ns, step DESC, stream_id, stream_offset"
UPTO = f"{ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"

EVENTS = f"""
candidates AS (
    SELECT * FROM sent
    WHERE undone IS NULL AND at_ns IS NOT NULL AND content_hash IS NOT NULL AND number IS NULL
), taking AS (
    SELECT m.*, CASE WHEN m.broker_id IS NULL AND m.marked THEN 0 ELSE -1 END AS step,
           dense_rank() OVER (PARTITION BY m.content_hash ORDER BY m.source, m.destination_name, m.producer, m.lane) AS sequence
    FROM message m LEFT JOIN identified i ON i.stream_id = m.stream_id AND i.stream_offset = m.stream_offset
    WHERE i.stream_id IS NULL AND NOT m.repeated AND m.at_ns IS NOT NULL AND m.content_hash IS NOT NULL
), lanes AS (
    SELECT DISTINCT {KEY}, sequence FROM taking
), offered AS (
    SELECT c.source, c.destination_name, c.content_hash, c.producer, l.lane, l.sequence, c.at_ns, c.stream_id, c.stream_offset,
           c.octets, c.alone, c.early AND l.lane = '' AS early, c.server_product
    FROM candidates c JOIN lanes l ON l.source = c.source AND l.destination_name = c.destination_name
         AND l.content_hash = c.content_hash AND l.producer = c.producer
), numbered AS (
    SELECT *, row_number() OVER in_lane AS nth, lag(at_ns) OVER in_lane AS earlier_ns
    FROM offered WINDOW in_lane AS (PARTITION BY {SEQUENCE} ORDER BY at_ns, stream_id, stream_offset)
), events AS (
    SELECT {SEQUENCE}, at_ns, 1 AS step, stream_id, stream_offset, early, server_product, at_ns AS offered_ns, earlier_ns FROM numbered
    UNION ALL
    SELECT {SEQUENCE}, at_ns, step, stream_id, stream_offset, early, server_product,
           CAST(NULL AS BIGINT) AS offered_ns, CAST(NULL AS BIGINT) AS earlier_ns FROM taking
)"""
"""The sequences: a step of 1 is a SEND, of -1 a MESSAGE; of 0 one that a broker marks as delivered before without saying which it is.

A SEND that no MESSAGE is like is in none."""

WALK = f"""
before AS (
    SELECT *, lag(at_ns) OVER (PARTITION BY {SEQUENCE}, abs(step) {ORDER}) AS previous_ns,
           sum(CASE WHEN step = 1 THEN 1 ELSE 0 END) OVER in_lane AS offers,
           max(offered_ns) OVER in_lane AS latest_ns, max(earlier_ns) OVER in_lane AS second_ns,
           max(CASE WHEN step = -1 THEN at_ns END) OVER in_lane AS heard_ns,
           sum(CASE WHEN step = -1 THEN 1 ELSE 0 END) OVER in_lane AS heard
    FROM events WINDOW in_lane AS (PARTITION BY {SEQUENCE} {UPTO})
), chained AS (
    SELECT *, sum(CASE WHEN at_ns - previous_ns <= {HORIZON_NS} THEN 0 ELSE 1 END)
              OVER (PARTITION BY {SEQUENCE}, abs(step) {UPTO}) AS chain,
           max(CASE WHEN step = 1 THEN heard_ns END) OVER in_lane AS heard_before_ns,
           heard - max(CASE WHEN step = 1 THEN heard END) OVER in_lane AS heard_since
    FROM before WINDOW in_lane AS (PARTITION BY {SEQUENCE} {UPTO})
), summed AS (
    SELECT *, sum(step) OVER (PARTITION BY {SEQUENCE}, abs(step), chain {UPTO}) AS height,
           max(at_ns) OVER whole - min(at_ns) OVER whole > {LONG * HORIZON_NS} AS endless,
           max(CASE WHEN early THEN 1 ELSE 0 END) OVER whole = 1
               AND greatest(sum(CASE WHEN step = 1 THEN 1 ELSE 0 END) OVER whole, sum(CASE WHEN step = -1 THEN 1 ELSE 0 END) OVER whole) > 1
               AS inherited
    FROM chained WINDOW whole AS (PARTITION BY {SEQUENCE}, abs(step), chain)
), floored AS (
    SELECT *, least(0, coalesce(min(height) OVER (PARTITION BY {SEQUENCE}, abs(step), chain {ORDER}
                                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS low
    FROM summed
), waiting AS (
    SELECT *, step = -1 AND height < low AS excess, height - step - low AS waited FROM floored
), bursts AS (
    SELECT *, sum(CASE WHEN excess OR (step = 1 AND waited = 0) THEN 1 ELSE 0 END) OVER (PARTITION BY {SEQUENCE}, abs(step), chain {UPTO})
              AS burst,
           max(CASE WHEN excess THEN 1 ELSE 0 END) OVER (PARTITION BY {SEQUENCE}, abs(step), chain) = 1 AS spoiled
    FROM waiting
), ranked AS (
    SELECT *, sum(step) OVER whole AS rest,
           sum(CASE WHEN step = -1 THEN 1 ELSE 0 END) OVER (PARTITION BY {SEQUENCE}, abs(step), chain, burst {UPTO}) AS place,
           min(CASE WHEN step = 1 THEN offers END) OVER whole AS first_offer,
           min(CASE WHEN step = 1 THEN stream_id END) OVER whole = max(CASE WHEN step = 1 THEN stream_id END) OVER whole AS of_one
    FROM bursts WINDOW whole AS (PARTITION BY {SEQUENCE}, abs(step), chain, burst)
), asked AS (
    SELECT *, coalesce(at_ns - latest_ns <= {HORIZON_NS}, false) AS possible,
           coalesce(at_ns - latest_ns <= {HORIZON_NS}, false) AND coalesce(at_ns - second_ns > {HORIZON_NS}, true) AS single,
           coalesce(at_ns - heard_before_ns > {HORIZON_NS}, true) AND heard_since <= 1
               AND NOT CASE WHEN heard_since = 0 THEN early
                            ELSE max(CASE WHEN step = -1 THEN 2 * heard + CASE WHEN inherited THEN 1 ELSE 0 END END)
                                     OVER (PARTITION BY {SEQUENCE} {UPTO}) % 2 = 1 END AS repeats_it,
           step = -1 AND rest = 0 AND of_one AND NOT excess AND NOT spoiled AND NOT endless AND NOT inherited AS in_order
    FROM ranked r JOIN lanes l USING (content_hash, sequence) WHERE step < 1
)"""
"""Of each MESSAGE: how many SENDs it could be; and its place in a burst, which begins where nothing waits and ends where nothing waits.

`height` less `low` is how many SENDs wait behind an event; a MESSAGE for which none waits is in excess: a SEND is not captured. SENDs of
several connections that wait together have no order: a broker takes them as it likes. A MESSAGE that was delivered before (step 0) comes of
the one SEND if nothing that it may repeat comes of another.

Where a connection was open before the capture, messages like these may have been waiting: a sequence of several that begins within a
horizon of that tells no order (`inherited`), for its first MESSAGE may come of a SEND from before. A subscription of a topic that is new
has nothing waiting."""
