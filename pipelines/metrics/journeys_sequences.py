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

UPTO = "ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
TO_PREVIOUS = "ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"

EVENTS = f"""
taking AS (
    SELECT m.source, m.destination_name, m.content_hash, m.producer, m.lane, m.at_ns, m.stream_id, m.stream_offset, m.early,
           m.message_no, CASE WHEN m.broker_id IS NULL AND m.marked THEN 0 ELSE -1 END AS step
    FROM message m
    WHERE m.at_ns IS NOT NULL AND m.content_hash IS NOT NULL AND m.message_no NOT IN (SELECT message_no FROM repeats)
          AND m.message_no NOT IN (SELECT message_no FROM identified)
), lanes AS (
    SELECT *, row_number() OVER () AS sequence FROM (SELECT DISTINCT {KEY} FROM taking) every
), offered AS (
    SELECT l.sequence, c.at_ns, c.stream_id, c.stream_offset, c.early AND l.lane = '' AS early, c.send_no
    FROM send c JOIN lanes l ON l.source = c.source AND l.destination_name = c.destination_name
         AND l.content_hash = c.content_hash AND l.producer = c.producer
    WHERE c.undone IS NULL AND c.at_ns IS NOT NULL AND c.content_hash IS NOT NULL AND c.number IS NULL
), senders AS (
    SELECT stream_id, row_number() OVER () AS sender FROM (SELECT DISTINCT stream_id FROM offered) every
), happened AS (
    SELECT o.sequence, o.at_ns, 1 AS step, o.stream_id, o.stream_offset, o.early, s.sender, o.send_no,
           CAST(NULL AS BIGINT) AS message_no
    FROM offered o JOIN senders s ON s.stream_id = o.stream_id
    UNION ALL
    SELECT l.sequence, t.at_ns, t.step, t.stream_id, t.stream_offset, t.early, NULL, NULL, t.message_no
    FROM taking t JOIN lanes l ON l.source = t.source AND l.destination_name = t.destination_name
         AND l.content_hash = t.content_hash AND l.producer = t.producer AND l.lane = t.lane
), events AS (
    SELECT sequence, at_ns, step, early, sender, send_no, message_no,
           row_number() OVER (PARTITION BY sequence ORDER BY at_ns, step DESC, stream_id, stream_offset) AS place
    FROM happened
)"""
"""The sequences: a step of 1 is a SEND, of -1 a MESSAGE; of 0 one that a broker marks as delivered before without saying which it is.

A SEND that no MESSAGE is like is in none. Sequences, events and their order are numbers from here on, which windows sort much faster than
words.
"""

WALK = f"""
before AS (
    SELECT *, max(at_ns) FILTER (step <> 0) OVER to_previous AS previous_ns,
           count(*) FILTER (step = 1) OVER upto AS offers, max(at_ns) FILTER (step = 1) OVER upto AS latest_ns,
           max(at_ns) FILTER (step = 1) OVER to_previous AS earlier_ns,
           max(at_ns) FILTER (step = -1) OVER upto AS heard_ns, count(*) FILTER (step = -1) OVER upto AS heard
    FROM events WINDOW upto AS (PARTITION BY sequence {UPTO}), to_previous AS (PARTITION BY sequence {TO_PREVIOUS})
), chained AS (
    SELECT *, count(*) FILTER (step <> 0 AND (previous_ns IS NULL OR at_ns - previous_ns > {HORIZON_NS})) OVER upto AS chain,
           max(earlier_ns) FILTER (step = 1) OVER upto AS second_ns, max(heard_ns) FILTER (step = 1) OVER upto AS heard_before_ns,
           heard - max(heard) FILTER (step = 1) OVER upto AS heard_since
    FROM before WINDOW upto AS (PARTITION BY sequence {UPTO})
), summed AS (
    SELECT *, count(*) FILTER (step = 1) OVER upto - count(*) FILTER (step = -1) OVER upto AS height,
           max(at_ns) FILTER (step <> 0) OVER whole - min(at_ns) FILTER (step <> 0) OVER whole > {LONG * HORIZON_NS} AS endless,
           count(*) FILTER (early AND step <> 0) OVER whole > 0
               AND greatest(count(*) FILTER (step = 1) OVER whole, count(*) FILTER (step = -1) OVER whole) > 1 AS inherited
    FROM chained WINDOW whole AS (PARTITION BY sequence, chain), upto AS (PARTITION BY sequence, chain {UPTO})
), floored AS (
    SELECT *, least(0, coalesce(min(height) FILTER (step <> 0) OVER (PARTITION BY sequence, chain {TO_PREVIOUS}), 0)) AS low FROM summed
), waiting AS (
    SELECT *, step = -1 AND height < low AS excess, height - step - low AS waited FROM floored
), bursts AS (
    SELECT *, count(*) FILTER (excess OR (step = 1 AND waited = 0)) OVER (PARTITION BY sequence, chain {UPTO}) AS burst,
           count(*) FILTER (excess) OVER (PARTITION BY sequence, chain) > 0 AS spoiled
    FROM waiting
), ranked AS (
    SELECT *, count(*) FILTER (step = 1) OVER whole - count(*) FILTER (step = -1) OVER whole AS rest,
           count(*) FILTER (step = -1) OVER (PARTITION BY sequence, chain, burst {UPTO}) AS nth,
           min(offers) FILTER (step = 1) OVER whole AS first_offer, min(sender) OVER whole = max(sender) OVER whole AS of_one
    FROM bursts WINDOW whole AS (PARTITION BY sequence, chain, burst)
), asked AS (
    SELECT *, coalesce(at_ns - latest_ns <= {HORIZON_NS}, false) AS possible,
           coalesce(at_ns - latest_ns <= {HORIZON_NS}, false) AND coalesce(at_ns - second_ns > {HORIZON_NS}, true) AS single,
           coalesce(at_ns - heard_before_ns > {HORIZON_NS}, true) AND heard_since <= 1
               AND NOT CASE WHEN heard_since = 0 THEN early
                            ELSE max(2 * heard + CASE WHEN inherited THEN 1 ELSE 0 END) FILTER (step = -1)
                                     OVER (PARTITION BY sequence {UPTO}) % 2 = 1 END AS repeats_it,
           step = -1 AND rest = 0 AND of_one AND NOT excess AND NOT spoiled AND NOT endless AND NOT inherited AS in_order
    FROM ranked WHERE step < 1
)"""
"""Of each MESSAGE: how many SENDs it could be; and its place in a burst, which begins where nothing waits and ends where nothing waits.

`height` less `low` is how many SENDs wait behind an event; a MESSAGE for which none waits is in excess: a SEND is not captured. SENDs of
several connections that wait together have no order: a broker takes them as it likes. A MESSAGE that was delivered before (step 0) comes of
the one SEND if nothing that it may repeat comes of another.

Where a connection was open before the capture, messages like these may have been waiting: a sequence of several that begins within a
horizon of that tells no order (`inherited`), for its first MESSAGE may come of a SEND from before. A subscription of a topic that is new
has nothing waiting."""
