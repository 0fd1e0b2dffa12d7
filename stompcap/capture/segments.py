"""Captures as batches of TCP segments: where their octets lie, and what their headers say.

One packet gives one row or one skipped reason; rows keep the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.checkpoint import NO_END
from stompcap.capture.columns import SEGMENTS
from stompcap.capture.decode import Decoded, decode, empty
from stompcap.capture.dissect import dissect
from stompcap.capture.files import Octets, Window, open_capture
from stompcap.capture.fragments import Defragmenter, fragment_at
from stompcap.capture.records import Records, Walk
from stompcap.capture.splits import Split
from stompcap.capture.verdicts import FRAGMENT, OVERLAP, REASONS, REFUSED, USED
from stompcap.kernel import kernel

RAW_LINK = 101  # frames that begin with IP


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


class Decoder:
    """Decodes the batches of one capture in order, for fragments of one packet may lie in several.

    `pending`: what another one had of such packets where this one begins (`fragments.Defragmenter.saved`).
    """

    def __init__(self, pending: bytes = b"") -> None:
        self.defragmenter = Defragmenter.restored(pending)

    def decode(self, records: Records) -> Batch:
        """Decode a batch of records: kernels first, scapy for what they refuse, fragments put together."""
        octets, decoded = records.octets, empty(len(records))
        payloads: dict[int, bytes] = {}
        skipped: Counter[str] = Counter()
        if not decode(octets, records.place, records.captured, records.original, records.links, decoded):
            return Batch(records, decoded, None, payloads, skipped)
        for row in np.flatnonzero((decoded.verdict == REFUSED) | (decoded.verdict == FRAGMENT)).tolist():
            begin, length = int(records.place[row]), int(records.captured[row])
            if decoded.verdict[row] == FRAGMENT:
                ip, ts_ns = int(decoded.place[row]), int(records.ts_ns[row])
                verdict, payload = self._fragment(octets[begin : begin + length], ip - begin, ts_ns, row, decoded)
            else:
                frame = octets[begin : begin + length].tobytes()
                verdict, payload = dissect(frame, int(records.original[row]), int(records.links[row]), row, decoded)
            decoded.verdict[row] = verdict
            if verdict == USED:
                payloads[row] = payload
        counts = np.bincount(decoded.verdict)
        skipped.update({REASONS[code]: int(n) for code, n in enumerate(counts) if n and code != USED})
        return Batch(records, decoded, np.flatnonzero(decoded.verdict == USED), payloads, skipped)

    def _fragment(self, frame: Octets, ip: int, ts_ns: int, row: int, out: Decoded) -> tuple[int, bytes]:
        """Take a fragment; the one that completes its packet stands for it: (verdict, TCP payload)."""
        piece = fragment_at(frame, ip)
        if piece is None:
            return FRAGMENT, b""
        overlap, whole = self.defragmenter.add(piece, ts_ns)
        if whole is None:
            return (OVERLAP if overlap else FRAGMENT), b""
        packet, original = np.frombuffer(whole[0], np.uint8), whole[1]
        one = empty(1)
        decode(packet, np.zeros(1, np.int64), np.array([len(packet)]), np.array([original]), np.array([RAW_LINK], np.int32), one)
        verdict, place = int(one.verdict[0]), int(one.place[0])
        if verdict == FRAGMENT:  # a fragment in a tunnel whose packets are in fragments
            return self._fragment(packet, place, ts_ns, row, out)
        if verdict == REFUSED:
            return dissect(whole[0], original, RAW_LINK, row, out)
        if verdict != USED:
            return verdict, b""
        for column, value in zip(out, one, strict=True):
            column[row] = value[0]
        out.place[row] = -1
        return USED, whole[0][place : place + int(one.captured_octets[0])]


def read_segments(what: str | Split, capture: int, batch_packets: int = 65536) -> Iterator[pa.RecordBatch]:
    """The TCP segments of a capture file or of a part of one, as batches of the SEGMENTS schema.

    `capture` is its rank in the run. A truncated or damaged file gives all that can be read. Raises CaptureError as
    `open_capture`.
    """
    source, batches = read(what, batch_packets)
    for batch in batches:
        source.release(batch.records.begin, batch.records.end)
        if batch.used:
            yield segment_batch(batch, capture, carry=source.compression is not None, base=source.base)


def read(what: str | Split, batch_packets: int) -> tuple[Window, Iterator[Batch]]:
    """A capture or a part of one: its window, and its decoded batches; each is good until the next is asked for."""
    part = what if isinstance(what, Split) else Split(what)
    first, last = part.begin.before if part.begin else 0, part.end.packets if part.end else NO_END
    source = open_capture(part.path, size=part.size, begin=first, until=part.end.offset if part.end else None)
    walk, decoder = Walk(source, batch_packets, part.begin, last), Decoder(part.pending)
    return source, (decoder.decode(records) for records in walk)


def segment_batch(batch: Batch, capture: int, *, carry: bool, base: int = 0) -> pa.RecordBatch:
    """A decoded batch as Arrow columns of the SEGMENTS schema.

    `base`: what a place in the batch's octets is counted from. `carry`: whether every segment carries its payload, for
    its place says nothing to those who come later.
    """
    rows, decoded = batch.rows, batch.decoded

    def pick(column: NDArray[Any]) -> NDArray[Any]:
        return column if rows is None else column[rows]

    count = batch.used
    packets = np.arange(batch.records.first, batch.records.first + len(batch.records))
    copies = {int(np.searchsorted(rows, row)): octets for row, octets in batch.payloads.items()} if rows is not None else {}
    sizes, place = pick(decoded.captured_octets), pick(decoded.place)
    columns: dict[str, object] = {
        "capture": np.full(count, capture, np.int32),
        "packet": pick(packets),
        "ts_ns": pick(batch.records.ts_ns),
        "endpoints": fixed_binary(pick(decoded.endpoints)),
        "forward": pick(decoded.forward).astype(bool),
        "place": np.full(count, -1, np.int64) if carry else np.where(place < 0, place, place + base),
        "payload": carried(batch.records.octets, place, sizes, copies) if carry else copied(copies, count),
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


def copied(copies: Mapping[int, bytes], count: int) -> pa.Array:
    """The payload column: null but for the rows whose octets were copied."""
    if not copies:
        return pa.nulls(count, pa.binary())
    return pa.array([copies.get(row) for row in range(count)], pa.binary())


@kernel
def copy_payloads(octets: Octets, place: NDArray[np.int64], offsets: NDArray[np.int32], out: Octets) -> None:
    """Copy the payloads that lie in `octets` to their places in one buffer."""
    for row in range(len(place)):
        if place[row] >= 0:
            begin, target = place[row], np.int64(offsets[row])
            for k in range(offsets[row + 1] - target):
                out[target + k] = octets[begin + k]


def carried(octets: Octets, place: NDArray[np.int64], sizes: NDArray[np.int64], copies: Mapping[int, bytes]) -> pa.Array:
    """The captured payload of each row, from its place in `octets`, or where that is -1 from `copies` by row."""
    offsets = np.zeros(len(place) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    copy_payloads(octets, place, offsets, out)
    for row in np.flatnonzero(place < 0).tolist():
        out[offsets[row] : offsets[row + 1]] = np.frombuffer(copies[row], np.uint8)
    return pa.Array.from_buffers(pa.binary(), len(place), [None, pa.py_buffer(offsets), pa.py_buffer(out)])
