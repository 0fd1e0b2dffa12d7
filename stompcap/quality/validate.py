"""Validation of a lake with Great Expectations: results as rows of `quality_results`.

One pass adds up the tables' content (stompcap.quality.profiles); the suites check the small sums, as pandas frames. Where an
invariant's sums differ, a query finds the points that break it. The whole lake is validated each time, because a key
or a stream may come again in a later batch; but a run reads the new files only, as the reports on the others are kept
(stompcap.quality.kept). Nothing uses the network.
"""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.lake import data_files, open_tables, query
from stompcap.lake.paths import location
from stompcap.quality import across, balances, exact, invariants, kept
from stompcap.quality.ahead import Ahead
from stompcap.quality.hashes import Wanted
from stompcap.quality.profiles import Found, profiles
from stompcap.quality.quantities import LEDGERS, ledgers_of
from stompcap.quality.report import Asked
from stompcap.settings import Quality
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from pyspark.sql import SparkSession

    from stompcap.quality.blocks import Block


FAILING = 1 << 20
"""Keys that break checks across tables, of which it is known at most which they are."""


def prepare() -> None:
    """Begin to import Great Expectations, which takes seconds, in parallel with the caller's next work."""
    Thread(target=_evaluation, daemon=True).start()


def _evaluation() -> ModuleType:
    """The module that evaluates, imported with Great Expectations."""
    return importlib.import_module("stompcap.quality.results")


def validate(
    spark: Callable[[], SparkSession], lake: str, run_id: str, tables: Sequence[str] | None = None, *, new: bool = False,
    quality: Quality | None = None, ahead: Ahead | None = None,
) -> pa.Table:
    """Validate `tables` of the lake (all by default); one row per expectation, in the schema of `quality_results`.

    An invariant that joins tables is checked where all of them are among `tables`. If only what is `new` shall be read, files that a
    validation has read before count as it found them. `quality` are the user's thresholds, `ahead` the reports that are there already.
    `spark` gives the session, requested where the lake is large or an invariant is broken. Raises KeyError for a table that the lake does
    not have.
    """
    names = list(TABLES) if tables is None else [TABLES[name].name for name in tables]
    locations = {name: location(lake, name) for name in names}
    proofs = invariants.provable(names)
    asked = Asked.of_lake(lake) if tables is None else Asked.of_tables(names)
    with ThreadPoolExecutor(1) as pool:
        module = pool.submit(_evaluation)
        before = kept.load(lake, names)
        known = before if new else kept.Kept(parts=before.parts, foreign=before.foreign)
        found = profiles(spark, locations, asked, known.blocks, known.unique, partial(ahead.of, asked) if ahead else None)
        failing = _balanced(found, known, names, locations)
    unproved = {table for table, proof in proofs.items() if not all(found.sums[name].agree for name in proof)}
    suspects = {name: data_files.Files.of(name, found.profiles[name].shared) for name in names if found.profiles[name].shared}
    suspects |= {name: query.all_files(lake, name) for name in names if name in unproved or found.profiles[name].surplus}
    repeated = exact.surplus(lake, suspects, spark)
    failed = [rule for rule in invariants.INVARIANTS if rule.name in found.sums and not found.sums[rule.name].agree]
    broken = exact.offenders(lake, failed, spark)
    rows_of = module.result()
    profiled = rows_of.Profiled(found.profiles, found.sums, found.measures, repeated, broken)
    results: pa.Table = rows_of.evaluated(profiled, quality or Quality(), run_id)
    kept.save(lake, names, known, found.blocks, set(names) - set(repeated), failing)
    return results


def _balanced(found: Found, known: kept.Kept, names: Sequence[str], locations: Mapping[str, str]) -> dict[str, list[int]]:
    """Judge the checks across tables, whose faults are entered in the profiles; by ledger the hashes of the keys that break some.

    Where reports are kept, only the keys of files that came or went are looked at, and those that broke a check before.
    """
    lacked = {name for one in found.blocks for name in one.facts["lacks"]}
    rules = [rule for rule in across.among(names) if not lacked & {*rule.uses}]
    failing: dict[str, list[int]] = {}
    for ledger in LEDGERS:
        mine, held = [rule for rule in rules if rule.ledger == ledger], [one for one in found.blocks if ledger in ledgers_of(one.table)]
        before, some = np.array(known.failing.get(ledger, []), np.uint64), None
        if known.blocks:
            changed = [one.keys(ledger) for one in (*found.new, *found.gone) if ledger in ledgers_of(one.table)]
            some = Wanted(np.concatenate([before, *changed]))
        entered = [balances.Entered(one.table, one.added(ledger, some)) for one in held]
        for (table, name), broken in balances.judge(ledger, entered, mine).items():
            if broken.keys:
                rule = next(rule for rule in mine if (rule.table, rule.name) == (table, name))
                found.profiles[table].faults[name] = balances.faults(rule, broken, _having(ledger, held, locations))
                failing.setdefault(ledger, []).extend(broken.hashes)
    return {ledger: sorted({*hashes})[:FAILING] for ledger, hashes in failing.items()}


def _having(ledger: str, blocks: Sequence[Block], locations: Mapping[str, str]) -> Callable[[str, int], list[str]]:
    """What gives the files of a table, by URI, that have entries with a hash in a ledger."""

    def having(table: str, hashed: int) -> list[str]:
        wanted = Wanted(np.array([hashed], np.uint64))
        names = [name for one in blocks if one.table == table for name, _ in one.entered(ledger, wanted)]
        return [one.uri for one in data_files.of(open_tables.table(locations[table]), among=pa.array(names, pa.string()))] if names else []

    return having
