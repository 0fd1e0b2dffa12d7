"""What a row shows by itself: its numbers lie in their columns' ranges, its times and counts in their order.

Both are declared with the tables (`Column.least` and `most`, `Table.ascending`). A row group whose Parquet statistics lie within a
range is not read for it. Files never change, so what was checked once need not be checked again (`stompcap.quality.validate`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.tables import TABLES, Column, Table
from stompcap.tables.schema import TIMESTAMP
from stompcap.visible import visible

EXAMPLES = 3
"""Rows that break a check that are shown."""

SHOWN = 40
"""Characters of a value that are shown."""

BETWEEN, AT_LEAST = "expect_column_values_to_be_between", "expect_column_values_to_be_at_least_"


@dataclass(frozen=True)
class Check:
    """What every row of a table must meet: the column's value lies in its range or, given `lesser`, is not less than that column's."""

    table: str
    column: Column
    lesser: str | None = None

    @property
    def expectation(self) -> str:
        """The name its result goes by, beside the column's."""
        return BETWEEN if self.lesser is None else AT_LEAST + self.lesser

    @property
    def label(self) -> str:
        """Its name among the checks of its table."""
        return f"{self.column.name} {self.expectation}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column.name,) if self.lesser is None else (self.lesser, self.column.name)

    @property
    def says(self) -> str:
        """What rows are that break it."""
        if self.lesser is not None:
            return f"below {self.lesser}"
        if self.column.name.endswith(("_ns", "_ts")):
            return "before 1970 or after 2099"
        return f"below {self.column.least}" if self.column.most is None else f"outside {self.column.least} to {self.column.most}"

    def broken(self, group: pa.Table) -> pa.ChunkedArray:
        """Per row whether it breaks the check; null breaks none, and what is no number does."""
        value = _number(group.column(self.column.name))
        if self.lesser is not None:
            return pc.fill_null(pc.less(value, _number(group.column(self.lesser))), False)
        least, most = self.column.least, self.column.most
        inside = [pc.greater_equal(value, least)] if least is not None else []
        inside += [pc.less_equal(value, most)] if most is not None else []
        return pc.fill_null(pc.invert(inside[0] if len(inside) == 1 else pc.and_(*inside)), False)

    def told_by(self, group: pq.RowGroupMetaData, place: int, kind: pa.DataType) -> bool:
        """Whether the statistics of a row group show that all of it holds; those of DOUBLE leave NaN out."""
        if self.lesser is not None or kind != self.column.type or not (pa.types.is_integer(kind) or kind == TIMESTAMP):
            return False
        bounds = group.column(place).statistics
        if bounds is None or not bounds.has_min_max:
            return bounds is not None and bounds.has_null_count and bounds.null_count == group.num_rows
        least, most = self.column.least, self.column.most
        return (least is None or least <= bounds.min_raw) and (most is None or bounds.max_raw <= most)


def checks(table: Table) -> tuple[Check, ...]:
    """Those of a table's rows."""
    ranges = [Check(table.name, column) for column in table.ranged]
    return (*ranges, *(Check(table.name, table.column(greater), lesser) for lesser, greater in table.ordered))


def untold(file: pq.ParquetFile, among: Iterable[Check]) -> list[Check]:
    """The checks that the statistics of a file leave open."""
    metadata, schema = file.metadata, file.schema_arrow
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    places = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    return [
        check for check in among
        if places.keys() >= set(check.columns)  # a file older than a column has it not
        and not all(check.told_by(group, places[check.column.name], schema.field(check.column.name).type) for group in groups)
    ]  # fmt: skip


@dataclass
class Faults:
    """Rows that break a check: how many, and the first of them by key."""

    rows: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)

    def add(self, rows: int, first: Sequence[dict[str, Any]]) -> None:
        """Add what another part of the table has."""
        self.rows += rows
        self.first = sorted([*self.first, *first], key=lambda row: [str(value) for value in row.values()])[:EXAMPLES]


def look(file: pq.ParquetFile, number: int, group: pa.Table, among: Iterable[Check], found: dict[str, Faults]) -> None:
    """Add the rows of a row group that break checks to those `found`."""
    for check in among:
        broken = check.broken(group)
        count = pc.sum(broken).as_py()
        if count:
            table = TABLES[check.table]
            shown = [name for name in table.key if _harmless(table.column(name))]
            wanted = [*shown, *(name for name in check.columns if name not in shown)]
            rows = file.read_row_group(number, columns=wanted).filter(broken).slice(0, EXAMPLES)
            values = {name: map(_plain, _number(rows.column(name)).to_pylist()) for name in wanted}
            first = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
            found.setdefault(check.label, Faults()).add(count, first)


def _number(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as they are, moments in microseconds."""
    return values.cast(TIMESTAMP).cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _harmless(column: Column) -> bool:
    """Whether a column of a key never holds what the wire has said."""
    return not pa.types.is_string(column.type) or bool(column.words) or column.name.endswith("_id")


def _plain(value: Any) -> Any:
    """A value as JSON has it, short."""
    if value is None or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    return visible(str(value), SHOWN)
