"""Checks of single rows: numbers are in their columns' ranges, times and counts in their order.

Both are declared with the tables (`Column.least` and `most`, `Table.ascending`). A row group whose Parquet statistics are within a
range is not read for it. Files never change, so each is checked only once (`stompcap.quality.validate`).
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
from stompcap.units import IMPOSSIBLE
from stompcap.visible import visible

EXAMPLES = 3
"""How many rows that break a check are shown."""

LONGEST = 40
"""Characters of a value that are shown."""

BETWEEN, AT_LEAST = "expect_column_values_to_be_between", "expect_column_values_to_be_at_least_"


@dataclass(frozen=True)
class Check:
    """A check of every row of a table: the column's value is in its range or, given `lesser`, not less than that column's."""

    table: str
    column: Column
    lesser: str | None = None

    @property
    def expectation(self) -> str:
        """The name of its result, beside the column's."""
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
    def fault(self) -> str:
        """What is wrong with a row that breaks it."""
        if self.lesser is not None:
            return f"below {self.lesser}"
        if self.column.name.endswith(("_ns", "_ts")):
            return IMPOSSIBLE
        return f"below {self.column.least}" if self.column.most is None else f"outside {self.column.least} to {self.column.most}"

    def broken(self, group: pa.Table) -> pa.ChunkedArray:
        """Per row whether it breaks the check; null does not, and NaN does."""
        value = _number(group.column(self.column.name))
        if self.lesser is not None:
            return pc.fill_null(pc.less(value, _number(group.column(self.lesser))), False)
        least, most = self.column.least, self.column.most
        inside = [pc.greater_equal(value, least)] if least is not None else []
        inside += [pc.less_equal(value, most)] if most is not None else []
        return pc.fill_null(pc.invert(inside[0] if len(inside) == 1 else pc.and_(*inside)), False)

    def proved_by(self, group: pq.RowGroupMetaData, column_index: int, kind: pa.DataType) -> bool:
        """Whether the statistics of a row group prove that all its rows pass; those of DOUBLE leave NaN out."""
        if self.lesser is not None or kind != self.column.type or not (pa.types.is_integer(kind) or kind == TIMESTAMP):
            return False
        bounds = group.column(column_index).statistics
        if bounds is None or not bounds.has_min_max:
            return bounds is not None and bounds.has_null_count and bounds.null_count == group.num_rows
        least, most = self.column.least, self.column.most
        return (least is None or least <= bounds.min_raw) and (most is None or bounds.max_raw <= most)


def checks(table: Table) -> tuple[Check, ...]:
    """The checks of a table's rows."""
    ranges = [Check(table.name, column) for column in table.ranged]
    return (*ranges, *(Check(table.name, table.column(greater), lesser) for lesser, greater in table.ordered))


def undecided(file: pq.ParquetFile, among: Iterable[Check]) -> list[Check]:
    """The checks that the statistics of a file leave open."""
    metadata, schema = file.metadata, file.schema_arrow
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    column_indices = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    return [
        check for check in among
        if column_indices.keys() >= set(check.columns)  # a file older than a column does not have it
        and not all(check.proved_by(group, column_indices[check.column.name], schema.field(check.column.name).type) for group in groups)
    ]  # fmt: skip


@dataclass
class Faults:
    """Rows that break a check: how many, and the first of them by key."""

    rows: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)

    def add(self, rows: int, first: Sequence[dict[str, Any]]) -> None:
        """Add the faults of another part of the table."""
        self.rows += rows
        self.first = sorted([*self.first, *first], key=lambda row: [str(value) for value in row.values()])[:EXAMPLES]


def find_faults(file: pq.ParquetFile, number: int, group: pa.Table, among: Iterable[Check], found: dict[str, Faults]) -> None:
    """Add the rows of a row group that break checks to those `found`."""
    for check in among:
        add_faults(file, number, TABLES[check.table], check.label, check.columns, check.broken(group), found)


def add_faults(
    file: pq.ParquetFile, number: int, table: Table, label: str, columns: Sequence[str], broken: Any, found: dict[str, Faults]
) -> None:
    """Add the rows of a row group that are `broken` by a check of this label to those `found`, with some columns of the first."""
    if count := int(pc.sum(broken).as_py() or 0) if isinstance(broken, pa.ChunkedArray) else int(broken.sum()):
        mask = broken if isinstance(broken, pa.ChunkedArray) else pa.array(broken)
        found.setdefault(label, Faults()).add(count, first_rows(file, number, table, columns, mask))


def first_rows(file: pq.ParquetFile, number: int, table: Table, columns: Sequence[str], mask: pa.ChunkedArray) -> list[dict[str, Any]]:
    """The first rows that are chosen of a row group: what is harmless of their key, and some columns."""
    keys = [*harmless_key(table), *(("path",) if table.name == "captures" else ())]
    wanted = [*keys, *(name for name in columns if name not in keys)]
    return plain_rows(with_strings(file.read_row_group(number, columns=wanted)).filter(mask), wanted)


def with_strings(rows: pa.Table) -> pa.Table:
    """The rows with plain strings where a file of another program has views, which Arrow does not filter."""
    views = [at for at, field in enumerate(rows.schema) if pa.string_view() in (field.type, getattr(field.type, "value_type", None))]
    for at in views:
        rows = rows.set_column(at, rows.schema.field(at).with_type(pa.string()), rows.column(at).cast(pa.string()))
    return rows


def plain_rows(chosen: pa.Table, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """The first of some rows as JSON has them, with these of their columns."""
    rows = chosen.slice(0, EXAMPLES).combine_chunks()
    values = {name: [_plain(_last_part(name, value)) for value in _number(rows.column(name)).to_pylist()] for name in wanted}
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _last_part(name: str, value: Any) -> Any:
    """Of a path the name of the file: who captures where is nobody's business here."""
    return value.rstrip("/").rpartition("/")[2] if name == "path" and value else value


def harmless_key(table: Table) -> list[str]:
    """The columns of a table's key that never have text from the wire."""
    return [name for name in table.key if _harmless(table.column(name))]


def _number(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers unchanged, timestamps in microseconds."""
    return values.cast(TIMESTAMP).cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _harmless(column: Column) -> bool:
    """Whether a key column never has text from the wire."""
    return not pa.types.is_string(column.type) or bool(column.words) or column.name.endswith("_id")


def _plain(value: Any) -> Any:
    """A short JSON representation of a value."""
    if value is None or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    return visible(str(value), LONGEST)
