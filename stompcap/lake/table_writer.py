"""Parquet files written where the rows are made, with the statistics and constraints a Delta writer owes its readers.

Octets and nested headers cost several times more on the way through Spark's row writer than written here as Arrow; so the tasks
write, and the driver commits (`stompcap.lake.tables.commit`). A file no commit names is invisible and VACUUM removes it.
"""

from __future__ import annotations

import datetime
import json
import uuid
from concurrent.futures import Executor, Future
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.lake.finality import marked, stored
from stompcap.lake.paths import DataFile, filesystem, location
from stompcap.tables import TABLES, Table
from stompcap.tables.unknown_times import without_zero

COMPRESSION_LEVEL = 3
DICTIONARY_OCTETS = 1 << 17
"""A dictionary that grows beyond this is given up for the rest of its row group: values as various as that only repeat in it."""

GROUP_ROWS = 1 << 17
"""Rows of a row group at most."""

ENCODED_ROWS = 1 << 14
"""Rows that Parquet's encoders take at a time; its default of 1,024 costs a tenth of the time."""

WAVERING = ("seq", "ack", "ip_id")
"""Columns of which each value is near to that of some row before, and far from that of the row before: of both directions in turn."""

HELD_OCTETS = 1 << 22
"""Octets of rows that are held before they are written as a row group: each has its cost for whoever reads the file."""

LONGEST = 32
"""Characters of a string minimum or maximum, as Delta's own writer keeps."""

PART = "part-"
"""What the name of a data file begins with, behind a prefix that says of which kind its rows are, if any."""


class TableWriter:
    """Collects rows of one table into one Parquet file, whose name may have a prefix; makes no file where no row came.

    Rows are encoded by `thread`, where one is given, while others are made: one row group of the file at a time.
    """

    def __init__(self, lake: str, table: str, prefix: str = "", thread: Executor | None = None) -> None:
        self.table = TABLES[table]
        self.name = f"{prefix}{PART}{uuid.uuid4()}.zstd.parquet"
        self.filesystem, folder = filesystem(location(lake, table))
        self.path = f"{folder}/{self.name}"
        self._writer: pq.ParquetWriter | None = None
        self._written: list[pq.FileMetaData] = []
        self._held: list[pa.Table] = []
        self._octets = 0
        self._thread = thread
        self._encoding: Future[None] | None = None

    def write(self, rows: pa.Table) -> None:
        """Append rows of the table's schema; ValueError where one breaks a constraint or does not fit its column.

        An error of the thread is raised by the next row group, or by `close`.
        """
        if rows.num_rows == 0:
            return
        rows = marked(self.table, fitted(self.table.name, rows), self.name)
        self._held.append(rows)
        self._octets += rows.nbytes
        if self._octets >= HELD_OCTETS:
            self._write()

    def _write(self) -> None:
        """Write the rows that are held."""
        rows, self._held, self._octets = pa.concat_tables(self._held), [], 0
        self._wait()
        if self._thread is None:
            self._encode(rows)
        else:
            self._encoding = self._thread.submit(self._encode, rows)

    def _wait(self) -> None:
        """Until what was given to the thread is written."""
        if self._encoding is not None:
            self._encoding.result()
            self._encoding = None

    def _encode(self, rows: pa.Table) -> None:
        if self._writer is None:
            various = {column.name for column in self.table.columns if column.various}
            rising = [name for name in various if name not in WAVERING and not pa.types.is_string(self.table.arrow.field(name).type)]
            self._writer = pq.ParquetWriter(
                self.path,
                stored(self.table),
                filesystem=self.filesystem,
                compression="zstd",
                compression_level=COMPRESSION_LEVEL,
                use_dictionary=[name for name in _leaves(self.table) if name not in various],
                column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
                write_statistics=[*{*self.table.statistics, *(column.name for column in self.table.ranged)}],
                dictionary_pagesize_limit=DICTIONARY_OCTETS,
                write_batch_size=ENCODED_ROWS,
                store_schema=False,
                metadata_collector=self._written,
            )
        self._writer.write_table(rows, row_group_size=GROUP_ROWS)

    def close(self) -> DataFile | None:
        """Finish the file; None where nothing was written."""
        if self._held:
            self._write()
        self._wait()
        if self._writer is None:
            return None
        self._writer.close()
        size, [written] = self.filesystem.get_file_info(self.path).size, self._written
        return DataFile(self.table.name, self.name, size, written.num_rows, statistics(self.table, written))


def write(lake: str, table: str, rows: pa.Table) -> DataFile:
    """One file of the given rows (at least one)."""
    writer = TableWriter(lake, table)
    writer.write(rows)
    file = writer.close()
    if file is None:
        raise ValueError(f"no rows to write to {table}")
    return file


def statistics(table: Table, written: pq.FileMetaData) -> str:
    """The `stats` field of an add action, over the columns people filter by: of what Parquet keeps of each row group.

    A bound that Parquet does not have, of strings beyond 4 kB, is left out.
    """
    places = {written.schema.column(place).path: place for place in range(written.num_columns)}
    groups = [written.row_group(number) for number in range(written.num_row_groups)]
    least, most, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    for name in table.statistics:
        found = [group.column(places[name]).statistics for group in groups]
        nulls[name] = sum(one.null_count for one in found)
        valued = [one for one in found if one.num_values]
        if valued and all(one.has_min_max for one in valued):
            least[name] = _low(min(one.min for one in valued))
            if (high := _high(max(one.max for one in valued))) is not None:
                most[name] = high
    return json.dumps({"numRecords": written.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls})


def _low(value: Any) -> Any:
    """A lower bound as JSON: strings may be cut, timestamps are cut to milliseconds."""
    if isinstance(value, str):
        return value[:LONGEST]
    return _moment(value)


def _high(value: Any) -> Any:
    """An upper bound as JSON; a cut string must stay above all it stands for."""
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST] + "\U0010ffff"
    return _moment(value, up=True)


def _moment(value: Any, up: bool = False) -> Any:
    """A date or timestamp as Delta writes it in statistics, a timestamp rounded away from the rows it bounds."""
    if not isinstance(value, datetime.datetime):
        return value.isoformat() if isinstance(value, datetime.date) else value
    whole = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if up and whole != value:
        whole += datetime.timedelta(milliseconds=1)
    return str(whole.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z")


def _leaves(table: Table) -> list[str]:
    """Parquet's names of the table's leaf columns."""
    leaves: list[str] = []
    for column in table.columns:
        if pa.types.is_map(column.type):
            leaves += [f"{column.name}.key_value.key", f"{column.name}.key_value.value"]
        elif pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            leaves += [f"{column.name}.list.element.{field.name}" for field in column.type.value_type]
        elif pa.types.is_list(column.type):
            leaves.append(f"{column.name}.list.element")
        else:
            leaves.append(column.name)
    return leaves


def fitted(name: str, rows: pa.Table) -> pa.Table:
    """Rows in the columns that a table declares; ValueError where one breaks a constraint or does not fit its column."""
    table = TABLES[name]
    rows = without_zero(table, rows)
    _check(table, rows)
    return rows.select(table.arrow.names).cast(table.arrow)


def _check(table: Table, rows: pa.Table) -> None:
    """The constraints Delta would check on its own write path."""
    for column in table.columns:
        values = rows.column(column.name)
        if not column.nullable and values.null_count:
            raise ValueError(f"{table.name}.{column.name} is null in {values.null_count} rows")
        if column.words:
            legal = pc.is_in(values, value_set=pa.array([*column.words, None], pa.string()))
            if not pc.all(legal).as_py():
                wrong = pc.unique(values.filter(pc.invert(legal))).to_pylist()[:3]
                raise ValueError(f"{table.name}.{column.name} holds {wrong}, not one of {column.words}")
