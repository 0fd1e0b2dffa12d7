"""Rows that are shown where a value is missing or is none of its column's words: by their keys, without text from the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.quality.ranges import Faults, first_rows
from stompcap.tables import Column, Table

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NOT_NULL, IN_SET, WHOLE = (
    "expect_column_values_to_not_be_null", "expect_column_values_to_be_in_set", "expect_column_distinct_values_to_be_in_set"
)
WHOLE_FILES = ("captures", "status", "complete")
"""Table, column and the one word without a warning: what is missing from a damaged capture is missing from the lake."""


def find(
    file: pq.ParquetFile, number: int, group: pa.Table, table: Table, column: Column, values: Mapping[str | None, int],
    found: dict[str, Faults],
) -> None:
    """Add the rows of a row group whose value in a column is not expected; `values` are those it has there, with their rows."""
    unknown = sum(count for value, count in values.items() if value is not None and value not in column.words)
    if not column.nullable and (nulls := values.get(None, 0)):
        _add(file, number, table, column, NOT_NULL, group.column(column.name).is_null(), nulls, found)
    if column.words and unknown:
        wrong = pc.invert(pc.is_in(_text(group, column), value_set=pa.array([*column.words, None], pa.string())))
        _add(file, number, table, column, IN_SET, wrong, unknown, found)
    name, word_column, word = WHOLE_FILES
    if (table.name, column.name) == (name, word_column) and (partly := sum(values.values()) - values.get(word, 0)):
        _add(file, number, table, column, WHOLE, pc.not_equal(_text(group, column), word), partly, found)


def _text(group: pa.Table, column: Column) -> pa.ChunkedArray:
    return group.column(column.name).cast(pa.string())


def _add(
    file: pq.ParquetFile, number: int, table: Table, column: Column, expectation: str, wrong: pa.ChunkedArray, rows: int,
    found: dict[str, Faults],
) -> None:
    first = first_rows(file, number, table, (), pc.fill_null(wrong, False))
    found.setdefault(f"{column.name} {expectation}", Faults()).add(rows, first)
