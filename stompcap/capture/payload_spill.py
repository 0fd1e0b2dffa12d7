"""Payload carried by segments, spilled to a file, so that these segments have a file offset as all others do.

One connection of a compressed capture may have gigabytes of payload, more than the two that a binary column holds.
"""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Mapped
from stompcap.capture.segment_columns import SPILLED


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, removed when it is closed."""
    return tempfile.TemporaryDirectory(prefix="stompcap-", dir=_place())


def _place() -> str | None:
    """Spark's folder for temporary files, else the system's."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


class PayloadSpill:
    """A temporary file of payloads, removed with the object; `octets` maps those written so far."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(dir=_place())  # noqa: SIM115  lives as long as this
        self._size = 0
        self._mapped = Mapped("", np.frombuffer(b"", np.uint8), "", None)

    def take(self, segments: pa.Table) -> pa.Table:
        """Rows of SEGMENTS with their payload in the file and its `file_offset`; they share no memory with `segments`."""
        payload = segments.column("payload")
        if payload.null_count == len(payload):
            return segments
        position = segments.column("file_offset").to_numpy().copy()
        first = 0
        for chunk in payload.chunks:
            _, offsets, data = chunk.buffers()
            at = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
            carry = chunk.is_valid().to_numpy(zero_copy_only=False)
            position[first : first + len(chunk)][carry] = SPILLED - (self._size + at[:-1] - at[0])[carry]
            self._size += self._file.write(np.frombuffer(data or b"", np.uint8)[at[0] : at[-1]].data)
            first += len(chunk)
        kept = segments.set_column(segments.schema.get_field_index("file_offset"), segments.schema.field("file_offset"), pa.array(position))
        kept = kept.set_column(kept.schema.get_field_index("payload"), kept.schema.field("payload"), pa.nulls(len(kept), pa.binary()))
        return kept.take(pa.array(np.arange(len(kept))))

    @property
    def octets(self) -> Mapped:
        """All octets written."""
        if self._mapped.size != self._size:
            self._file.flush()
            mapping = mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_READ)
            self._mapped = Mapped("", np.frombuffer(mapping, np.uint8), "", mapping)
        return self._mapped
