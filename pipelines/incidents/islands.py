"""SQL: incidents as islands of events that follow each other, with the first connections of each.

Each row is one of the first events of an island, and has the sums of the island beside its own.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.incidents.flagged import EVENT, NO_NUMBER, NO_TEXT, OF_TRAFFIC, SECOND_NS
from pipelines.incidents.kinds import Kind
from pipelines.incidents.relations import make

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from stompcap.lake.data_files import Files

SAMPLES = 10
_SAME = ("kind", "source", "subject_kind", "subject", "server_product", "what")


def islands(database: DuckDBPyConnection, tables: Mapping[str, Files | pa.Table], kinds: Sequence[Kind]) -> pa.Table:
    """The first events of each island, from the tables of `pipelines.incidents.kinds.TABLES`, of which the database has views."""
    make(database, tables, {f"{kind.name}_events": _events(kind) for kind in kinds})
    return database.sql(f"WITH {_joined(kinds)}").to_arrow_table()


def _events(kind: Kind) -> str:
    names = ", ".join((*EVENT, *OF_TRAFFIC))
    without = ", ".join((*EVENT, f"{NO_TEXT} AS destination_name", *(f"{NO_NUMBER} AS {name}" for name in OF_TRAFFIC[1:])))
    return (
        f"SELECT '{kind.name}' AS kind, CAST({kind.gap_s * SECOND_NS} AS BIGINT) AS gap_ns, {names if kind.traffic else without} "
        f"FROM ({kind.sql}) happened"
    )


def _joined(kinds: Sequence[Kind]) -> str:
    every = " UNION ALL ".join(f"SELECT * FROM {kind.name}_events" for kind in kinds)
    return f"""happened AS MATERIALIZED (
        SELECT *, row_number() OVER () AS event FROM ({every}) every
    ), alike AS MATERIALIZED (
        SELECT *, row_number() OVER () AS number FROM (SELECT DISTINCT {", ".join(_SAME)} FROM happened) every
    ), placed AS (
        SELECT h.event, a.number, h.begin_ns, h.end_ns, h.gap_ns, row_number() OVER (
                   PARTITION BY a.number ORDER BY h.begin_ns, h.stream_id, h.direction, h.stream_offset) AS place
        FROM happened h JOIN alike a ON {" AND ".join(f"a.{name} IS NOT DISTINCT FROM h.{name}" for name in _SAME)}
    ), reached AS (
        SELECT *, max(coalesce(end_ns, begin_ns)) OVER (PARTITION BY number ORDER BY place
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ns
        FROM placed
    ), numbered AS MATERIALIZED (
        SELECT event, number, place, count(*) FILTER (reached_ns IS NULL OR begin_ns - reached_ns > gap_ns) OVER (
                   PARTITION BY number ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS island
        FROM reached
    ), summed AS (
        SELECT n.number, n.island, min(n.place) AS first_place, min(h.begin_ns) AS first_ns, max(h.begin_ns) AS latest_ns,
               CASE WHEN count(h.end_ns) = count(*) THEN max(h.end_ns) END AS until_ns,
               count(*) AS events, CAST(sum(h.messages) AS BIGINT) AS all_messages, min(h.amount) AS least,
               sum(h.amount ORDER BY n.place) / count(h.amount) AS mean, max(h.amount) AS most, sum(h.amount ORDER BY n.place) AS total,
               min(h.text) AS quoted, max(h.server_product) AS product,
               CASE WHEN min(h.destination_name) = max(h.destination_name) THEN min(h.destination_name) END AS destination,
               min(h.before) AS usual, sum(h.backlog ORDER BY n.place) AS grown, max(h.late_s) AS latest_s
        FROM numbered n JOIN happened h ON h.event = n.event GROUP BY n.number, n.island
    )
    SELECT h.kind, h.source, h.subject_kind, h.subject, t.product AS server_product, h.what, t.quoted AS text, t.first_ns AS begin_ns,
           t.latest_ns, t.until_ns AS end_ns, h.gap_ns, t.events, t.all_messages AS messages, t.least, t.mean, t.most, t.total,
           n.place - t.first_place + 1 AS nth, h.stream_id, h.direction, h.stream_offset, t.destination AS destination_name,
           t.usual AS before, t.grown AS backlog, t.latest_s AS late_s, c.seen_ns, c.began_ns
    FROM numbered n JOIN summed t ON t.number = n.number AND t.island = n.island AND n.place < t.first_place + {SAMPLES}
    JOIN happened h ON h.event = n.event
    LEFT JOIN (SELECT source, max(last_ns) AS seen_ns, min(first_ns) AS began_ns FROM captures GROUP BY source) c ON c.source = h.source
    ORDER BY h.kind, h.source, h.subject_kind, h.subject, t.product, h.what, t.first_ns, nth"""
