"""What other writers have made of a table's files, brought back in order: OPTIMIZE, Z-order, compact().

These put rows of open connections, which the next run replaces, into one file with rows that are final. The first run behind them moves
those rows into files of their own again, without a change of any row, and writes times as the other files have them; what needs neither
stays as the others wrote it.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.lake import batch_options, data_files, delta_log, open_tables
from stompcap.lake.commits import APP, CommitInfo, read, replace_files
from stompcap.lake.finality import ALWAYS_OPEN, FINAL
from stompcap.lake.open_rows import OpenWriter
from stompcap.lake.paths import OPEN, filesystem, location, open_files
from stompcap.lake.table_writer import TableWriter, fitted
from stompcap.tables import TABLES
from stompcap.units import counted, size

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from stompcap.lake.data_files import File
    from stompcap.tables import Table

OURS = re.compile(rf"({OPEN}[0-9a-f]{{16}}-)?part-[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.zstd\.parquet")
"""The name of a data file that this program wrote."""

SEEN = "others:"
ID, BATCH = "stream_id", "batch_id"


@dataclass
class Moved:
    """What it took to bring rows of open connections back into files of their own."""

    tables: int = 0
    rows: int = 0
    octets: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.tables > 0

    def __str__(self) -> str:
        where, rows = counted(self.tables, "table"), counted(self.rows, "row")
        says = f"another program had put files of {where} together: {rows} of open connections moved into files of their own"
        return f"{says}, {size(self.octets)} written again in {self.seconds:.1f} s"


def take_out_open_rows(lake: str) -> Moved:
    """Move rows of open connections out of the files that others wrote; who does so holds the lake."""
    moved, began, known = Moved(), time.monotonic(), None
    for table in TABLES.values():
        delta = open_tables.table(location(lake, table.name))
        if all(OURS.fullmatch(uri.rpartition("/")[2]) for uri in data_files.uris(delta)):
            continue
        others = [file for file in data_files.of(delta) if not OURS.fullmatch(file.name)]
        if delta.transaction_version(APP + _seen(others)) is not None:
            continue
        known = known or _Open.of(lake)
        _write_again(lake, table, delta, others, known, moved)
    moved.seconds = time.monotonic() - began
    return moved


def _seen(files: Sequence[File]) -> str:
    """What a table says once these files of others are known to have final rows alone."""
    return SEEN + hashlib.sha256("\n".join(sorted(file.name for file in files)).encode()).hexdigest()[:32]


def _write_again(lake: str, table: Table, delta: DeltaTable, others: Sequence[File], known: _Open, moved: Moved) -> None:
    """Those of one table, in one commit."""
    older = _Older(table, delta)
    touched = [file for file in others if _is_to_be_written_again(table, file, known, older)]
    writers, rest = dict[str, OpenWriter](), TableWriter(lake, table.name)
    for file in touched:
        for rows, mask in _row_groups(table, file, known, older):
            rest.write(rows.filter(pc.invert(mask)))
            provisional = rows.filter(mask)
            moved.rows += provisional.num_rows
            for prefix, some in known.by_prefix(provisional):
                writers.setdefault(prefix, OpenWriter(lake, table.name, prefix)).write(some)
        moved.octets += file.size
    made = [*([last] if (last := rest.close()) is not None else []), *(one for writer in writers.values() for one in writer.close())]
    left = [file for file in others if file not in touched]
    moved.tables += bool(touched)
    replace_files(delta, made, touched, CommitInfo("others", (_seen(left),) if left else ()), rows_stay=True)


@dataclass(frozen=True)
class _Open:
    """The open streams of a lake: the batch of each, and the prefix of the files with rows of a batch."""

    batches: Mapping[str, str]
    prefixes: Mapping[str, str]

    @staticmethod
    def of(lake: str) -> _Open:
        """As tables streams and batches have it."""
        of_table = data_files.of(open_tables.table(location(lake, "streams")))
        streams = read("streams", of_table, [ID, BATCH, FINAL])
        streams = streams.filter(pc.equal(streams.column(FINAL), False))
        batches = read("batches", data_files.of(open_tables.table(location(lake, "batches"))), [BATCH, "options", "begun_ts"])
        prefixes = {
            row[BATCH]: open_files(batch_options.from_json(row["options"]))
            for row in sorted(batches.to_pylist(), key=lambda row: row["begun_ts"])
        }
        return _Open(dict(zip(streams.column(ID).to_pylist(), streams.column(BATCH).to_pylist(), strict=True)), prefixes)

    def by_prefix(self, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        """Rows by the prefix of the files that they belong into; of a stream that table streams has not yet, by the latest batch."""
        if not rows.num_rows:
            return
        latest = [OPEN, *self.prefixes.values()][-1]
        ids = rows.column(ID).cast(pa.string()).combine_chunks()
        different = pc.unique(ids)
        named = pa.array([self.prefixes.get(self.batches.get(name, ""), latest) for name in different.to_pylist()], pa.string())
        of_row = named.take(pc.index_in(ids, value_set=different))
        for prefix in pc.unique(named).to_pylist():
            yield prefix, rows.filter(pc.equal(of_row, prefix))


class _Older:
    """Which of the rows that an older version wrote, without the mark, were in files of open connections, as long as these are there."""

    def __init__(self, table: Table, delta: DeltaTable) -> None:
        self._table, self._delta = table, delta
        self._keys: set[tuple[object, ...]] | None = None

    def provisional(self, rows: pa.Table, known: _Open) -> pa.Array:
        """Which rows are."""
        is_open = pc.is_in(rows.column(ID).cast(pa.string()).combine_chunks(), value_set=pa.array(list(known.batches), pa.string()))
        if not pc.any(is_open).as_py():
            return is_open
        if self._keys is None:
            self._keys = self._removed()
        if not self._keys:  # the files are gone: all rows of an open connection, but for one of many packets, were in them
            return is_open
        keys = zip(*(rows.column(name).to_pylist() for name in self._table.key), strict=True)
        return pa.array([bool(mine) and key in self._keys for mine, key in zip(is_open.to_pylist(), keys, strict=True)], pa.bool_())

    def _removed(self) -> set[tuple[object, ...]]:
        """The keys of rows in the files of open connections that others have put together, as far as they are there still."""
        found = set[tuple[object, ...]]()
        for uri in delta_log.put_together(self._delta, OURS.fullmatch):
            if uri.rpartition("/")[2].startswith(OPEN) and data_files.exist([uri]):
                system, path = filesystem(uri)
                with pq.ParquetFile(path, filesystem=system) as held:
                    rows = held.read(columns=list(self._table.key))
                found |= set(zip(*(rows.column(name).to_pylist() for name in self._table.key), strict=True))
        return found


def _row_groups(table: Table, file: File, known: _Open, older: _Older) -> Iterator[tuple[pa.Table, pa.Array]]:
    """The rows of a file with the columns that the table declares, and which of them are of open connections and not final."""
    system, path = filesystem(file.uri)
    with pq.ParquetFile(path, filesystem=system, coerce_int96_timestamp_unit="us") as held:
        there = held.schema_arrow.names
        for number in range(held.num_row_groups):
            rows = held.read_row_group(number, columns=[name for name in (*table.arrow.names, FINAL) if name in there])
            if ID not in table.arrow.names:
                mask = pa.repeat(False, rows.num_rows)
            elif table.name in ALWAYS_OPEN:
                mask = pa.repeat(True, rows.num_rows)
            elif FINAL not in there:
                mask = older.provisional(rows, known)
            else:
                final = rows.column(FINAL).combine_chunks()
                mask = pc.equal(final, False).fill_null(False)
                if final.null_count:
                    mask = pc.or_(mask, pc.and_(final.is_null(), older.provisional(rows, known)))
            yield _as_declared(table, rows), mask


def _is_to_be_written_again(table: Table, file: File, known: _Open, older: _Older) -> bool:
    """Whether a file has rows of open connections, or times of other types.

    One with rows that the table may not have stays as it is, and validation names them.
    """
    found = _has_other_types(file)
    for rows, mask in _row_groups(table, file, known, older):
        try:
            fitted(table.name, rows)
        except ValueError:
            return False
        found |= pc.any(mask).as_py()
    return found


def _has_other_types(file: File) -> bool:
    """Whether times have no zone, as in files that Spark writes by default (INT96): they are written as the other files have them."""
    system, path = filesystem(file.uri)
    with pq.ParquetFile(path, filesystem=system) as held:
        return any(pa.types.is_timestamp(field.type) and field.type.tz is None for field in held.schema_arrow)


def _as_declared(table: Table, rows: pa.Table) -> pa.Table:
    """Rows in the columns that a table declares, null where a file has none of them; times without a zone are UTC."""
    columns = {
        field.name: rows.column(field.name).cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in table.arrow
    }
    return pa.table(columns)
