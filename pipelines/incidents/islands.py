"""SQL: incidents as islands of events that follow each other, with the first connections of each.

Each row is one of the first events of an island, and has the sums of the island beside its own.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.incidents import (
    connection_events,
    consumer_events,
    consumer_minutes,
    cut_events,
    destination_events,
    end_events,
    instance_events,
    leaps,
    silent_brokers,
    unread_events,
    wire_events,
)
from pipelines.incidents.flagged import EVENT, NO_NUMBER, NO_TEXT, OF_TRAFFIC, SECOND_NS
from pipelines.incidents.kinds import Kind
from stompcap.views import VIEWS

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

SAMPLES = 10
_ORDER = "begin_ns, stream_id, direction, stream_offset"
"""Total, so that the samples of an incident are the same however the tables' files lie."""
_SAME = "kind, source, subject_kind, subject, server_product, what"


def islands(database: DuckDBPyConnection, kinds: Sequence[Kind]) -> pa.Table:
    """The first events of each island, from the tables of `pipelines.incidents.kinds.TABLES`.

    Each relation that kinds share is made once, in a table of its own: DuckDB then knows how large it is, and holds one at a time.
    """
    relate(database, _happened(kinds))
    return database.sql(f"WITH {_joined(kinds)}").to_arrow_table()


def relate(database: DuckDBPyConnection, sql: str) -> None:
    """Make the relations that a query names, each as a table."""
    for name, relation in _relations(sql).items():
        database.execute(f"CREATE TEMP TABLE {name} AS {relation}")


def _happened(kinds: Sequence[Kind]) -> str:
    """The events of all kinds."""
    names = ", ".join((*EVENT, *OF_TRAFFIC))
    without = ", ".join((*EVENT, f"{NO_TEXT} AS destination_name", *(f"{NO_NUMBER} AS {name}" for name in OF_TRAFFIC[1:])))
    return " UNION ALL ".join(
        f"SELECT '{kind.name}' AS kind, CAST({kind.gap_s * SECOND_NS} AS BIGINT) AS gap_ns, {names if kind.traffic else without} "
        f"FROM ({kind.sql}) {kind.name}_events"
        for kind in kinds
    )


def _joined(kinds: Sequence[Kind]) -> str:
    return f"""happened AS ({_happened(kinds)}), reached AS (
        SELECT *, max(coalesce(end_ns, begin_ns)) OVER (PARTITION BY {_SAME} ORDER BY {_ORDER}
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ns
        FROM happened
    ), numbered AS (
        SELECT *, sum(CASE WHEN reached_ns IS NULL OR begin_ns - reached_ns > gap_ns THEN 1 ELSE 0 END) OVER (
                      PARTITION BY {_SAME} ORDER BY {_ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS island
        FROM reached
    ), summed AS (
        SELECT *, row_number() OVER (PARTITION BY {_SAME}, island ORDER BY {_ORDER}) AS nth,
               min(begin_ns) OVER whole AS first_ns, max(begin_ns) OVER whole AS latest_ns,
               CASE WHEN count(end_ns) OVER whole = count(*) OVER whole THEN max(end_ns) OVER whole END AS until_ns,
               count(*) OVER whole AS events, CAST(sum(messages) OVER whole AS BIGINT) AS all_messages, min(amount) OVER whole AS least,
               avg(amount) OVER whole AS mean, max(amount) OVER whole AS most, CAST(sum(amount) OVER whole AS DOUBLE) AS total,
               min(text) OVER whole AS quoted, max(server_product) OVER whole AS product,
               CASE WHEN min(destination_name) OVER whole = max(destination_name) OVER whole THEN min(destination_name) OVER whole END
               AS destination, min(before) OVER whole AS usual,
               CAST(sum(backlog) OVER whole AS DOUBLE) AS grown, max(late_s) OVER whole AS latest_s
        FROM numbered WINDOW whole AS (PARTITION BY {_SAME}, island)
    )
    SELECT t.kind, t.source, t.subject_kind, t.subject, t.product AS server_product, t.what, t.quoted AS text, t.first_ns AS begin_ns,
           t.latest_ns, t.until_ns AS end_ns, t.gap_ns, t.events, t.all_messages AS messages, t.least, t.mean, t.most, t.total, t.nth,
           t.stream_id, t.direction, t.stream_offset, t.destination AS destination_name, t.usual AS before,
           t.grown AS backlog, t.latest_s AS late_s, c.seen_ns, c.began_ns
    FROM summed t LEFT JOIN (SELECT source, max(last_ns) AS seen_ns, min(first_ns) AS began_ns FROM captures GROUP BY source) c
    ON c.source = t.source
    WHERE t.nth <= {SAMPLES} ORDER BY t.kind, t.source, t.subject_kind, t.subject, t.product, t.what, t.first_ns, t.nth"""


def _relations(sql: str) -> dict[str, str]:
    """The relations that a query names, each behind those that it names itself."""
    every = {**leaps.CTES, "ends": VIEWS["session_ends"].of(), "stops": end_events.STOPS, "idles": end_events.IDLES,
             **connection_events.CTES, **consumer_minutes.CTES, **cut_events.CTES, **wire_events.CTES,
             **consumer_events.CTES, **instance_events.CTES, **destination_events.CTES, **unread_events.CTES,
             **silent_brokers.CTES}  # fmt: skip
    found: list[str] = []
    for name in reversed(every):
        if re.search(rf"\b(FROM|JOIN) {name}\b", " ".join([sql, *(every[one] for one in found)])):
            found.append(name)
    return {name: every[name] for name in reversed(found)}
