"""The facts that join tables: one row of sums per stream direction, gathered by one Spark query that never reads an octet.

Equal sets of offsets are told by equal counts and equal sums of hashes (31 bits an offset), which needs no sort and no shuffle of
rows. Intervals tile [0, octets) if and only if their starts with `octets` are, as multisets, their ends with 0, no interval being empty:
at every point one more has begun than has ended. So the same sums prove the tiling, and with it that no key occurs twice.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from stompcap.quality.invariants import BOTH, INVARIANTS, MEASURES, PROOFS
from stompcap.tables import TABLES, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    Reader = Callable[[str], DataFrame]

MOST = 1000
"""Broken directions that are judged one by one."""


def directions(read: Reader, names: Sequence[str]) -> DataFrame | None:
    """One row per stream direction (stream_id, direction) with the sums of every measure of the tables `names`.

    A sum over no row is 0. None where no table has a measure.
    """
    parts = []
    for name in names:
        measures = [m for m in MEASURES if m.table == name]
        if not measures:
            continue
        way = measures[0].direction
        rows = read(name).withColumn("direction", F.expr("explode(array('c2s', 's2c'))" if way == BOTH else way))
        sums = [F.expr(f"sum({m.over(sql)}) AS {m.name}_{kind}") for m in measures for kind, sql in m.sums.items()]
        parts.append(rows.groupBy("stream_id", "direction").agg(*sums))
    if not parts:
        return None
    joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    totals = [c for c in joined.columns if c not in ("stream_id", "direction")]
    return joined.groupBy("stream_id", "direction").agg(*[F.expr(f"coalesce(sum({c}), 0) AS {c}") for c in totals])


def broken(spark: SparkSession, facts: DataFrame, names: Sequence[str]) -> DataFrame | None:
    """The directions that break an invariant of the tables `names`, `MOST` at most, as a small local frame; None without invariants."""
    rules = [rule.broken for rule in INVARIANTS if set(rule.needs) <= set(names)]
    if not rules:
        return None
    rows = facts.where(" OR ".join(rules)).limit(MOST).collect()
    return spark.createDataFrame(rows, facts.schema)


def provable(names: Sequence[str]) -> list[str]:
    """The tables of `names` whose keys the sums prove, all that their proof needs being among `names`."""
    return [name for name, (needs, _) in PROOFS.items() if name in names and set(needs) <= set(names)]


def duplicates(read: Reader, facts: DataFrame, names: Sequence[str]) -> dict[str, int]:
    """Rows too many for the keys they have, per provable table: counted exactly, but only in streams where the proof fails."""
    if not names:
        return {}
    failing = facts.agg(*[F.expr(f"count_if({PROOFS[name][1]}) AS {name}") for name in names]).collect()[0]
    found = dict.fromkeys(names, 0)
    suspects = [name for name in names if failing[name]]
    if suspects:
        counted = [_surplus(read(name), facts.where(PROOFS[name][1]), TABLES[name]) for name in suspects]
        found |= {row.table_name: row.surplus for row in reduce(lambda a, b: a.unionAll(b), counted).collect()}
    return found


def _surplus(frame: DataFrame, suspect: DataFrame, table: Table) -> DataFrame:
    """One row: table_name and surplus, over the streams of the suspect directions."""
    rows = frame.join(suspect.select("stream_id").distinct(), "stream_id", "left_semi")
    surplus = F.count(F.lit(1)) - F.count_distinct(F.struct(*table.key))
    return rows.agg(F.lit(table.name).alias("table_name"), surplus.alias("surplus"))
