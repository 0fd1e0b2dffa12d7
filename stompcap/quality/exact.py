"""The dear way, taken only where cheap sums say that something is wrong: Spark finds the very points and keys."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from stompcap.quality.invariants import Invariant, Points

    Reader = Callable[[str], DataFrame]

POINT = ("stream_id", "direction", "word", "at")


def offenders(read: Reader, rule: Invariant) -> DataFrame:
    """The points that the two sides of an invariant do not hold equally often: `POINT` and, by the rule's names, how often each does."""
    left, right = rule.names
    parts = [_points(read, points).withColumns({left: F.col("times"), right: F.lit(0)}) for points in rule.left]
    parts += [_points(read, points).withColumns({left: F.lit(0), right: F.col("times")}) for points in rule.right]
    counted = reduce(lambda a, b: a.unionAll(b), parts).groupBy(*POINT)
    return counted.agg(F.sum(left).alias(left), F.sum(right).alias(right)).where(f"{left} <> {right}")


def _points(read: Reader, points: Points) -> DataFrame:
    """One row per row of the table: its point, and how often it counts."""
    rows = read(points.table)
    if points.kept:
        held = read("raw_frames").select("stream_id").distinct()
        stomp = F.expr("protocol <=> 'stomp'")
        rows = rows.where(stomp).unionAll(rows.where(~stomp).join(held, "stream_id", "left_semi").select(*rows.columns))
    for condition in points.where:
        rows = rows.where(condition.sql)
    return rows.selectExpr(
        "stream_id",
        "direction" if points.way is None else f"'{points.way}' AS direction",
        f"{points.word or 'CAST(NULL AS STRING)'} AS word",
        f"{_total(points.at) or 'CAST(0 AS BIGINT)'} AS at",
        f"{_total(points.times) or 'CAST(1 AS BIGINT)'} AS times",
    )


def _total(columns: Iterable[str]) -> str:
    """SQL: the sum of some columns, null being 0."""
    return " + ".join(f"coalesce({column}, 0)" for column in columns)


def surplus(read: Reader, tables: Iterable[str]) -> dict[str, int]:
    """Rows too many for the keys they have, per table, in one query."""
    counted = [
        read(name).agg(
            F.lit(name).alias("table_name"),
            (F.count(F.lit(1)) - F.count_distinct(F.struct(*TABLES[name].key))).alias("surplus"),
        )
        for name in tables
    ]
    if not counted:
        return {}
    return {row.table_name: row.surplus for row in reduce(lambda a, b: a.unionAll(b), counted).collect()}
