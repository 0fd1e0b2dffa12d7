"""The dear way, taken only where cheap sums say that something is wrong: queries that find the very points and keys."""

# ruff: noqa: S608  the SQL is put together from this package's own declarations only

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stompcap.spark.query import Query, ask
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from stompcap.quality.invariants import Invariant, Points

EXAMPLES = 3
"""Points that break an invariant that are shown."""

POINT = "stream_id, direction, word, stream_offset"


def offenders(lake: str, rules: Sequence[Invariant], spark: Callable[[], SparkSession]) -> dict[str, dict[str, Any]]:
    """Per invariant how many points its two sides do not hold equally often, and the first of them with how often each side does."""
    found = ask(lake, [_offenders(rule) for rule in rules], spark) if rules else {}
    broken = {}
    for rule in rules:
        rows = found[rule.name].to_pylist()
        named = dict(zip(("one_side", "other_side"), rule.names, strict=True))
        broken[rule.name] = {
            "broken": rows[0]["broken"] if rows else 0,
            "first": [{named.get(key, key): value for key, value in row.items() if key != "broken"} for row in rows],
        }
    return broken


def _offenders(rule: Invariant) -> Query:
    parts = [_points(points, "times", "0") for points in rule.left] + [_points(points, "0", "times") for points in rule.right]
    sql = f"""
    SELECT *, count(*) OVER () AS broken FROM (
        SELECT {POINT}, CAST(sum(one) AS BIGINT) AS one_side, CAST(sum(other) AS BIGINT) AS other_side
        FROM ({" UNION ALL ".join(parts)}) points GROUP BY {POINT}
    ) counted WHERE one_side <> other_side ORDER BY {POINT} LIMIT {EXAMPLES}"""
    return Query(rule.name, tuple(sorted(rule.needs)), sql)


def _points(points: Points, one: str, other: str) -> str:
    """SQL: the points of the table's rows, and how often each counts on either side."""
    where = [condition.sql for condition in points.where]
    if points.kept:
        where.append("(coalesce(protocol = 'stomp', false) OR stream_id IN (SELECT stream_id FROM raw_frames))")
    direction = "direction" if points.way is None else f"'{points.way}'"
    return f"""
        SELECT {POINT}, {one} AS one, {other} AS other FROM (
            SELECT stream_id, {direction} AS direction, {points.word or "CAST(NULL AS STRING)"} AS word,
                   {_total(points.at) or "CAST(0 AS BIGINT)"} AS stream_offset, {_total(points.times) or "CAST(1 AS BIGINT)"} AS times
            FROM {points.table} WHERE {" AND ".join(where) or "true"}) rows_of_{points.table}"""


def _total(columns: Iterable[str]) -> str:
    """SQL: the sum of some columns, null being 0."""
    return " + ".join(f"coalesce({column}, 0)" for column in columns)


def surplus(lake: str, tables: Iterable[str], spark: Callable[[], SparkSession]) -> dict[str, int]:
    """Rows too many for the keys they have, per table."""
    queries = []
    for name in tables:
        keys = ", ".join(TABLES[name].key)
        counted = f"SELECT (SELECT count(*) FROM {name}) - (SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {name}) keys) AS surplus"
        queries.append(Query(name, (name,), counted))
    return {name: answer.to_pylist()[0]["surplus"] for name, answer in ask(lake, queries, spark).items()} if queries else {}
