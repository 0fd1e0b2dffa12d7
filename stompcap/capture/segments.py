"""Captures as batches of TCP segments: where their octets lie, and what their headers say.

One packet gives one row or one skipped reason; rows keep the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.columns import SEGMENTS
from stompcap.capture.decode import REASONS, REFUSED, USED, Decoded, decode, empty
from stompcap.capture.dissect import dissect
from stompcap.capture.files import Octets, open_capture
from stompcap.capture.records import Records, Walk


@dataclass(frozen=True)
class Batch:
    """A batch of records and what was decoded of them.

    `rows` are the used ones, None where all are; `payloads` the octets of those that were copied.
    """

    records: Records
    decoded: Decoded
    rows: NDArray[np.int64] | None
    payloads: dict[int, bytes]
    skipped: Counter[str]

    @property
    def used(self) -> int:
        """How many records are TCP segments."""
        return len(self.records) if self.rows is None else len(self.rows)


def decode_batch(octets: Octets, records: Records) -> Batch:
    """Decode a batch of records: kernels first, scapy for what they refuse."""
    decoded = empty(len(records))
    payloads: dict[int, bytes] = {}
    skipped: Counter[str] = Counter()
    if not decode(octets, records.place, records.captured, records.original, records.links, decoded):
        return Batch(records, decoded, None, payloads, skipped)
    for row in np.flatnonzero(decoded.verdict == REFUSED).tolist():
        begin, length = int(records.place[row]), int(records.captured[row])
        frame = octets[begin : begin + length].tobytes()
        verdict, payload = dissect(frame, int(records.original[row]), int(records.links[row]), row, decoded)
        decoded.verdict[row] = verdict
        if verdict == USED:
            payloads[row] = payload
    counts = np.bincount(decoded.verdict)
    skipped.update({REASONS[code]: int(n) for code, n in enumerate(counts) if n and code != USED})
    return Batch(records, decoded, np.flatnonzero(decoded.verdict == USED), payloads, skipped)


def read_segments(path: str, capture: int, batch_packets: int = 65536) -> Iterator[pa.RecordBatch]:
    """The TCP segments of a capture file as batches of the SEGMENTS schema, `capture` being its rank in the run.

    A truncated or damaged file gives all that can be read. Raises CaptureError as `open_capture`.
    """
    source = open_capture(path)
    for records in Walk(source, batch_packets):
        batch = decode_batch(source.octets, records)
        source.release(records.begin, records.end)
        if batch.used:
            yield segment_batch(batch, capture)


def segment_batch(batch: Batch, capture: int) -> pa.RecordBatch:
    """A decoded batch as Arrow columns of the SEGMENTS schema."""
    rows, decoded = batch.rows, batch.decoded

    def pick(column: NDArray[np.generic]) -> NDArray[np.generic]:
        return column if rows is None else column[rows]

    count = batch.used
    packets = np.arange(batch.records.first, batch.records.first + len(batch.records))
    columns: dict[str, object] = {
        "capture": np.full(count, capture, np.int32),
        "packet": pick(packets),
        "ts_ns": pick(batch.records.ts_ns),
        "endpoints": fixed_binary(pick(decoded.endpoints)),
        "forward": pick(decoded.forward).astype(bool),
        "payload": copied(rows, batch.payloads, count),
    }
    for name in SEGMENTS.names:
        columns.setdefault(name, pick(getattr(decoded, name)) if name not in columns else None)
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, SEGMENTS.field(n).type) for n, c in ((n, columns[n]) for n in SEGMENTS.names)]
    return pa.RecordBatch.from_arrays(arrays, schema=SEGMENTS)


def fixed_binary(rows: NDArray[np.generic]) -> pa.Array:
    """A matrix of octets as a binary array, a value per row, without a copy."""
    rows = np.ascontiguousarray(rows)
    count, width = rows.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(rows)])


def copied(rows: NDArray[np.int64] | None, payloads: dict[int, bytes], count: int) -> pa.Array:
    """The payload column: null but for the rows whose octets were copied."""
    if not payloads or rows is None:
        return pa.nulls(count, pa.binary())
    return pa.array([payloads.get(row) for row in rows.tolist()], pa.binary())
