"""The verdicts of Great Expectations (stompcap.quality.verdicts) as rows of `quality_results`.

`observed` is short and contains nothing from the wire but a few characters of words that a table should not have: otherwise
counts, the lake's own words and stream ids.
"""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap.quality import suites
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.ranges import Faults, checks
from stompcap.quality.verdicts import Court, Verdict
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from stompcap.quality.profiles import Profile, Sums


def judge(
    profiles: dict[str, Profile],
    surplus: dict[str, int],
    sums: dict[str, Sums],
    offenders: dict[str, dict[str, Any]],
    run_id: str,
) -> pa.Table:
    """Rows of `quality_results` for the profiles and the invariants that have `sums`.

    `surplus` has the number of rows that repeat a key, per table that has some; `offenders`, by the name of a broken invariant, how many
    points break it and the first of them.
    """
    court = Court()
    rows: list[dict[str, Any]] = []
    for name, profile in profiles.items():
        repeated = surplus.get(name, 0)
        for verdict in court.of_table(profile, repeated):
            if verdict.expectation == suites.BROKEN:
                rows += _checked(run_id, verdict, profile)
            else:
                rows.append(_row(run_id, verdict, _profiled(profile, repeated, verdict.column)))
    rules = {rule.name: rule for rule in INVARIANTS if rule.name in sums}
    if rules:
        suite = suites.invariants_suite(list(rules.values()))
        for verdict in court.judge(suite, suites.sides(list(rules.values()), sums)):
            rule = rules[verdict.expectation]
            sides = {rule.names[0]: sums[rule.name].left[0], rule.names[1]: sums[rule.name].right[0]}
            rows.append(_row(run_id, verdict, sides | offenders.get(rule.name, {})))
    return pa.Table.from_pylist(rows, schema=TABLES["quality_results"].arrow)


def _row(run_id: str, verdict: Verdict, observed: dict[str, Any]) -> dict[str, Any]:
    if verdict.raised:
        observed = {"error": "the expectation could not be judged"}
    return {
        "run_id": run_id,
        "table_name": verdict.table,
        "column_name": verdict.column,
        "expectation": verdict.expectation,
        "severity": verdict.severity,
        "success": verdict.success,
        "observed": json.dumps(observed, sort_keys=True),
        "checked_ts": datetime.datetime.now(datetime.UTC),
    }


def _checked(run_id: str, verdict: Verdict, profile: Profile) -> list[dict[str, Any]]:
    """A row for each check of a table's rows, from the one verdict on all of them."""
    rows = []
    for check in checks(profile.table):
        faults = profile.faults.get(check.label, Faults())
        row = _row(run_id, verdict, {"rows": profile.rows, "broken": faults.rows, "first": faults.first})
        held = verdict.success or bool(verdict.broken and check.label not in verdict.broken)
        rows.append(row | {"column_name": check.column.name, "expectation": check.expectation, "success": held})
    return rows


def _profiled(profile: Profile, repeated: int, column: str | None) -> dict[str, Any]:
    """What a profile shows of a column; for the whole table, of its keys."""
    if column is None:
        return {"rows": profile.rows, "repeated": repeated}
    values = profile.values[column]
    observed: dict[str, Any] = {"rows": profile.rows, "nulls": values.get(None, 0)}
    if profile.table.column(column).words:
        observed["values"] = {value: rows for value, rows in values.items() if value is not None}
    return observed
