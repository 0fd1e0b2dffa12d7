"""Captures as batches of TCP segments: where their octets lie, and the fields of their headers.

Each packet gives one row or one reason for skipping it; rows keep the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.decode import Decoded, decode, empty
from stompcap.capture.dissect import HEAD_OCTETS, locate
from stompcap.capture.files import Window, open_capture
from stompcap.capture.fragments import Defragmenter, fragment_at
from stompcap.capture.links import RAW_LINK
from stompcap.capture.outer import VLAN_BITS, joined, keyed
from stompcap.capture.records import Records, Walk
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.capture.splits import Split
from stompcap.capture.verdicts import FRAGMENT, NOT_TCP, OVERLAP, REASONS, REFUSED, USED
from stompcap.columns import I32, I64, Octets
from stompcap.kernel import kernel

ROUNDS = 8  # nested headers that the kernels refuse


@dataclass(frozen=True)
class Batch:
    """A batch of records and their decoded headers.

    `rows` are the used ones, None for all; `payloads` the octets of those that were copied.
    """

    records: Records
    decoded: Decoded
    rows: I64 | None
    payloads: dict[int, bytes]
    skipped: Counter[str]
    fragments: dict[int, list[int]]  # by row, the numbers of the packets whose fragments make it up

    @property
    def used(self) -> int:
        """How many records are TCP segments."""
        return len(self.records) if self.rows is None else len(self.rows)

    @property
    def cut(self) -> int:
        """How many TCP segments have octets that were not captured, as packets were cut (snaplen)."""
        short = self.decoded.captured_octets < self.decoded.wire_octets
        return int(np.count_nonzero(short if self.rows is None else short[self.rows]))


class Decoder:
    """Decodes the batches of one capture in order, for fragments of one packet may be in several.

    `vlan`: VLAN ids are part of the flow; `tunnels`: the innermost packet of a tunnel counts, not the outer one.
    `pending`: the incomplete datagrams where this decoder begins (`fragments.Defragmenter.saved`).
    """

    def __init__(self, pending: bytes = b"", *, vlan: bool = False, tunnels: bool = True) -> None:
        self.vlan = vlan
        self.tunnels = tunnels
        self.defragmenter = Defragmenter.restored(pending)

    def decode(self, records: Records) -> Batch:
        """Decode a batch of records: with kernels, then what they refuse, then reassembled fragments."""
        octets, payloads, fragments = records.octets, dict[int, bytes](), dict[int, list[int]]()
        skipped: Counter[str] = Counter()
        decoded, others = decode_frames(octets, records.position, records.captured, records.original, records.links, self.tunnels)
        if others:
            for row in np.flatnonzero(decoded.verdict == FRAGMENT).tolist():
                end = int(records.position[row] + records.captured[row])
                verdict, payload, packets = self._fragment(octets[int(decoded.position[row]) : end], records, row, decoded)
                decoded.verdict[row] = verdict
                if verdict == USED:
                    payloads[row], fragments[row] = payload, packets
            counts = np.bincount(decoded.verdict)
            skipped.update({REASONS[code]: int(n) for code, n in enumerate(counts) if n and code != USED})
        if self.vlan:
            decoded.flow[:], decoded.outer[:] = keyed(decoded.flow, decoded.outer)
        rows = np.flatnonzero(decoded.verdict == USED) if others else None
        return Batch(records, decoded, rows, payloads, skipped, fragments)

    def _fragment(self, packet: Octets, records: Records, row: int, out: Decoded) -> tuple[int, bytes, list[int]]:
        """Take a fragment that begins with IP; the one that completes a packet is used for it: (verdict, TCP payload, packets)."""
        packets = [records.first + row]
        for _ in range(ROUNDS):  # fragments may be in a tunnel whose packets are fragmented
            fragment = fragment_at(packet, int(out.outer[row]) >> 32 & VLAN_BITS)
            if fragment is None:
                break
            overlap, datagram = self.defragmenter.add(fragment, int(records.ts_ns[row]), packets)
            if datagram is None:
                return (OVERLAP if overlap else FRAGMENT), b"", []
            packets = datagram[2]
            packet = np.frombuffer(datagram[0], np.uint8)
            lengths = np.array([len(packet)]), np.array([datagram[1]])
            one, _ = decode_frames(packet, np.zeros(1, np.int64), *lengths, np.array([RAW_LINK], np.int32), self.tunnels)
            verdict, position = int(one.verdict[0]), int(one.position[0])
            out.outer[row] = joined(int(out.outer[row]), int(one.outer[0]))
            if verdict == USED:
                for name in Decoded._fields:
                    if name != "outer":
                        getattr(out, name)[row] = getattr(one, name)[0]
                out.position[row] = -1
                return USED, packet[position : position + int(one.captured_octets[0])].tobytes(), packets
            if verdict != FRAGMENT:
                return verdict, b"", []
            packet = packet[position:]
        return FRAGMENT, b"", []


def decode_frames(
    octets: Octets,
    position: I64,
    captured: I64,
    original: I64,
    links: I32,
    tunnels: bool,
) -> tuple[Decoded, int]:
    """Decode frames with kernels, and refused ones again behind the header that `locate` finds; (columns, how many are not USED)."""
    decoded = empty(len(position))
    others = decode(octets, position, captured, original, links, decoded, tunnels)
    if not others:
        return decoded, 0
    rows, link, past = np.flatnonzero(decoded.verdict == REFUSED), links, np.zeros(len(position), np.int64)
    layers: dict[int, int] = {}
    for _ in range(ROUNDS):
        if not len(rows):
            break
        link = link.copy() if link is links else link
        for row in rows.tolist():
            begin = int(position[row] + past[row])
            size = min(int(captured[row] - past[row]), HEAD_OCTETS)
            verdict, skip, link[row], around = locate(octets[begin : begin + size].tobytes(), int(link[row]), tunnels)
            decoded.verdict[row] = verdict
            past[row] += skip
            layers[row] = joined(layers.get(row, 0), around)
        rows = rows[decoded.verdict[rows] == USED]
        retried = empty(len(rows))
        decode(octets, position[rows] + past[rows], captured[rows] - past[rows], original[rows] - past[rows], link[rows], retried, tunnels)
        for column, values in zip(decoded, retried, strict=True):
            column[rows] = values
        rows = rows[retried.verdict == REFUSED]
    decoded.verdict[rows] = NOT_TCP
    for row, around in layers.items():
        decoded.outer[row] = joined(around, int(decoded.outer[row]))
    return decoded, int(np.count_nonzero(decoded.verdict != USED))


def read_segments(
    what: str | Split, capture: int, batch_packets: int = 65536, *, vlan: bool = False, tunnels: bool = True
) -> Iterator[pa.RecordBatch]:
    """The TCP segments of a capture file or of a part of one, as batches of the SEGMENTS schema.

    `capture` is its rank in the run; `vlan` and `tunnels` as for Decoder. A truncated or damaged file gives all that can be
    read. Raises CaptureError as `open_capture`.
    """
    source, batches = read(what, batch_packets, vlan=vlan, tunnels=tunnels)
    for batch in batches:
        source.release(batch.records.begin, batch.records.end)
        if batch.used:
            yield segment_batch(batch, capture, carry=source.compression is not None, base=source.base)


def read(what: str | Split, batch_packets: int, *, vlan: bool = False, tunnels: bool = True) -> tuple[Window, Iterator[Batch]]:
    """A capture or a part of one: its window, and its decoded batches; each is valid until the next is requested."""
    walk, batches = walked(what, batch_packets, vlan=vlan, tunnels=tunnels)
    return walk.capture, batches


def walked(what: str | Split, batch_packets: int, *, vlan: bool = False, tunnels: bool = True) -> tuple[Walk, Iterator[Batch]]:
    """As `read`, with the walk instead of the window: behind the last batch it has the status of what was read."""
    part = what if isinstance(what, Split) else Split(what)
    first, last = part.begin.before if part.begin else 0, part.end.packets if part.end else part.packets
    source = open_capture(part.path, part.limit, part.size, begin=first, until=part.end.offset if part.end else None)
    walk, decoder = Walk(source, batch_packets, part.begin, last), Decoder(part.pending, vlan=vlan, tunnels=tunnels)
    return walk, (decoder.decode(records) for records in walk)


def segment_batch(batch: Batch, capture: int, *, carry: bool, base: int = 0) -> pa.RecordBatch:
    """A decoded batch as Arrow columns of the SEGMENTS schema.

    `base`: the file offset of the batch's octets. `carry`: every segment carries its payload, for
    later readers cannot use its position.
    """
    rows, decoded = batch.rows, batch.decoded

    def pick(column: NDArray[Any]) -> NDArray[Any]:
        return column if rows is None else column[rows]

    count = batch.used
    packets = np.arange(batch.records.first, batch.records.first + len(batch.records))
    copies = {int(np.searchsorted(rows, row)): octets for row, octets in batch.payloads.items()} if rows is not None else {}
    sizes, position = pick(decoded.captured_octets), pick(decoded.position)
    columns: dict[str, object] = {
        "capture": np.full(count, capture, np.int32),
        "packet": pick(packets),
        "ts_ns": pick(batch.records.ts_ns),
        "endpoints": fixed_binary(pick(decoded.endpoints)),
        "forward": pick(decoded.forward).astype(bool),
        "bad_checksum": pick(decoded.bad_checksum).astype(bool),
        "earlier": np.zeros(count, np.int8),
        "file_offset": np.full(count, -1, np.int64) if carry else np.where(position < 0, position, position + base),
        "payload": carried(batch.records.octets, position, sizes, copies) if carry else copied(copies, count),
    }
    for name in SEGMENTS.names:
        columns.setdefault(name, pick(getattr(decoded, name)) if name not in columns else None)
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, SEGMENTS.field(n).type) for n, c in ((n, columns[n]) for n in SEGMENTS.names)]
    return pa.RecordBatch.from_arrays(arrays, schema=SEGMENTS)


def fixed_binary(rows: NDArray[np.generic]) -> pa.Array:
    """A matrix of octets as a binary array, a value per row, without copying."""
    rows = np.ascontiguousarray(rows)
    count, width = rows.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(rows)])


def copied(copies: Mapping[int, bytes], count: int) -> pa.Array:
    """The payload column: null except for rows whose octets were copied."""
    if not copies:
        return pa.nulls(count, pa.binary())
    return pa.array([copies.get(row) for row in range(count)], pa.binary())


@kernel
def copy_payloads(octets: Octets, position: I64, offsets: I32, out: Octets) -> None:
    """Copy the payloads that are in `octets` one behind the other into one buffer."""
    for row in range(len(position)):
        if position[row] >= 0:
            begin, target = position[row], np.int64(offsets[row])
            for k in range(offsets[row + 1] - target):
                out[target + k] = octets[begin + k]


def carried(octets: Octets, position: I64, sizes: I64, copies: Mapping[int, bytes]) -> pa.Array:
    """The captured payload of each row: from its position in `octets`, or where that is -1, from `copies` by row."""
    offsets = np.zeros(len(position) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    copy_payloads(octets, position, offsets, out)
    for row in np.flatnonzero(position < 0).tolist():
        out[offsets[row] : offsets[row + 1]] = np.frombuffer(copies[row], np.uint8)
    return pa.Array.from_buffers(pa.binary(), len(position), [None, pa.py_buffer(offsets), pa.py_buffer(out)])
