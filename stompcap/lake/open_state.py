"""Segments of open streams as an earlier run left them in table stream_state: read back as segments of this run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from stompcap.lake.paths import filesystem

if TYPE_CHECKING:
    from stompcap.lake.data_files import File

BATCH_ROWS = 1 << 14  # a segment may have 64 KiB of octets


@dataclass(frozen=True)
class OpenState:
    """Data files of table stream_state; the ranks that captures have in this run, by id, and their paths."""

    files: tuple[File, ...]
    order: Mapping[str, int]
    paths: Sequence[str]

    def segments(self, file: File) -> Iterator[pa.RecordBatch]:
        """The rows of one of the files, as batches of SEGMENTS whose octets are carried."""
        from stompcap.assembly import segments_of

        system, path = filesystem(file.uri)
        with parquet.ParquetFile(path, filesystem=system) as found:
            for batch in found.iter_batches(BATCH_ROWS):
                yield from segments_of(pa.Table.from_batches([batch]), self.order, self.paths).to_batches()


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
