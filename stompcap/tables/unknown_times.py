"""Times that a capture does not have: null in the tables, 0 in the machines, in which -1 is what was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.tables.schema import TIMESTAMP, Column, Table

_EVENTS = {"fin_ns_c2s": "F", "fin_ns_s2c": "f", "rst_ns": None}
"""Columns of table streams that are null too where there was no such event: its letter in `history`; None: `rst_by` has it."""

_NEVER = ("acked_ns",)
"""Columns that are null where something did not happen; machines have -1 for that, and for a time that is not known."""


def is_time(column: Column) -> bool:
    """Whether a column says when something was, as captured."""
    return column.type == TIMESTAMP or (column.type == pa.int64() and ("_ns_" in column.name or column.name.endswith("_ns")))


def without_zero(table: Table, rows: pa.Table) -> pa.Table:
    """Rows as a table has them: null where the machines say 0, but for columns that are never null."""
    for column in table.columns:
        index = rows.schema.get_field_index(column.name) if column.nullable and is_time(column) else -1
        if index < 0:
            continue
        values = rows.column(index)
        numbers = values.cast(pa.int64())
        if pc.min(numbers).as_py() == 0:
            known = pc.if_else(pc.equal(numbers, 0), pa.scalar(None, values.type), values)
            rows = rows.set_column(index, rows.schema.field(index).with_nullable(True), known)
    return rows


def capture_with_zero(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of table captures as the machines have it: 0 where its packets have no times, null where it has no packets."""
    without_times = {name: 0 for name in ("first_ns", "last_ns") if row.get(name) is None} if row["packets"] else {}
    return {**row, **without_times}


def captures_with_zero(rows: pa.Table) -> pa.Table:
    """Rows of table captures with their `packets` as `capture_with_zero` has them."""
    for name in ("first_ns", "last_ns"):
        at, values = rows.schema.get_field_index(name), rows.column(name)
        without = pc.and_(pc.is_null(values), pc.greater(pc.fill_null(rows.column("packets"), 0), 0))
        if pc.any(without).as_py():
            rows = rows.set_column(at, name, pc.if_else(without, pa.scalar(0, values.type), values))
    return rows


def with_zero(rows: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Rows of bronze tables and of table frames, by table, as the machines have them."""
    return {name: _with_zero(name, table) for name, table in rows.items()}


def _with_zero(name: str, rows: pa.Table) -> pa.Table:
    gaps = name == "raw_frames" and pc.equal(rows.column("kind"), "gap")
    for index, field in enumerate(rows.schema):
        values = rows.column(index)
        of_time = field.type == pa.int64() and ("_ns_" in field.name or field.name.endswith("_ns")) and field.name not in _NEVER
        if not of_time or not values.null_count:
            continue
        zero = pa.scalar(0, values.type)
        if field.name in _EVENTS and name == "streams":
            letter = _EVENTS[field.name]
            was = pc.match_substring(rows.column("history"), letter) if letter else pc.is_valid(rows.column("rst_by"))
            known = pc.if_else(pc.and_(pc.is_null(values), pc.fill_null(was, False)), zero, values)
        else:
            known = pc.if_else(gaps, values, pc.fill_null(values, 0)) if name == "raw_frames" else pc.fill_null(values, 0)
        rows = rows.set_column(index, field.with_nullable(True), known)
    return rows
