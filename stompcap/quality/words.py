"""A failed expectation in words: which table, how many rows, an example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.ranges import checks
from stompcap.tables import TABLES
from stompcap.units import count
from stompcap.visible import visible

CHECKS = {(table.name, check.column.name, check.expectation): check for table in TABLES.values() for check in checks(table)}
STATEMENTS = {rule.name: rule.statement for rule in INVARIANTS}
POINT = ("stream_id", "direction", "stream_offset", "word")
SHOWN = 40
"""Characters of a value that are shown."""


def failure(row: Mapping[str, Any]) -> str:
    """Text for a row of `quality_results` that failed; its values are escaped."""
    observed = json.loads(row["observed"] or "{}")
    where = f"{row['table_name']}.{row['column_name']}" if row["column_name"] else row["table_name"]
    if "error" in observed:
        return f"{where}: {row['expectation']} could not be judged"
    if row["expectation"] in STATEMENTS:
        return f"{where}: violated: {STATEMENTS[row['expectation']]}{_places(observed)}"
    rows = observed.get("rows", 0)
    if check := CHECKS.get((row["table_name"], row["column_name"], row["expectation"])):
        return f"{where}: {count(observed['broken'])} of {count(rows)} rows are {check.fault}{_example(observed)}"
    if "repeated" in observed:
        key = ", ".join(TABLES[row["table_name"]].key)
        return f"{where}: {count(observed['repeated'])} of {count(rows)} rows repeat the {key} of another"
    if row["expectation"].endswith("not_be_null"):
        return f"{where}: null in {count(observed.get('nulls', 0))} of {count(rows)} rows"
    return f"{where}: {_values(row, observed.get('values', {}), rows)}"


def _places(observed: Mapping[str, Any]) -> str:
    """How often, and where first."""
    first = observed.get("first") or []
    if not first:
        return ""
    return f"; {count(observed['broken'])} places differ, the first: {_place(first[0])}"


def _example(observed: Mapping[str, Any]) -> str:
    """One of the rows."""
    first = observed.get("first") or []
    return f"; for instance {_place(first[0])}" if first else ""


def _place(point: Mapping[str, Any]) -> str:
    """A place; the columns that locate it come first."""
    named = sorted(point.items(), key=lambda item: POINT.index(item[0]) if item[0] in POINT else len(POINT))
    return ", ".join(f"{key} {visible(str(value), SHOWN)}" for key, value in named if value is not None)


def _values(row: Mapping[str, Any], values: Mapping[str, int], rows: int) -> str:
    """Which words are wrong, and in how many rows."""
    if (row["table_name"], row["column_name"]) == ("captures", "status") and row["severity"] == "warning":
        wrong, expected = {value: number for value, number in values.items() if value != "complete"}, "complete"
    else:
        words = TABLES[row["table_name"]].column(row["column_name"]).words
        wrong, expected = {value: number for value, number in values.items() if value not in words}, f"one of {', '.join(words)}"
    wrong_values = ", ".join(f"{visible(value, SHOWN)} ({count(number)})" for value, number in wrong.items())
    return f"{count(sum(wrong.values()))} of {count(rows)} rows have {wrong_values}, not {expected}"
