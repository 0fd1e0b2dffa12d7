"""The suites: which expectations each table of the lake must meet, derived from the tables' own declarations.

Keys are unique and not null, enumerations contain their words only, columns that may not be null are not, numbers are in range and in
order, invariants hold, and what the user has a threshold for keeps to it. An expectation has its table, its column and the name of its
result in its `meta`; one covers all checks of numbers and for null of a table, because Great Expectations is slow for each expectation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from stompcap.quality.examples import IN_SET, NOT_NULL, WHOLE, WHOLE_FILES
from stompcap.quality.great_expectations import gx, gxe
from stompcap.quality.measures import FEW, RECENT
from stompcap.quality.report import checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from great_expectations.expectations.expectation import Expectation

    from stompcap.quality.invariants import Invariant
    from stompcap.quality.measures import Measures
    from stompcap.quality.profiles import Profile, Sums
    from stompcap.settings import Quality
    from stompcap.tables import Table

ERROR, WARNING = "critical", "warning"
SEVERITIES = {ERROR: "error", WARNING: "warning", "info": "warning"}
"""Great Expectations' severities in the lake's words."""

BROKEN, NONE = "broken checks", "none"
"""The column of the evidence that names the broken checks of rows (stompcap.quality.ranges, and those for null), and its value where
there is none."""

AGE, LOST = "age of the newest packet in s", "part of the bytes that is missing"


def _meta(table: str, column: str | None, name: str) -> dict[str, Any]:
    return {"table_name": table, "column_name": column, "expectation": name}


def table_suite(table: Table) -> gx.ExpectationSuite:
    """The suite of one table, to be run on its `evidence`."""
    expectations: list[Expectation] = [
        gxe.ExpectColumnValuesToBeInSet(
            column=column.name, value_set=list(column.words), severity=ERROR, meta=_meta(table.name, column.name, IN_SET),
        )
        for column in table.enumerations
    ]
    name, column_name, word = WHOLE_FILES
    if table.name == name:
        expectations.append(gxe.ExpectColumnValuesToBeInSet(
            column=column_name, value_set=[word], severity=WARNING,
            meta=_meta(name, column_name, WHOLE),
        ))
    expectations.append(gxe.ExpectColumnPairValuesToBeEqual(
        column_A="rows", column_B="keys", severity=ERROR,
        description=f"No two rows have the same {', '.join(table.key)}",
        meta=_meta(table.name, None, "expect_compound_columns_to_be_unique"),
    ))
    expectations.append(gxe.ExpectColumnValuesToBeInSet(
        column=BROKEN, value_set=[NONE], severity=ERROR, meta=_meta(table.name, None, BROKEN),
    ))
    return gx.ExpectationSuite(name=table.name, expectations=expectations)


def evidence(profile: Profile, surplus: int) -> pd.DataFrame:
    """The distinct values of every checked column, short columns padded with a value they have, and the numbers of rows and keys."""
    columns = {name: list(values) for name, values in profile.values.items() if profile.table.column(name).words}
    columns[BROKEN] = [label for label in profile.faults if by_row(label)] or [NONE] * bool(profile.rows)
    height = max(map(len, columns.values()), default=0)
    filled = {name: values + (values[:1] or [None]) * (height - len(values)) for name, values in columns.items()}
    return pd.DataFrame(filled, dtype="object").assign(rows=profile.rows, keys=profile.rows - surplus)


def by_row(label: str) -> bool:
    """Whether a fault is one of those that a table's one expectation on its rows covers: not of a column's words."""
    return not label.endswith((IN_SET, WHOLE))


def not_null(table: Table) -> tuple[tuple[str, str], ...]:
    """The columns of a table that may not be null, with the label of that."""
    return tuple((column.name, f"{column.name} {NOT_NULL}") for column in checked(table) if not column.nullable)


def thresholds_suite(quality: Quality) -> gx.ExpectationSuite:
    """The user's thresholds, to be run on `measured`."""
    expectations: list[Expectation] = []
    if quality.newest_packet_s is not None:
        expectations.append(gxe.ExpectColumnValuesToBeBetween(
            column=AGE, max_value=quality.newest_packet_s, severity=ERROR, meta=_meta("captures", "last_ns", RECENT),
        ))
    if quality.lost_ratio is not None:
        expectations.append(gxe.ExpectColumnValuesToBeBetween(
            column=LOST, max_value=quality.lost_ratio, severity=ERROR, meta=_meta("streams", None, FEW),
        ))
    return gx.ExpectationSuite(name="thresholds", expectations=expectations)


def measured(measures: Measures, now_ns: int) -> pd.DataFrame:
    """One row for each source: the age of its newest packet, and what is missing of all octets."""
    ages = [(now_ns - newest) / 1e9 for newest, _ in measures.newest.values()] or [0.0]
    return pd.DataFrame({AGE: ages}).assign(**{LOST: measures.lost / measures.octets if measures.octets else 0.0})


def invariants_suite(rules: Sequence[Invariant]) -> gx.ExpectationSuite:
    """The invariants, to be run on their `sides`."""
    return gx.ExpectationSuite(name="invariants", expectations=[
        gxe.ExpectColumnPairValuesToBeEqual(
            column_A=f"{rule.table}: {rule.names[0]}", column_B=f"{rule.table}: {rule.names[1]}", description=rule.statement,
            severity=ERROR, meta=_meta(rule.table, None, rule.name),
        )
        for rule in rules
    ])


def sides(rules: Sequence[Invariant], sums: Mapping[str, Sums]) -> pd.DataFrame:
    """One row: for either side of each invariant, its number of points and the sum of their hashes."""
    found = {}
    for rule in rules:
        for name, (points, total) in zip(rule.names, (sums[rule.name].left, sums[rule.name].right), strict=True):
            found[f"{rule.table}: {name}"] = f"{points} of sum {total:016x}"
    return pd.DataFrame([found])
