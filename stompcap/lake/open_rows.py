"""Rows of open streams, which stand in files of their own: what a batch makes of them.

A batch brings new rows of the streams that it computed again, and the ones they had go. Rows of streams that are over, as nothing came for
them while time went by, become final as they stand. Files without rows of either stay as they are, until there are many small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.lake import data_files
from stompcap.lake.commits import SMALL_OCTETS
from stompcap.lake.paths import DataFile, filesystem
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from stompcap.lake.data_files import File

ID = "stream_id"
NONE = pa.array([], pa.string())
MOST_SMALL = 8
"""A table may have so many files of open streams of less than `SMALL_OCTETS` before a batch makes them one."""


@dataclass(frozen=True)
class OpenRows:
    """What becomes of rows in files whose names begin with `prefix`: those of streams computed `again` go, those `over` become final."""

    prefix: str
    again: pa.Array = field(default_factory=lambda: NONE)
    over: pa.Array = field(default_factory=lambda: NONE)

    def without(self, ids: pa.Array) -> OpenRows:
        """The same, and rows of these streams go in any case."""
        over = self.over.filter(pc.invert(pc.is_in(self.over, value_set=ids)))
        return OpenRows(self.prefix, pa.concat_arrays([self.again, ids]), over)


def rewritten(lake: str, table: str, delta: DeltaTable, wanted: OpenRows) -> tuple[list[DataFile], list[File]]:
    """Files that no commit names yet, and those of the table that they replace."""
    held = [file for file in data_files.of(delta, [ID]) if file.name.startswith(wanted.prefix)]
    moved = pa.concat_arrays([wanted.again, wanted.over])
    touched = [file for file in held if len(moved) and _has_rows(file, moved)]
    small = [file for file in held if file.size < SMALL_OCTETS and file not in touched]
    if len(small) + bool(touched) > MOST_SMALL:
        touched += small
    if not touched:
        return [], []
    stays, ends = TableWriter(lake, table, wanted.prefix), TableWriter(lake, table)
    for file in touched:
        for rows in _row_groups(table, file):
            ids = rows.column(ID)
            stays.write(rows.filter(pc.invert(pc.is_in(ids, value_set=moved))))
            if len(wanted.over) and table != "stream_state":
                ends.write(_final(table, rows.filter(pc.is_in(ids, value_set=wanted.over))))
    return [made for writer in (stays, ends) if (made := writer.close()) is not None], touched


def _has_rows(file: File, ids: pa.Array) -> bool:
    """Whether a file has rows of streams."""
    bounds = file.bounds[ID]
    if bounds.known and bounds.least is not None:
        within = pc.and_(pc.greater_equal(ids, bounds.least), pc.less_equal(ids, bounds.most))
        if not pc.any(within).as_py():
            return False
    system, path = filesystem(file.uri)
    with pq.ParquetFile(path, filesystem=system) as held:
        found = held.read(columns=[ID]).column(ID).cast(pa.string())
    return bool(pc.any(pc.is_in(found, value_set=ids)).as_py())


def _row_groups(table: str, file: File) -> Iterator[pa.Table]:
    """The rows of a file, with the columns that the table has now."""
    system, path = filesystem(file.uri)
    schema = TABLES[table].arrow
    with pq.ParquetFile(path, filesystem=system) as held:
        names = [name for name in schema.names if name in held.schema_arrow.names]
        for number in range(held.num_row_groups):
            rows = held.read_row_group(number, columns=names)
            yield pa.concat_tables([schema.empty_table(), rows], promote_options="permissive").select(schema.names)


def _final(table: str, rows: pa.Table) -> pa.Table:
    """The rows of streams that have ended."""
    if table != "streams":
        return rows
    return rows.set_column(rows.schema.get_field_index("final"), rows.schema.field("final"), pa.repeat(True, rows.num_rows))
