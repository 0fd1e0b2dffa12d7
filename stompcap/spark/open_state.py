"""Segments of open streams as an earlier run left them in table stream_state: read back as segments of this run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from stompcap.spark.places import filesystem

if TYPE_CHECKING:
    from stompcap.spark.data_files import File

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
