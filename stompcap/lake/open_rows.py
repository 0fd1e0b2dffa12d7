"""Rows of open streams, which stand in files of their own: what a batch makes of them.

A batch brings new rows of the streams that it computed again, and the ones they had go. Rows of streams that are over, as nothing came for
them while time went by, become final as they stand. Files without rows of either stay as they are, until there are many small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.columns import I64
from stompcap.lake import data_files
from stompcap.lake.paths import DataFile, filesystem
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from deltalake import DeltaTable

    from stompcap.lake.data_files import File

ID = "stream_id"
NONE = pa.array([], pa.string())
FILE_OCTETS = 1 << 17
"""Octets of a file of open streams, more where a table would have more than `MOST_FILES` of them."""

WRITTEN_OCTETS = 1 << 22
"""Octets of rows that a file is written of before it is known how large it becomes."""

MOST_FILES = 48
MOST_SMALL = 8
"""A table may have so many files of open streams of less than half that size before a batch puts them together."""


@dataclass(frozen=True)
class OpenRows:
    """What becomes of rows in files whose names begin with `prefix`: those of streams computed `again` go, those `over` become final.

    `anew`: all that are not over go.
    """

    prefix: str
    again: pa.Array = field(default_factory=lambda: NONE)
    over: pa.Array = field(default_factory=lambda: NONE)
    anew: bool = False

    def without(self, ids: pa.Array) -> OpenRows:
        """The same, and rows of these streams go in any case."""
        over = self.over.filter(pc.invert(pc.is_in(self.over, value_set=ids)))
        return OpenRows(self.prefix, pa.concat_arrays([self.again, ids]), over, self.anew)


def rewritten(lake: str, table: str, delta: DeltaTable, wanted: OpenRows) -> tuple[list[DataFile], list[File]]:
    """Files that no commit names yet, and those of the table that they replace."""
    held = [file for file in data_files.of(delta, [ID]) if file.name.startswith(wanted.prefix)]
    file_octets = max(FILE_OCTETS, sum(file.size for file in held) // MOST_FILES)
    moved = pa.concat_arrays([wanted.again, wanted.over])
    ids_of = cache(_ids)  # asked for twice of a file that is touched
    touched = [file for file in held if wanted.anew or _has_rows(file, moved, ids_of)]
    small = [file for file in held if file.size < file_octets // 2 and file not in touched]
    if len(small) + bool(touched) > MOST_SMALL:
        touched += small
    if not touched:
        return [], []
    rows_per_file = file_octets * sum(file.rows for file in touched) / sum(file.size for file in touched)
    targets = _FilesOf.of(pa.concat_arrays([ids_of(file.uri) for file in touched]), rows_per_file, wanted)
    writers = [TableWriter(lake, table, wanted.prefix) for _ in range(targets.files)]
    ends = TableWriter(lake, table)
    for file in touched:
        for rows in _row_groups(table, file):
            for number, some in targets.parted(rows):
                if number < len(writers):
                    writers[number].write(some)
                elif table != "stream_state":
                    ends.write(_final(table, some))
    return [made for writer in (*writers, ends) if (made := writer.close()) is not None], touched


@dataclass(frozen=True)
class _FilesOf:
    """Where rows go, by stream: into which of the `files` of those that stay, or behind them where they are over; `ids` are all these."""

    ids: pa.Array
    numbers: I64
    files: int

    @staticmethod
    def of(streams: pa.Array, rows_per_file: float, wanted: OpenRows) -> _FilesOf:
        """For rows of these streams, one each; a file has streams that follow each other by their ids."""
        counts = pc.value_counts(streams)
        moved = pc.is_in(counts.field("values"), value_set=pa.concat_arrays([wanted.again, wanted.over]))
        counts = counts.slice(0, 0) if wanted.anew else counts.filter(pc.invert(moved))
        counts = counts.take(pc.sort_indices(counts.field("values")))
        rows = counts.field("counts").to_numpy()
        files = max(1, round(rows.sum() / rows_per_file))
        numbers = (rows.cumsum() - rows) * files // max(rows.sum(), 1)
        behind = np.full(len(wanted.over), files, np.int64)
        return _FilesOf(pa.concat_arrays([counts.field("values"), wanted.over]), np.concatenate([numbers, behind]), files)

    def parted(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Rows by the number of where they go; without those that go nowhere."""
        if not len(self.ids):
            return
        found = pc.index_in(rows.column(ID).combine_chunks(), value_set=self.ids).fill_null(-1).to_numpy()
        numbers = np.where(found < 0, -1, self.numbers[found])
        order = np.argsort(numbers, kind="stable")
        order = order[np.searchsorted(numbers[order], 0) :]
        if not len(order):
            return
        there, begins = np.unique(numbers[order], return_index=True)
        if len(there) != 1 or len(order) != len(rows):
            rows = rows.take(pa.array(order))  # at once, for each take copies columns in several chunks as a whole
        for number, begin, end in zip(there.tolist(), begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
            yield number, rows.slice(begin, end - begin)


class OpenWriter:
    """Collects rows of open streams of a table into files: some at once where many rows come together, and one for the rest."""

    def __init__(self, lake: str, table: str, prefix: str, thread: Executor | None = None) -> None:
        self._new = partial(TableWriter, lake, table, prefix, thread)
        self._rest, self._octets, self._files = self._new(), 0, list[DataFile | None]()

    def write(self, rows: pa.Table) -> None:
        """Append rows of the table's schema, as `TableWriter.write`."""
        self._octets += rows.nbytes
        file_octets = max(WRITTEN_OCTETS, self._octets // MOST_FILES)
        if rows.nbytes < 2 * file_octets:
            self._rest.write(rows)
            return
        for begin, end in pairwise(_cuts(rows, round(rows.nbytes / file_octets))):
            writer = self._new()
            writer.write(rows.slice(begin, end - begin))
            self._files.append(writer.close())

    def close(self) -> list[DataFile]:
        """Finish the files."""
        return [file for file in (*self._files, self._rest.close()) if file is not None]


def _cuts(rows: pa.Table, pieces: int) -> list[int]:
    """Where rows are cut into so many pieces, or fewer: only between streams, as far as rows of a stream stand together."""
    ends = pc.run_end_encode(rows.column(ID).combine_chunks(), run_end_type=pa.int64()).run_ends.to_numpy()
    wanted = np.arange(1, pieces) * rows.num_rows // pieces
    return sorted({0, *ends[np.searchsorted(ends, wanted)].tolist(), rows.num_rows})


def _has_rows(file: File, ids: pa.Array, ids_of: Callable[[str], pa.Array]) -> bool:
    """Whether a file has rows of streams; `ids_of` reads those of its rows."""
    bounds = file.bounds[ID]
    if bounds.known and bounds.least is not None:
        ids = ids.filter(pc.and_(pc.greater_equal(ids, bounds.least), pc.less_equal(ids, bounds.most)))
    return bool(len(ids)) and bool(pc.any(pc.is_in(ids_of(file.uri), value_set=ids)).as_py())


def _ids(uri: str) -> pa.Array:
    """The stream of each row of a file."""
    system, path = filesystem(uri)
    with pq.ParquetFile(path, filesystem=system) as held:
        return held.read(columns=[ID]).column(ID).cast(pa.string()).combine_chunks()


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
