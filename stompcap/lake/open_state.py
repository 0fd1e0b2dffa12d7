"""What an earlier run left of open connections in table stream_state, read back by flows: as segments of this run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.some_by_rank import SomeByRank
from stompcap.lake.paths import filesystem
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from stompcap.lake.data_files import File

BATCH_ROWS = 1 << 14  # a segment may have 64 KiB of octets
RAW_COLUMNS = ["stream_id", "direction", "stream_offset", "raw"]
KEYS = ("stream_id", "flow", "last_ns", "some_open")
NO_FLOWS = pa.array([], pa.int64())


@dataclass(frozen=True)
class OpenState:
    """Data files of table stream_state, and the captures of this run.

    `always` are flows that are gone on with whether or not packets came for them. `raw_files` are files of raw_frames, which has octets of
    these segments, that stand in for those of captures that are gone.
    """

    files: tuple[File, ...] = ()
    captures: CapturesByRank | SomeByRank = field(default_factory=lambda: CapturesByRank.of(()))
    always: pa.Array = field(default_factory=lambda: NO_FLOWS)
    raw_files: tuple[File, ...] = ()

    def rows(self, flows: pa.Array) -> Iterator[pa.Table]:
        """The rows of some flows, by their hashes."""
        for file in self.files if len(flows) else ():
            system, path = filesystem(file.uri)
            with parquet.ParquetFile(path, filesystem=system) as found:
                flow = (found.read_row_group(group, columns=["flow"]).column("flow") for group in range(found.num_row_groups))
                groups = [group for group, held in enumerate(flow) if pc.any(pc.is_in(held, value_set=flows)).as_py()]
                for batch in found.iter_batches(BATCH_ROWS, row_groups=groups) if groups else ():
                    yield pa.Table.from_batches([batch.filter(pc.is_in(batch.column("flow"), value_set=flows))])

    def segments(self, rows: pa.Table) -> pa.Table:
        """Rows of the table as SEGMENTS whose octets are carried."""
        from stompcap.assembly import segments_of

        return segments_of(rows, self.captures.order, self.captures.paths, self._raw_frames)

    def _raw_frames(self, streams: pa.Array) -> Iterator[pa.Table]:
        """The octets of some streams in raw_frames, a row group at a time."""
        for file in self.raw_files:
            system, path = filesystem(file.uri)
            with parquet.ParquetFile(path, filesystem=system) as found:
                for group in range(found.num_row_groups):
                    ids = found.read_row_group(group, columns=["stream_id"]).column("stream_id")
                    wanted = pc.is_in(ids, value_set=streams)
                    if pc.any(wanted).as_py():
                        rows = found.read_row_group(group, columns=RAW_COLUMNS).filter(wanted)
                        yield rows.filter(rows.column("raw").is_valid())


def keys(files: Iterable[File]) -> pa.Table:
    """Of each stream with rows in a file: it, its flow, and what tells when that is over; null where an older version does not say."""
    schema = pa.schema([TABLES["stream_state"].arrow.field(name) for name in KEYS])
    found = [schema.empty_table()]
    for file in files:
        system, path = filesystem(file.uri)
        with parquet.ParquetFile(path, filesystem=system, read_dictionary=["stream_id"]) as held:
            rows = held.read(columns=[name for name in KEYS if name in held.schema_arrow.names])
        streams = rows.column("stream_id").unify_dictionaries().combine_chunks()
        first = np.zeros(len(streams.dictionary), np.int64)
        first[streams.indices.to_numpy()[::-1]] = np.arange(len(streams))[::-1]
        one_each = rows.take(pa.array(first)).cast(pa.schema([schema.field(name) for name in rows.column_names]))
        found.append(pa.concat_tables([schema.empty_table(), one_each], promote_options="permissive"))
    return pa.concat_tables(found)


def has_states(files: Iterable[File]) -> bool:
    """Whether among rows of open streams there are states of machines, which only a pass through all of them goes on with."""
    for file in files:
        system, path = filesystem(file.uri)
        with parquet.ParquetFile(path, filesystem=system) as found:
            index = found.schema_arrow.get_field_index("pieces")
            if index >= 0 and any(_some(found.metadata.row_group(group), index) for group in range(found.num_row_groups)):
                return True
    return False


def _some(group: Any, index: int) -> bool:
    """Whether a column of a row group has a value; so it may be where no statistics say."""
    statistics = group.column(index).statistics
    return statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows
