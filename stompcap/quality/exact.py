"""Expensive queries that find the very points and keys, run only where cheap sums show that something is wrong."""

# ruff: noqa: S608  the SQL is put together from this package's own declarations only

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stompcap.lake.query import Query, ask
from stompcap.quality.ranges import LONGEST, Faults, harmless_key
from stompcap.tables import TABLES
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from stompcap.lake.data_files import Files
    from stompcap.quality.invariants import Invariant, Points

EXAMPLES = 3
"""How many points that break an invariant are shown."""

POINT = "stream_id, direction, word, stream_offset"


def offenders(lake: str, rules: Sequence[Invariant], spark: Callable[[], SparkSession]) -> dict[str, dict[str, Any]]:
    """Per invariant how many points its two sides have unequally often, and the first of them with their counts on each side."""
    answers = ask(lake, [_offenders(rule) for rule in rules], spark) if rules else {}
    found = {}
    for rule in rules:
        rows = answers[rule.name].to_pylist()
        named = dict(zip(("one_side", "other_side"), rule.names, strict=True))
        found[rule.name] = {
            "broken": rows[0]["broken"] if rows else 0,
            "first": [{named.get(key, key): value for key, value in row.items() if key != "broken"} for row in rows],
        }
    return found


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
    direction = "direction" if points.side is None else f"'{points.side}'"
    return f"""
        SELECT {POINT}, {one} AS one, {other} AS other FROM (
            SELECT stream_id, {direction} AS direction, {points.word or "CAST(NULL AS STRING)"} AS word,
                   {_total(points.at) or "CAST(0 AS BIGINT)"} AS stream_offset, {_total(points.times) or "CAST(1 AS BIGINT)"} AS times
            FROM {points.table} WHERE {" AND ".join(where) or "true"}) rows_of_{points.table}"""


def _total(columns: Iterable[str]) -> str:
    """SQL: the sum of some columns, with null as 0."""
    return " + ".join(f"coalesce({column}, 0)" for column in columns)


def surplus(lake: str, files: Mapping[str, Files], spark: Callable[[], SparkSession]) -> dict[str, Faults]:
    """Per table how many rows of some files repeat a key, and the first of these keys, without text from the wire."""
    queries = []
    for name in files:
        keys, harmless = ", ".join(TABLES[name].key), [f"CAST({key} AS STRING) AS {key}" for key in harmless_key(TABLES[name])]
        counted = f"SELECT {keys}, count(*) - 1 AS surplus FROM {name} GROUP BY {keys} HAVING count(*) > 1"
        columns = ", ".join([*harmless, "CAST(sum(surplus) OVER () AS BIGINT) AS surplus"])
        queries.append(Query(name, (name,), f"SELECT {columns} FROM ({counted}) repeated ORDER BY {keys} LIMIT {EXAMPLES}"))
    found = {}
    for name, answer in (ask(lake, queries, spark, files) if queries else {}).items():
        rows = answer.to_pylist()
        if rows:
            first = [{key: visible(str(value), LONGEST) for key, value in row.items() if key != "surplus"} for row in rows]
            found[name] = Faults(rows[0]["surplus"], first)
    return found
