"""The sequences of equal SENDs and MESSAGEs from which table journeys is made, and the walk along each (`stompcap.journeys.walk`).

DuckDB brings them into order; whole sequences come and go as columns, some rows at a time, whatever they are all together.
"""

# ruff: noqa: S608  the SQL consists of our own constants

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.columns import integers, truth
from stompcap.journeys.walk import Events, walk
from stompcap.lake import query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from duckdb import DuckDBPyConnection

KEY = "source, destination_name, content_hash, producer, lane"
"""What the SEND and the MESSAGE of a journey have in common: of ActiveMQ also the connection that the message id names, as far as it is
captured; in front of a proxy, that both are there. Each subscription of a topic is looked at by itself."""

EVENTS = f"""
WITH taking AS (
    SELECT m.source, m.destination_name, m.content_hash, m.producer, m.lane, m.at_ns, m.stream_id, m.stream_offset, m.early,
           m.message_no, CASE WHEN m.broker_id IS NULL AND m.marked OR m.moved_from IS NOT NULL THEN 0 ELSE -1 END AS step
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
), events AS (
    SELECT o.sequence, o.at_ns, 1 AS step, o.stream_id, o.stream_offset, o.early, s.sender, o.send_no,
           CAST(NULL AS BIGINT) AS message_no
    FROM offered o JOIN senders s ON s.stream_id = o.stream_id
    UNION ALL
    SELECT l.sequence, t.at_ns, t.step, t.stream_id, t.stream_offset, t.early, NULL, NULL, t.message_no
    FROM taking t JOIN lanes l ON l.source = t.source AND l.destination_name = t.destination_name
         AND l.content_hash = t.content_hash AND l.producer = t.producer AND l.lane = t.lane
)
SELECT sequence, at_ns, step, early, sender, send_no, message_no FROM events
ORDER BY sequence, at_ns, step DESC, stream_id, stream_offset"""
"""The sequences, in order. A SEND that no MESSAGE is like is in none."""

ROWS = 1 << 17
"""Rows of a batch; a sequence of more is walked along as a whole."""

WALKED = """
CREATE TABLE walked (sequence BIGINT, place BIGINT, at_ns BIGINT, send_no BIGINT, message_no BIGINT, from_no BIGINT,
                     possible BOOLEAN, single BOOLEAN, certain BOOLEAN, in_order BOOLEAN)"""


def walk_along(database: DuckDBPyConnection) -> None:
    """Make table walked from tables send, message, repeats and identified: the sequences, and what the walk found of each MESSAGE.

    `from_no` is the SEND that a MESSAGE comes from if one can be told (`stompcap.journeys.walk.Found`).
    """
    database.execute(WALKED)
    place = 0
    with query.beside(database, {}) as reading:
        for events in whole(reading.sql(EVENTS).to_arrow_reader(ROWS)):
            database.register("walked_along", _walked(events, place))
            database.execute("INSERT INTO walked SELECT * FROM walked_along")
            database.unregister("walked_along")
            place += events.num_rows


def whole(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows in the order of column sequence as tables that have each sequence as a whole."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        sequence = integers(batch.column("sequence"))
        if held and len(sequence) and sequence[-1] != held[-1].column("sequence")[-1].as_py():
            begin = int(np.searchsorted(sequence, sequence[-1]))
            yield pa.Table.from_batches([*held, batch.slice(0, begin)])
            held = [batch.slice(begin)]
        elif len(sequence):
            held.append(batch)
    if held:
        yield pa.Table.from_batches(held)


def _walked(events: pa.Table, place: int) -> pa.Table:
    """The rows of table walked, of which the first has this place."""
    sequence, at_ns, step, sender, send_no = (integers(events.column(name)) for name in ("sequence", "at_ns", "step", "sender", "send_no"))
    found = walk(Events(sequence, at_ns, step, truth(events.column("early")), sender))
    return pa.table({
        "sequence": sequence, "place": np.arange(place, place + events.num_rows), "at_ns": at_ns, "send_no": events.column("send_no"),
        "message_no": events.column("message_no"), "from_no": pa.array(send_no[found.send], mask=found.send < 0),
        "possible": found.possible, "single": found.single, "certain": found.certain, "in_order": found.in_order,
    })  # fmt: skip
