"""The results of Great Expectations (stompcap.quality.expectations) as rows of `quality_results`.

`observed` is short and contains nothing from the wire but a few characters of words that a table should not have: otherwise
counts, the lake's own words, stream ids, names of capture files and sources.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stompcap.quality import across, clear_secrets, suites
from stompcap.quality.across import Balance
from stompcap.quality.catalogue import KEYS
from stompcap.quality.examples import IN_SET, NOT_NULL, WHOLE, WHOLE_FILES
from stompcap.quality.expectations import Validator, Verdict
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.measures import FEW, RECENT, Measures
from stompcap.quality.profiles import Profile, Sums
from stompcap.quality.ranges import EXAMPLES, LONGEST, Faults, checks
from stompcap.quality.row_rules import BY_TABLE
from stompcap.quality.wording import failure
from stompcap.settings import Quality
from stompcap.tables import TABLES
from stompcap.visible import visible

Name = tuple[str, str | None, str]
THRESHOLDS: dict[str, Name] = {RECENT: ("captures", "last_ns", RECENT), FEW: ("streams", None, FEW)}


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
    rules = [(rule, found.sums[rule.name]) for rule in INVARIANTS if rule.name in found.sums]
    profiles, repeated = list(found.profiles.values()), {name: faults.rows for name, faults in found.repeated.items()}
    verdicts = validator.validate(suites.lake_suite([one.table for one in profiles]), suites.evidence(profiles, repeated, rules))
    rows: list[dict[str, Any]] = []
    for name, profile in found.profiles.items():
        rows += _words(verdicts, profile)
        rows.append(_unique(verdicts, profile, found.repeated.get(name, Faults())))
        rows += _checked(verdicts, profile, [rule for rule in across.among(list(found.profiles)) if rule.table == name])
    for rule, both in rules:
        observed = {rule.names[0]: both.left[0], rule.names[1]: both.right[0]} | found.offenders.get(rule.name, {})
        rows.append(_row(verdicts[suites.SIDES[0]], [suites.sides(rule, both)], (rule.table, None, rule.name), observed))
    if (quality.newest_packet_s, quality.lost_ratio) != (None, None) and {"captures", "streams"} <= set(found.profiles):
        moment = int(now.timestamp()) * 10**9
        judged = validator.validate(suites.thresholds_suite(quality), suites.measured(found.measures, moment))
        rows += [_row(one, None, THRESHOLDS[name], _measured(found.measures, quality, name, moment)) for name, one in judged.items()]
    finished = [row | {"run_id": run_id, "checked_ts": now, "message": None if row["success"] else failure(row)} for row in rows]
    return pa.Table.from_pylist(finished, schema=TABLES["quality_results"].arrow)


def _row(
    verdict: Verdict, labels: Collection[Hashable] | None, name: Name, observed: Mapping[str, Any], severity: str = suites.ERROR
) -> dict[str, Any]:
    """The row of a check, named by table, column and expectation, which is broken where one of its labels in the evidence is.

    Without labels it is what the expectation found.
    """
    if verdict.raised:
        observed = {"error": "the expectation could not be judged"}
    return {
        "table_name": name[0],
        "column_name": name[1],
        "expectation": name[2],
        "severity": suites.SEVERITIES[severity],
        "success": verdict.holds(labels),
        "observed": json.dumps(observed, sort_keys=True),
        "checked_rows": observed.get("rows"),
        "failed_rows": observed.get("broken", None if verdict.raised else 0),
    }


def _words(verdicts: Mapping[str, Verdict], profile: Profile) -> Iterator[dict[str, Any]]:
    """A row for each column of words, and one for captures that are not whole."""
    table = profile.table
    for column in table.enumerations:
        labels = [suites.word(table, column.name, value) for value in profile.values[column.name] if value is not None]
        observed = _counted(profile, column.name, IN_SET, column.words)
        yield _row(verdicts[IN_SET], labels, (table.name, column.name, IN_SET), observed)
    if table.name == WHOLE_FILES[0]:
        _, name, word = WHOLE_FILES
        labels = [value for value in profile.values[name] if value is not None]
        yield _row(verdicts[WHOLE], labels, (table.name, name, WHOLE), _counted(profile, name, WHOLE, [word]), suites.WARNING)


def _counted(profile: Profile, column: str, expectation: str, expected: Sequence[str]) -> dict[str, Any]:
    """What a profile shows of a column of words."""
    values, faults = profile.values[column], profile.faults.get(f"{column} {expectation}", Faults())
    return {
        "rows": profile.rows, "nulls": values.get(None, 0), "broken": faults.rows, "first": faults.first,
        "values": {value: rows for value, rows in values.items() if value is not None}, "expected": list(expected),
    }


def _unique(verdicts: Mapping[str, Verdict], profile: Profile, repeated: Faults) -> dict[str, Any]:
    """The row for a table's key."""
    observed = {"rows": profile.rows, "broken": repeated.rows, "first": repeated.first}
    return _row(verdicts[suites.KEYS[0]], [suites.keys(profile, repeated.rows)], (profile.table.name, None, KEYS), observed)


def _checked(verdicts: Mapping[str, Verdict], profile: Profile, balances: Sequence[Balance]) -> Iterator[dict[str, Any]]:
    """A row for each check of a table's rows."""
    table = profile.table
    named: list[tuple[str | None, str, str]] = [(column, NOT_NULL, label) for column, label in suites.not_null(table)]
    named += [(check.column.name, check.expectation, check.label) for check in checks(table)]
    named += [(rule.column, rule.expectation, rule.label) for rule in BY_TABLE[table.name]]
    named += [(None, rule.name, rule.name) for rule in balances]
    if searched := clear_secrets.COLUMNS.get(table.name):
        named.append((searched, clear_secrets.MASKED, clear_secrets.label(table.name)))
    if clear_secrets.LENGTHS[0] == table.name:
        named.append((*clear_secrets.LENGTHS[1:], " ".join(clear_secrets.LENGTHS[1:])))
    for column, expectation, label in named:
        faults = profile.faults.get(label, Faults())
        observed = {"rows": profile.rows, "broken": faults.rows, "first": faults.first}
        yield _row(verdicts[suites.BROKEN], [suites.broken(table, label)], (table.name, column, expectation), observed)


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
