"""A fault planted in any table is caught, counted, and told with the place of a row that has it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.tables import TABLES, Table
from tests.quality import lakes
from tests.quality.faults import BETWEEN, KEYS, WORDS, failed, run

ROWS, NULL, WORD, RANGE, ORDER, TWICE = 8, 1, 2, 3, 4, (5, 6)
NOT_NULL = "expect_column_values_to_not_be_null"


def different(column: pa.Field) -> list[Any]:
    """Values of a key."""
    if pa.types.is_string(column.type):
        return [f"k{number}" for number in range(ROWS)]
    days = [datetime.date(2026, 1, 1 + number) for number in range(ROWS)]
    return days if pa.types.is_date(column.type) else list(range(ROWS))


def planted(table: Table) -> tuple[pa.Table, set[tuple[str, str | None, str]]]:
    """Rows of a table with a fault of every kind, each in a row of its own, and the expectations that are not met."""
    keys = [name for name in table.key if not table.column(name).words]
    rows = lakes.fill(table.name, ROWS, {name: different(table.arrow.field(name)) for name in keys})
    columns = {name: rows.column(name).to_pylist() for name in table.arrow.names}
    expected: set[tuple[str, str | None, str]] = {(table.name, None, KEYS)}
    for column in table.columns:
        values = columns[column.name]
        if column.name in keys:
            values[TWICE[0]] = values[TWICE[1]]
            continue
        if not column.nullable:
            values[NULL] = None
            expected.add((table.name, column.name, NOT_NULL))
        if column.words:
            values[WORD] = "\x1b[2Jnonsense"
            expected.add((table.name, column.name, WORDS))
        if column.least == 0 and not pa.types.is_timestamp(column.type):
            values[RANGE] = -5
            expected.add((table.name, column.name, BETWEEN))
    for lesser, greater in table.ordered:
        other = {lesser, greater} & {*keys, *chained(table), *(c.name for c in table.columns if pa.types.is_timestamp(c.type))}
        if not other:
            columns[lesser][ORDER], columns[greater][ORDER] = 7, 6
            expected.add((table.name, greater, f"expect_column_values_to_be_at_least_{lesser}"))
    schema = pa.schema([field.with_nullable(True) for field in table.arrow])
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema), expected


@pytest.mark.parametrize("name", list(TABLES))
def test_a_fault_in_any_table_is_caught_with_its_place(tmp_path: Path, name: str) -> None:
    rows, expected = planted(TABLES[name])
    lakes.write_loosely(tmp_path, name, rows)
    found = run(tmp_path, tables=[name])
    assert expected <= failed(found)
    for row in found:
        told = row["message"]
        assert (told is None) == row["success"]
        if told is not None and not row["expectation"].startswith("expect_heartbeat"):
            assert told.startswith(name), told
            assert row["failed_rows"] >= 1, told
            assert f"{row['failed_rows']} of {ROWS} " in told or "violated:" in told, told
            assert told.endswith(")") or name == "rules", told
            assert "\x1b" not in told


def chained(table: Table) -> set[str]:
    """Columns that are in several pairs: one row cannot break them all."""
    named = [name for pair in table.ordered for name in pair]
    return {name for name in named if named.count(name) > 1}
