"""The results of Great Expectations (stompcap.quality.expectations) as rows of `quality_results`.

`observed` is short and contains nothing from the wire but a few characters of words that a table should not have: otherwise
counts, the lake's own words, stream ids, names of capture files and sources.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stompcap.quality import across, clear_secrets, suites
from stompcap.quality.across import Balance
from stompcap.quality.examples import NOT_NULL, WHOLE, WHOLE_FILES
from stompcap.quality.expectations import Result, Validator
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.measures import RECENT, Measures
from stompcap.quality.profiles import Profile, Sums
from stompcap.quality.ranges import EXAMPLES, LONGEST, Faults, checks
from stompcap.quality.row_rules import BY_TABLE
from stompcap.quality.wording import failure
from stompcap.settings import Quality
from stompcap.tables import TABLES
from stompcap.visible import visible


@dataclass
class Profiled:
    """What a validation has found.

    `repeated`: per table with rows that repeat a key, how many and the first keys; `offenders`, by the name of a broken invariant, how
    many points break it and the first of them.
    """

    profiles: Mapping[str, Profile]
    sums: Mapping[str, Sums]
    measures: Measures
    repeated: Mapping[str, Faults] = field(default_factory=dict)
    offenders: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def evaluated(found: Profiled, quality: Quality, run_id: str) -> pa.Table:
    """Rows of `quality_results` for the profiles, the invariants that have sums, and the thresholds that are set."""
    validator, now = Validator(), datetime.datetime.now(datetime.UTC)
    rows: list[dict[str, Any]] = []
    for name, profile in found.profiles.items():
        repeated = found.repeated.get(name, Faults())
        for result in validator.of_table(profile, repeated.rows):
            if result.expectation == suites.BROKEN:
                rows += _checked(result, profile, [rule for rule in across.among(list(found.profiles)) if rule.table == name])
            else:
                rows.append(_row(result, _profiled(profile, repeated, result)))
    rules = {rule.name: rule for rule in INVARIANTS if rule.name in found.sums}
    if rules:
        suite = suites.invariants_suite(list(rules.values()))
        for result in validator.validate(suite, suites.sides(list(rules.values()), found.sums)):
            rule, both = rules[result.expectation], found.sums[result.expectation]
            sides = {rule.names[0]: both.left[0], rule.names[1]: both.right[0]}
            rows.append(_row(result, sides | found.offenders.get(rule.name, {})))
    if (quality.newest_packet_s, quality.lost_ratio) != (None, None) and {"captures", "streams"} <= set(found.profiles):
        moment = int(now.timestamp()) * 10**9
        for result in validator.validate(suites.thresholds_suite(quality), suites.measured(found.measures, moment)):
            rows.append(_row(result, _measured(found.measures, quality, result.expectation, moment)))
    finished = [row | {"run_id": run_id, "checked_ts": now, "message": None if row["success"] else failure(row)} for row in rows]
    return pa.Table.from_pylist(finished, schema=TABLES["quality_results"].arrow)


def _row(result: Result, observed: dict[str, Any]) -> dict[str, Any]:
    if result.raised:
        observed = {"error": "the expectation could not be judged"}
    return {
        "table_name": result.table,
        "column_name": result.column,
        "expectation": result.expectation,
        "severity": result.severity,
        "success": result.success,
        "observed": json.dumps(observed, sort_keys=True),
        "checked_rows": observed.get("rows"),
        "failed_rows": observed.get("broken", None if result.raised else 0),
    }


def _checked(result: Result, profile: Profile, balances: Sequence[Balance]) -> list[dict[str, Any]]:
    """A row for each check of a table's rows, from the one result on all of them."""
    named: list[tuple[str | None, str, str]] = [(column, NOT_NULL, label) for column, label in suites.not_null(profile.table)]
    named += [(check.column.name, check.expectation, check.label) for check in checks(profile.table)]
    named += [(rule.column, rule.expectation, rule.label) for rule in BY_TABLE[profile.table.name]]
    named += [(None, rule.name, rule.name) for rule in balances]
    if searched := clear_secrets.COLUMNS.get(profile.table.name):
        named.append((searched, clear_secrets.MASKED, clear_secrets.label(profile.table.name)))
    if clear_secrets.LENGTHS[0] == profile.table.name:
        named.append((*clear_secrets.LENGTHS[1:], " ".join(clear_secrets.LENGTHS[1:])))
    rows = []
    for column, expectation, label in named:
        faults = profile.faults.get(label, Faults())
        row = _row(result, {"rows": profile.rows, "broken": faults.rows, "first": faults.first})
        held = result.success or bool(result.broken and label not in result.broken)
        rows.append(row | {"column_name": column, "expectation": expectation, "success": held})
    return rows


def _profiled(profile: Profile, repeated: Faults, result: Result) -> dict[str, Any]:
    """What a profile shows of a column of words; for the whole table, of its keys."""
    if result.column is None:
        return {"rows": profile.rows, "broken": repeated.rows, "first": repeated.first}
    values = profile.values[result.column]
    faults = profile.faults.get(f"{result.column} {result.expectation}", Faults())
    return {
        "rows": profile.rows, "nulls": values.get(None, 0), "broken": faults.rows, "first": faults.first,
        "values": {value: rows for value, rows in values.items() if value is not None},
        "expected": [WHOLE_FILES[2]] if result.expectation == WHOLE else list(profile.table.column(result.column).words),
    }


def _measured(measures: Measures, quality: Quality, expectation: str, moment: int) -> dict[str, Any]:
    """What is measured, beside the threshold: of sources those without recent packets, the oldest first; of streams the missing octets."""
    if expectation == RECENT:
        limit = quality.newest_packet_s or 0
        ages = sorted(((moment - newest) / 1e9, source, path) for source, (newest, path) in measures.newest.items())
        late = [
            {"source": visible(source, LONGEST), "path": visible(path, LONGEST), "age_s": round(age)}
            for age, source, path in reversed(ages) if age > limit
        ]  # fmt: skip
        return {"rows": len(ages), "broken": len(late), "first": late[:EXAMPLES], "threshold": limit}
    number, stream = measures.most
    return {
        "rows": measures.octets, "broken": measures.lost, "first": [{"stream_id": stream, "lost_octets": number}] if number else [],
        "threshold": quality.lost_ratio,
    }
