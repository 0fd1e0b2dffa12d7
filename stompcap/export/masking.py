"""Masks the secrets of a stream in a capture file that has its packets, so that checksums stay as right as they were.

The file goes through reassembler and delimiter again. Each octet of a secret becomes `*` wherever the stream was captured, in copies too,
and what changes in a segment's sum is taken into its checksum (RFC 1624). So no sum around it changes either, such as UDP's of a tunnel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap import stomp
from stompcap.assembly.rows import redacted_octets
from stompcap.assembly.sources import Sources
from stompcap.assembly.windows import WINDOW, windows
from stompcap.capture.checkpoint import NO_END
from stompcap.capture.fragments import fragment_at
from stompcap.capture.records import Records
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.capture.segments import decode_frames, read, segment_batch
from stompcap.capture.splits import Split
from stompcap.capture.verdicts import USED
from stompcap.columns import I64, Octets, column
from stompcap.errors import CaptureError
from stompcap.options import Options
from stompcap.tcp import WIRE_ORDER, reassemble_columns
from stompcap.tcp.flows import NEVER
from stompcap.tcp.octets import STAR, captured_twice
from stompcap.tcp.results import Extents, Reassembly
from stompcap.transport import plain

BATCH_PACKETS = 65536
SMALLEST_HEAD, LARGEST_HEAD, CHECKSUM = 20, 60, 16  # octets of a TCP header, and where its checksum is


@dataclass(frozen=True)
class Chunk:
    """Part of a datagram that lies in the file in one run."""

    offset: int
    """Where it begins in the datagram."""

    file_offset: int
    """Where it begins in the file."""

    length: int


def mask_packets(path: str, source: str, options: Options, *, tunnels: bool = True) -> int:
    """Mask the secrets in a file that has the packets of one connection of a capture source; gives how many packets it changed.

    Raises CaptureError where a secret lies where it cannot be masked.
    """
    segments, datagrams = _segments(path, tunnels)
    if not segments.num_rows:
        return 0
    found = reassemble_columns(segments, source, idle_ns=NEVER)
    rows, offsets = _secrets(segments, found, options, Sources([path], None))
    if not rows.size:
        return 0
    octets = np.memmap(path, np.uint8, "r+")
    payload, packet = column(segments, "file_offset"), column(segments, "packet")
    for row in np.unique(rows).tolist():
        which = offsets[rows == row]
        sent = segments.slice(row, 1).to_pylist()[0]
        chunks = [Chunk(0, 0, octets.size)] if payload[row] >= 0 else datagrams[int(packet[row])]
        begin = int(payload[row]) if payload[row] >= 0 else _within(octets, chunks, sent["payload"])
        head = _header(octets, chunks, begin, sent["seq"], sent["ack"])
        if begin < 0 or head < 0:
            raise CaptureError(path, f"packet {sent['packet']} has a secret that cannot be masked; add --original to have it all the same")
        _mask(octets, chunks, head, begin + which)
    octets.flush()
    return len(np.unique(rows))


def _segments(path: str, tunnels: bool) -> tuple[pa.Table, dict[int, list[Chunk]]]:
    """The segments of a file in wire order; by packet, the chunks of datagrams that came in fragments."""
    source, batches = read(Split(path, limit=NO_END), BATCH_PACKETS, tunnels=tunnels)
    tables, datagrams, chunks = list[pa.RecordBatch](), dict[int, list[Chunk]](), dict[int, Chunk]()
    for batch in batches:
        records = batch.records
        for row in np.flatnonzero(batch.decoded.verdict != USED).tolist() + list(batch.fragments):
            if (chunk := _chunk(records, row, source.base, tunnels)) is not None:
                chunks[records.first + row] = chunk
        for row, packets in batch.fragments.items():
            datagrams[records.first + row] = [chunks[number] for number in packets if number in chunks]
        if batch.used:
            tables.append(segment_batch(batch, 0, carry=False, base=source.base))
    return pa.Table.from_batches(tables, SEGMENTS).sort_by(WIRE_ORDER).combine_chunks(), datagrams


def _chunk(records: Records, row: int, base: int, tunnels: bool) -> Chunk | None:
    """What of a datagram a packet carries that is a fragment."""
    one = slice(row, row + 1)
    decoded, _ = decode_frames(
        records.octets, records.position[one], records.captured[one], records.original[one], records.links[one], tunnels
    )
    at, end = int(decoded.position[0]), int(records.position[row] + records.captured[row])
    fragment = fragment_at(records.octets[at:end], 0) if 0 <= at < end else None
    if fragment is None:
        return None
    head = records.octets[at : at + 6]
    total = int(head[2]) << 8 | int(head[3]) if head[0] >> 4 == 4 else 40 + (int(head[4]) << 8 | int(head[5]))
    return Chunk(fragment.offset, base + at + total - fragment.length, len(fragment.octets))


def _secrets(segments: pa.Table, found: Reassembly, options: Options, sources: Sources) -> tuple[I64, I64]:
    """Where secrets are: rows of segments, and offsets in their payload."""
    kept, names = np.ones(len(found.streams), np.bool_), stomp.secret_header_names(options.settings.secrets)
    parts = []
    passcodes: dict[int, frozenset[bytes]] = {}
    for window in windows(plain.carried(found, segments, sources), kept, WINDOW, names=names):
        passcodes = stomp.passcodes_of(window.octets, window.rows, passcodes, names)
        view = redacted_octets(window.octets, window.rows, options, passcodes)
        lying = window.stretches
        ends = np.cumsum(lying.length)
        masked = np.flatnonzero(view.octets != window.octets)
        at = np.searchsorted(ends, masked, "right")
        into = masked - (ends - lying.length)[at]
        parts.append(np.stack([lying.direction[at], lying.offset[at] + into, lying.at[at], lying.skip[at] + into]))
    merged = np.concatenate([np.empty((4, 0), np.int64), *parts], axis=1)
    if not merged.shape[1] or not len(found.overlaps):
        return merged[2], merged[3]
    _, copies = captured_twice(found)
    more = list(_copied(merged[0], merged[1], copies))
    return np.concatenate([merged[2], *(rows for rows, _ in more)]), np.concatenate([merged[3], *(offsets for _, offsets in more)])


def _copied(side: I64, offset: I64, copies: Extents) -> Iterator[tuple[I64, I64]]:
    """The rows, and offsets in them, that brought masked octets again; these are given by side and offset in the stream."""
    of = 2 * copies.stream.astype(np.int64) + copies.side
    for one in np.unique(side).tolist():
        masked = np.sort(offset[side == one])
        for copy in np.flatnonzero(of == one).tolist():
            begin, length = int(copies.offset[copy]), int(copies.length[copy])
            within = masked[np.searchsorted(masked, begin) : np.searchsorted(masked, begin + length)]
            yield np.full(within.size, copies.row[copy]), within - begin + copies.skip[copy]


def _file_offsets(chunks: Sequence[Chunk], offsets: I64) -> I64:
    """Where the file has these offsets of a datagram, or -1."""
    found = np.full(offsets.size, -1, np.int64)
    for chunk in chunks:
        mine = (offsets >= chunk.offset) & (offsets < chunk.offset + chunk.length)
        found[mine] = offsets[mine] - chunk.offset + chunk.file_offset
    return found


def _read(octets: Octets, chunks: Sequence[Chunk], begin: int, end: int) -> bytes:
    """Octets of a datagram; fewer where the file has not all."""
    found = _file_offsets(chunks, np.arange(max(begin, 0), end))
    return octets[found[found >= 0]].tobytes()


def _within(octets: Octets, chunks: Sequence[Chunk], payload: bytes) -> int:
    """Where the payload of a segment begins in its datagram, or -1."""
    end = max((chunk.offset + chunk.length for chunk in chunks), default=0)
    return _read(octets, chunks, 0, end).rfind(payload)


def _header(octets: Octets, chunks: Sequence[Chunk], payload: int, seq: int, ack: int) -> int:
    """Where the TCP header is that ends where the payload begins, or -1."""
    numbers = seq.to_bytes(4, "big") + ack.to_bytes(4, "big")
    for size in range(SMALLEST_HEAD, LARGEST_HEAD + 1, 4):
        head = _read(octets, chunks, payload - size, payload) if payload >= size else b""
        if len(head) == size and head[12] >> 4 == size // 4 and head[4:12] == numbers:
            return payload - size
    return -1


def _mask(octets: Octets, chunks: Sequence[Chunk], head: int, offsets: I64) -> None:
    """Mask octets of a datagram and correct the checksum of the TCP header at `head`."""
    secret = _file_offsets(chunks, offsets)
    high = np.where((offsets - head) % 2 == 0, 8, 0)
    before = octets[secret].astype(np.int64)
    checksum = _file_offsets(chunks, head + CHECKSUM + np.arange(2))
    old = int(octets[checksum[0]]) << 8 | int(octets[checksum[1]])
    # RFC 1624, equation 3: ~(~HC + ~m + m'), in ones' complement
    total = (~old & 0xFFFF) + int(((STAR - before) << high).sum())
    new = 0xFFFF - ((total - 1) % 0xFFFF + 1)
    octets[secret] = STAR
    octets[checksum[0]], octets[checksum[1]] = new >> 8, new & 0xFF


