"""Validation of a lake with Great Expectations: results as rows of `quality_results`.

One pass adds up what the tables hold (stompcap.quality.profiles); the suites judge the small sums, as pandas frames. Where an
invariant's sums differ, a query finds the points that break it. The whole lake is judged each time, as a key
or a stream may come again in a later batch: sums make that cheap. What each row shows by itself is checked once, in a run, unless
something of it did not hold. Nothing is asked of the network, nothing is left cached.
"""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING

from stompcap.quality import exact, invariants
from stompcap.quality.profiles import profiles
from stompcap.spark.places import location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    import pyarrow as pa
    from pyspark.sql import SparkSession

CONNECT = ("pyspark.sql.connect.dataframe", "pyspark.sql.connect.session")


def prepare() -> None:
    """Begin to import Great Expectations, which takes seconds, beside what the caller does next."""
    Thread(target=_judging, daemon=True).start()


def _judging() -> ModuleType:
    """The module that judges, and Great Expectations with it.

    That asks for Spark Connect, and pyspark ends the process where its packages are lacking and the program has no file, as with
    `python -c` (pyspark.sql.connect.utils.check_dependencies). So the import system is made to find no such module meanwhile.
    """
    hidden = [name for name in CONNECT if find_spec("grpc") is None and name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None marks a module as missing
    try:
        return importlib.import_module("stompcap.quality.judging")
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def validate(
    spark: Callable[[], SparkSession], lake: str, run_id: str, tables: Sequence[str] | None = None, *, since: int = 0
) -> pa.Table:
    """Validate `tables` of the lake (all by default); one row per expectation, of the schema of `quality_results`.

    An invariant that joins tables is judged where all of them are among `tables`; what each row shows by itself in files added at
    `since` (milliseconds since the epoch) or later, all by default. `spark` gives the session, asked for where the lake is large or an
    invariant is broken. Raises KeyError for a table the lake does not have.
    """
    names = list(TABLES) if tables is None else [TABLES[name].name for name in tables]

    locations = {name: location(lake, name) for name in names}
    proofs = invariants.provable(names)
    with ThreadPoolExecutor(1) as pool:
        judging = pool.submit(_judging)
        found, sums = profiles(spark, locations, [name for name in names if name not in proofs], since)
    unproved = {table for table, proof in proofs.items() if not all(sums[name].agree for name in proof)}
    suspects = [name for name in names if name in unproved or (name not in proofs and (found[name].surplus or found[name].torn))]
    repeated = exact.surplus(lake, suspects, spark)
    broken = exact.offenders(lake, [rule for rule in invariants.INVARIANTS if rule.name in sums and not sums[rule.name].agree], spark)
    results: pa.Table = judging.result().judge(found, repeated, sums, broken, run_id)
    return results
