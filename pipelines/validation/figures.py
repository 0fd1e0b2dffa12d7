"""Figures of hours and days are made once more from the rows that they sum up, and compared with those in the lake.

A validation of the whole lake makes all of them, one after a run those of the periods that the run changed, and of some others, drawn anew
each time.
"""

from __future__ import annotations

import datetime
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.metrics import gold
from pipelines.metrics.aggregates import changed
from pipelines.metrics.periods import Periods
from stompcap.lake import data_files, open_tables, query
from stompcap.lake.commits import ordered, read
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.quality.last import last
from stompcap.quality.ranges import EXAMPLES, harmless_key
from stompcap.quality.wording import FIGURES, failure
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from pipelines.metrics.gold import Aggregate

DRAWN = 200
"""Groups of other periods that are made once more, about: periods in a row, for few files have their rows, until they have so many."""

REAL = 1e-9
"""By how much of itself a number may differ."""


def result(lake: str, run_id: str, spark: Callable[[], SparkSession], since: Mapping[str, int] | None) -> pa.Table:
    """Rows of `quality_results`, one for each table of figures. `since`: the versions of all tables that were judged last; None: all.

    Figures that were wrong are made once more until they are right.
    """
    failing = {
        row["table_name"]: json.loads(row["observed"])["periods"]
        for row in last(lake) if row["expectation"] == FIGURES and not row["success"]
    }  # fmt: skip
    rows = []
    for one in gold.AGGREGATES:
        periods = None if since is None else _periods(lake, one, since, failing.get(one.name, []))
        number, wrong = _compared(lake, one, spark, periods)
        named = sorted({str(row[one.period]) for row in wrong if row[one.period] is not None})
        first = [{key: _plain(value) for key, value in row.items()} for row in wrong[:EXAMPLES]]
        observed = {"rows": number, "broken": len(wrong), "first": first, "periods": named[:DRAWN]}
        row = {
            "run_id": run_id, "table_name": one.name, "column_name": None, "expectation": FIGURES, "severity": "error",
            "success": not wrong, "observed": json.dumps(observed, sort_keys=True), "checked_ts": datetime.datetime.now(datetime.UTC),
            "checked_rows": number, "failed_rows": len(wrong), "message": None,
        }  # fmt: skip
        rows.append(row | {"message": failure(row) if wrong else None})
    return pa.Table.from_pylist(rows, schema=TABLES["quality_results"].arrow)


def _periods(lake: str, one: Aggregate, since: Mapping[str, int], failing: list[str]) -> Periods | None:
    """The periods that have changed, those that were wrong, and some drawn from the others; None where all may have changed."""
    sources = {name: open_tables.table(location(lake, name)) for name in one.times}
    found = changed(one, sources, {name: since.get(name) for name in sources})
    if found is None:
        return None
    held = _held(lake, one, [one.period]).column(one.period).combine_chunks()
    counts = dict(zip(*(pc.value_counts(held).field(name).to_pylist() for name in (0, 1)), strict=True))
    begins = set(found.begins.to_pylist()) | {begin for begin in counts if str(begin) in failing}
    others = sorted((begin for begin in counts if begin not in begins), key=str)
    first = random.randrange(len(others)) if others else 0  # noqa: S311  no secret
    groups = 0
    for begin in others[first:] + others[:first]:
        if groups >= DRAWN:
            break
        begins.add(begin)
        groups += counts[begin]
    return Periods(pa.array(sorted(begins, key=str), TABLES[one.name].column(one.period).type), one.length)


def _held(lake: str, one: Aggregate, columns: list[str] | None = None) -> pa.Table:
    return read(one.name, data_files.of(open_tables.table(location(lake, one.name))), columns)


def _compared(lake: str, one: Aggregate, spark: Callable[[], SparkSession], periods: Periods | None) -> tuple[int, list[dict[str, Any]]]:
    """How many groups were compared, and those that differ: their keys without text from the wire, and what differs beside what it is."""
    parts = {}
    if periods is not None:
        for name, times in one.times.items():
            files = data_files.of(open_tables.table(location(lake, name)), times)
            parts[name] = Files.of(name, data_files.overlapping(files, times, periods.ranges, periods.timeless))
    held = _held(lake, one)
    if periods is not None:
        held = held.filter(pc.is_in(held.column(one.period), value_set=periods.begins))
    made = query.ask(lake, [one.query(periods)], spark, parts)[one.name].select(held.column_names).cast(held.schema)
    there, right = ({_key(one, row): row for row in ordered(one.name, rows).to_pylist()} for rows in (held, made))
    differing = [key for key in dict.fromkeys([*there, *right]) if not _same(there.get(key), right.get(key))]
    return len({*there, *right}), [_difference(one, there.get(key), right.get(key)) for key in differing]


def _key(one: Aggregate, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in TABLES[one.name].key)


def _same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    return one is not None and other is not None and all(_equal(one[name], other[name]) for name in one)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= REAL * max(1, abs(one), abs(other))
    return bool(one == other)


def _difference(one: Aggregate, there: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> dict[str, Any]:
    """The place of a group, and what is wrong with it."""
    row = there or right or {}
    place = {name: row[name] for name in [one.period, *harmless_key(TABLES[one.name])]}
    if there is None or right is None:
        return place | {"group": "missing" if there is None else "of no rows"}
    differing = [name for name in row if not _equal(there[name], right[name])]
    return place | {name: there[name] for name in differing} | {f"{name} made again": right[name] for name in differing}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else str(value)
