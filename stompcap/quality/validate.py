"""Validation of a lake with Great Expectations: results as rows of `quality_results`, and Data Docs for people.

Spark gathers the facts (stompcap.quality.facts); the suites judge them. What a table holds is judged from its profile, a few values
that fit a pandas frame; the invariants are SQL over one row per stream direction, which stays in Spark. Nothing is asked of the
network, nothing is left cached.
"""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from stompcap.quality import facts
from stompcap.quality.profiles import profiles
from stompcap.spark import lake as lakes
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def validate(
    spark: SparkSession, lake: str, run_id: str, tables: Sequence[str] | None = None, docs: str | None = None
) -> pa.Table:
    """Validate `tables` of the lake (all by default); one row per expectation, of the schema of `quality_results`.

    An invariant that joins tables is judged where all of them are among `tables`. `docs` names the local folder that the Data Docs
    are written to, `index.html` at its top; without it none are written. Raises KeyError for a table the lake does not have.
    """
    names = list(TABLES) if tables is None else [TABLES[name].name for name in tables]

    def read(name: str) -> DataFrame:
        return lakes.read(spark, lake, name)

    locations = {name: lakes.location(lake, name) for name in names}
    proved = facts.provable(names)
    sums = facts.directions(read, names)
    if sums is not None:
        sums.persist()
    try:
        # Great Expectations takes seconds to import, Spark's jobs are planned on the driver: neither waits for the other.
        with ThreadPoolExecutor(2) as pool:
            judging = pool.submit(importlib.import_module, "stompcap.quality.judging")
            profiled = pool.submit(profiles, spark, locations, [name for name in names if name not in proved])
            surplus = facts.duplicates(read, sums, proved) if sums is not None else {}
            broken = facts.broken(spark, sums, names) if sums is not None else None
        found: pa.Table = judging.result().judge(profiled.result(), surplus, broken, run_id, docs)
        return found
    finally:
        if sums is not None:
            sums.unpersist()
