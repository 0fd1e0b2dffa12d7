"""The verdicts of Great Expectations (stompcap.quality.verdicts) as rows of `quality_results`.

`observed` is short and contains nothing from the wire but a few characters of words that a table should not have: otherwise
counts, the lake's own words, stream ids, names of capture files and sources.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stompcap.quality import suites
from stompcap.quality.examples import NOT_NULL, WHOLE, WHOLE_FILES
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.measures import RECENT, Measures
from stompcap.quality.profiles import Profile, Sums
from stompcap.quality.ranges import EXAMPLES, SHOWN, Faults, checks
from stompcap.quality.verdicts import Court, Verdict
from stompcap.quality.words import failure
from stompcap.settings import Quality
from stompcap.tables import TABLES
from stompcap.visible import visible


@dataclass
class Evidence:
    """What a validation has found.

    `repeated`: per table with rows that repeat a key, how many and the first keys; `offenders`, by the name of a broken invariant, how
    many points break it and the first of them.
    """

    profiles: Mapping[str, Profile]
    sums: Mapping[str, Sums]
    measures: Measures
    repeated: Mapping[str, Faults] = field(default_factory=dict)
    offenders: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def judge(found: Evidence, quality: Quality, run_id: str) -> pa.Table:
    """Rows of `quality_results` for the profiles, the invariants that have sums, and the thresholds that are set."""
    court, now = Court(), datetime.datetime.now(datetime.UTC)
    rows: list[dict[str, Any]] = []
    for name, profile in found.profiles.items():
        repeated = found.repeated.get(name, Faults())
        for verdict in court.of_table(profile, repeated.rows):
            if verdict.expectation == suites.BROKEN:
                rows += _checked(verdict, profile)
            else:
                rows.append(_row(verdict, _profiled(profile, repeated, verdict)))
    rules = {rule.name: rule for rule in INVARIANTS if rule.name in found.sums}
    if rules:
        suite = suites.invariants_suite(list(rules.values()))
        for verdict in court.judge(suite, suites.sides(list(rules.values()), found.sums)):
            rule, both = rules[verdict.expectation], found.sums[verdict.expectation]
            sides = {rule.names[0]: both.left[0], rule.names[1]: both.right[0]}
            rows.append(_row(verdict, sides | found.offenders.get(rule.name, {})))
    if quality != Quality() and {"captures", "streams"} <= set(found.profiles):
        moment = int(now.timestamp()) * 10**9
        for verdict in court.judge(suites.thresholds_suite(quality), suites.measured(found.measures, moment)):
            rows.append(_row(verdict, _measured(found.measures, quality, verdict.expectation, moment)))
    finished = [row | {"run_id": run_id, "checked_ts": now, "message": None if row["success"] else failure(row)} for row in rows]
    return pa.Table.from_pylist(finished, schema=TABLES["quality_results"].arrow)


def _row(verdict: Verdict, observed: dict[str, Any]) -> dict[str, Any]:
    if verdict.raised:
        observed = {"error": "the expectation could not be judged"}
    return {
        "table_name": verdict.table,
        "column_name": verdict.column,
        "expectation": verdict.expectation,
        "severity": verdict.severity,
        "success": verdict.success,
        "observed": json.dumps(observed, sort_keys=True),
        "checked_rows": observed.get("rows"),
        "failed_rows": observed.get("broken", None if verdict.raised else 0),
    }


def _checked(verdict: Verdict, profile: Profile) -> list[dict[str, Any]]:
    """A row for each check of a table's rows, from the one verdict on all of them."""
    named = [(column, NOT_NULL, label) for column, label in suites.not_null(profile.table)]
    named += [(check.column.name, check.expectation, check.label) for check in checks(profile.table)]
    rows = []
    for column, expectation, label in named:
        faults = profile.faults.get(label, Faults())
        row = _row(verdict, {"rows": profile.rows, "broken": faults.rows, "first": faults.first})
        held = verdict.success or bool(verdict.broken and label not in verdict.broken)
        rows.append(row | {"column_name": column, "expectation": expectation, "success": held})
    return rows


def _profiled(profile: Profile, repeated: Faults, verdict: Verdict) -> dict[str, Any]:
    """What a profile shows of a column of words; for the whole table, of its keys."""
    if verdict.column is None:
        return {"rows": profile.rows, "broken": repeated.rows, "first": repeated.first}
    values = profile.values[verdict.column]
    faults = profile.faults.get(f"{verdict.column} {verdict.expectation}", Faults())
    return {
        "rows": profile.rows, "nulls": values.get(None, 0), "broken": faults.rows, "first": faults.first,
        "values": {value: rows for value, rows in values.items() if value is not None},
        "expected": [WHOLE_FILES[2]] if verdict.expectation == WHOLE else list(profile.table.column(verdict.column).words),
    }


def _measured(measures: Measures, quality: Quality, expectation: str, moment: int) -> dict[str, Any]:
    """What is measured, beside the threshold: of sources those without recent packets, the oldest first; of streams the missing octets."""
    if expectation == RECENT:
        limit = quality.newest_packet_s or 0
        ages = sorted(((moment - newest) / 1e9, source, path) for source, (newest, path) in measures.newest.items())
        late = [
            {"source": visible(source, SHOWN), "path": visible(path, SHOWN), "age_s": round(age)}
            for age, source, path in reversed(ages) if age > limit
        ]  # fmt: skip
        return {"rows": len(ages), "broken": len(late), "first": late[:EXAMPLES], "threshold": limit}
    number, stream = measures.most
    return {
        "rows": measures.octets, "broken": measures.lost, "first": [{"stream_id": stream, "lost_octets": number}] if number else [],
        "threshold": quality.lost_ratio,
    }
