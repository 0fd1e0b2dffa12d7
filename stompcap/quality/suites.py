"""The suite of a lake: what its tables must meet, derived from their own declarations, as few expectations on what was added up of them.

Keys are unique and not null, enumerations contain their words only, columns that may not be null are not, numbers are in range and in
order, invariants hold, and what the user has a threshold for keeps to it. Great Expectations takes ten milliseconds for each expectation,
so one is on all tables: on the words of all their columns, on their broken checks, on their keys. What it did not expect names the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    Pair = tuple[str, str]

ERROR, WARNING = "critical", "warning"
SEVERITIES = {ERROR: "error", WARNING: "warning", "info": "warning"}
"""Great Expectations' severities in the lake's words."""

BROKEN, NONE = "broken checks", "none"
"""The column of the evidence that names the broken checks of rows (stompcap.quality.ranges, and those for null), and its value where
there is none."""

KEYS, SIDES = ("rows", "keys"), ("one side", "other side")
"""Columns of the evidence in which each row is a pair that must be equal: of a table, and of an invariant."""

AGE, LOST = "age of the newest packet in s", "part of the bytes that is missing"


def lake_suite(tables: Sequence[Table]) -> gx.ExpectationSuite:
    """The suite of some tables, to be run on their `evidence`."""
    words = [word(table, column.name, value) for table in tables for column in table.enumerations for value in column.words]
    return gx.ExpectationSuite(name="lake", expectations=[
        gxe.ExpectColumnValuesToBeInSet(column=IN_SET, value_set=words, severity=ERROR, meta={"name": IN_SET}),
        gxe.ExpectColumnValuesToBeInSet(column=WHOLE, value_set=[WHOLE_FILES[2]], severity=WARNING, meta={"name": WHOLE}),
        gxe.ExpectColumnValuesToBeInSet(column=BROKEN, value_set=[NONE], severity=ERROR, meta={"name": BROKEN}),
        *(gxe.ExpectColumnPairValuesToBeEqual(column_A=one, column_B=other, severity=ERROR, meta={"name": one})
          for one, other in (KEYS, SIDES)),
    ])  # fmt: skip


def evidence(profiles: Sequence[Profile], repeated: Mapping[str, int], sums: Sequence[tuple[Invariant, Sums]]) -> pd.DataFrame:
    """The distinct words of all columns, the broken checks, and the pairs; short columns are padded with a value they have.

    `repeated`: of some tables how many rows repeat a key.
    """
    columns: dict[str, list[str | None]] = {
        IN_SET: [word(one.table, column.name, value) for one in profiles for column in one.table.enumerations
                 for value in one.values[column.name] if value is not None],
        WHOLE: [value for one in profiles if one.table.name == WHOLE_FILES[0] for value in one.values[WHOLE_FILES[1]]],
        BROKEN: [broken(one.table, label) for one in profiles for label in one.faults if by_row(label)] or [NONE],
    }  # fmt: skip
    for names, pairs in ((KEYS, [keys(one, repeated.get(one.table.name, 0)) for one in profiles]), (SIDES, [sides(*one) for one in sums])):
        columns |= {name: [pair[side] for pair in pairs] for side, name in enumerate(names)}
    height = max(map(len, columns.values()))
    return pd.DataFrame({name: rows + (rows[:1] or [None]) * (height - len(rows)) for name, rows in columns.items()}, dtype="object")


def word(table: Table, column: str, value: str) -> str:
    """How the evidence has a word of a column."""
    return f"{table.name}.{column} {value}"


def broken(table: Table, label: str) -> str:
    """How the evidence has a broken check of a table."""
    return f"{table.name}: {label}"


def keys(profile: Profile, surplus: int) -> Pair:
    """How the evidence has the rows of a table, and its keys, of which rows repeat some."""
    return f"{profile.table.name}: {profile.rows}", f"{profile.table.name}: {profile.rows - surplus}"


def sides(rule: Invariant, sums: Sums) -> Pair:
    """How the evidence has an invariant: of either side the number of points and the sum of their hashes."""
    one, other = (f"{rule.name}: {points} of sum {total:016x}" for points, total in (sums.left, sums.right))
    return one, other


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
            column=AGE, max_value=quality.newest_packet_s, severity=ERROR, meta={"name": RECENT},
        ))
    if quality.lost_ratio is not None:
        expectations.append(gxe.ExpectColumnValuesToBeBetween(
            column=LOST, max_value=quality.lost_ratio, severity=ERROR, meta={"name": FEW},
        ))
    return gx.ExpectationSuite(name="thresholds", expectations=expectations)


def measured(measures: Measures, now_ns: int) -> pd.DataFrame:
    """One row for each source: the age of its newest packet, and what is missing of all octets."""
    ages = [(now_ns - newest) / 1e9 for newest, _ in measures.newest.values()] or [0.0]
    return pd.DataFrame({AGE: ages}).assign(**{LOST: measures.lost / measures.octets if measures.octets else 0.0})
