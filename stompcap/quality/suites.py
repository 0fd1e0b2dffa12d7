"""The suites: which expectations each table of the lake must meet, derived from the tables' own declarations.

Keys are unique and not null, enumerations contain their words only, columns that may not be null are not, numbers are in range and in
order, invariants hold. An expectation has its table, its column and the name of its result in its `meta`; that
of numbers covers all checks of a table at once, because Great Expectations is slow for each expectation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd

from stompcap.quality.profiles import checked
from stompcap.quality.ranges import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from great_expectations.expectations.expectation import Expectation

    from stompcap.quality.invariants import Invariant
    from stompcap.quality.profiles import Profile, Sums
    from stompcap.tables import Table

ERROR, WARNING = "critical", "warning"
SEVERITIES = {ERROR: "error", WARNING: "warning", "info": "warning"}
"""Great Expectations' severities in the lake's words."""

WHOLE_FILES = ("captures", "status", "complete")
"""Table, column and the one word without a warning: what is missing from a damaged capture is missing from the lake."""

BROKEN, NONE = "broken checks", "none"
"""The column of the evidence that names the broken checks of rows (stompcap.quality.ranges), and its value where there is none."""


def _meta(table: str, column: str | None, name: str) -> dict[str, Any]:
    return {"table_name": table, "column_name": column, "expectation": name}


def table_suite(table: Table) -> gx.ExpectationSuite:
    """The suite of one table, to be run on its `evidence`."""
    expectations: list[Expectation] = []
    for column in checked(table):
        if not column.nullable:
            expectations.append(gxe.ExpectColumnValuesToNotBeNull(
                column=column.name, severity=ERROR, meta=_meta(table.name, column.name, "expect_column_values_to_not_be_null"),
            ))
        if column.words:
            expectations.append(gxe.ExpectColumnValuesToBeInSet(
                column=column.name, value_set=list(column.words), severity=ERROR,
                meta=_meta(table.name, column.name, "expect_column_values_to_be_in_set"),
            ))
    name, column_name, word = WHOLE_FILES
    if table.name == name:
        expectations.append(gxe.ExpectColumnValuesToBeInSet(
            column=column_name, value_set=[word], severity=WARNING,
            meta=_meta(name, column_name, "expect_column_distinct_values_to_be_in_set"),
        ))
    expectations.append(gxe.ExpectColumnPairValuesToBeEqual(
        column_A="rows", column_B="keys", severity=ERROR,
        description=f"No two rows have the same {', '.join(table.key)}",
        meta=_meta(table.name, None, "expect_compound_columns_to_be_unique"),
    ))
    if checks(table):
        expectations.append(gxe.ExpectColumnValuesToBeInSet(
            column=BROKEN, value_set=[NONE], severity=ERROR, meta=_meta(table.name, None, BROKEN),
        ))
    return gx.ExpectationSuite(name=table.name, expectations=expectations)


def evidence(profile: Profile, surplus: int) -> pd.DataFrame:
    """The distinct values of every checked column, short columns padded with a value they have, and the numbers of rows and keys."""
    columns = {name: list(values) for name, values in profile.values.items()}
    columns[BROKEN] = list(profile.faults) or [NONE] * bool(profile.rows)
    height = max(map(len, columns.values()), default=0)
    filled = {name: values + values[:1] * (height - len(values)) for name, values in columns.items()}
    return pd.DataFrame(filled, dtype="object").assign(rows=profile.rows, keys=profile.rows - surplus)


def invariants_suite(rules: Sequence[Invariant]) -> gx.ExpectationSuite:
    """The invariants, to be run on their `sides`."""
    return gx.ExpectationSuite(name="invariants", expectations=[
        gxe.ExpectColumnPairValuesToBeEqual(
            column_A=f"{rule.table}: {rule.names[0]}", column_B=f"{rule.table}: {rule.names[1]}", description=rule.statement,
            severity=ERROR, meta=_meta(rule.table, None, rule.name),
        )
        for rule in rules
    ])


def sides(rules: Sequence[Invariant], sums: dict[str, Sums]) -> pd.DataFrame:
    """One row: for either side of each invariant, its number of points and the sum of their hashes."""
    found = {}
    for rule in rules:
        for name, (points, total) in zip(rule.names, (sums[rule.name].left, sums[rule.name].right), strict=True):
            found[f"{rule.table}: {name}"] = f"{points} of sum {total:016x}"
    return pd.DataFrame([found])
