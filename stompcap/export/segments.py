"""The packets of a connection as others may see them: built anew from its segments, a packet each.

A packet begins with IP (link type RAW): no link layer, no tunnel and no IP option comes along. It has the sender's sequence numbers,
flags, window, times and lengths, the TCP options that name nobody, other addresses, and the payload with other names; octets that the
stream does not have, such as those of a copy that contradicts it, are blank. Checksums are right.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from stompcap.assembly import addresses
from stompcap.assembly.sources import Sources
from stompcap.assembly.windows import WINDOW, windows
from stompcap.capture.checkpoint import NO_END
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.capture.segments import read, segment_batch
from stompcap.capture.splits import Split
from stompcap.columns import I64, Octets, column
from stompcap.export.inner import checksum, ip_header
from stompcap.export.names import Names
from stompcap.export.rows import anonymised, blank
from stompcap.tables import words
from stompcap.tcp import WIRE_ORDER, reassemble_columns
from stompcap.tcp.flows import NEVER
from stompcap.tcp.octets import captured_twice
from stompcap.tcp.results import Reassembly
from stompcap.transport import plain

MAGIC_NS, LINKTYPE_RAW, SNAPLEN = 0xA1B23C4D, 101, 1 << 18
BATCH_PACKETS = 65536
SMALLEST_HEAD, LARGEST_HEAD = 20, 60
NAMELESS = {2, 3, 4, 5, 8}
"""TCP options: maximum segment size, window scale, SACK permitted, SACK, timestamps (RFC 9293, 7323, 2018)."""

NOP, BLANK = 1, ord("x")


def write_anonymised(path: str, output: str, source: str, names: Names, *, tunnels: bool = True) -> int:
    """Write what a file with the packets of one connection has to another one, with other names; gives how many packets."""
    segments = _segments(path, tunnels)
    octets = np.memmap(path, np.uint8, "r")
    payloads = _Payloads(segments, octets)
    if segments.num_rows:
        _name(payloads, reassemble_columns(segments, source, idle_ns=NEVER), Sources([path], None), names)
    with open(output, "wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, SNAPLEN, LINKTYPE_RAW))
        for row, sent in enumerate(_rows(segments)):
            _write(file, sent, payloads.named(row), _options(octets, sent), names)
    return int(segments.num_rows)


def _segments(path: str, tunnels: bool) -> pa.Table:
    _, batches = read(Split(path, limit=NO_END), BATCH_PACKETS, tunnels=tunnels)
    tables = [segment_batch(batch, 0, carry=False) for batch in batches if batch.used]
    return pa.Table.from_batches(tables, SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()


def _rows(segments: pa.Table) -> Iterator[Mapping[str, Any]]:
    for batch in segments.to_batches(10_000):
        yield from batch.to_pylist()


@dataclass
class _Payloads:
    """The octets of segments, end to end: as they were, and as they are written, at first blank."""

    segments: pa.Table
    octets: Octets
    begins: I64 = field(init=False)
    was: Octets = field(init=False)
    written: Octets = field(init=False)

    def __post_init__(self) -> None:
        """All payload, read."""
        length, at = column(self.segments, "captured_octets"), column(self.segments, "file_offset")
        carried = self.segments.column("payload")
        self.begins = np.concatenate([[0], np.cumsum(length)])
        self.was = np.zeros(int(self.begins[-1]), np.uint8)
        for row in np.flatnonzero(length > 0).tolist():
            begin, end = int(self.begins[row]), int(self.begins[row + 1])
            lies = int(at[row])
            self.was[begin:end] = self.octets[lies : lies + end - begin] if lies >= 0 else np.frombuffer(carried[row].as_py(), np.uint8)
        self.written = np.frombuffer(blank(self.was.tobytes()), np.uint8).copy()

    def named(self, row: int) -> bytes:
        """What is written of a segment's payload."""
        return self.written[self.begins[row] : self.begins[row + 1]].tobytes()


def _name(payloads: _Payloads, found: Reassembly, sources: Sources, names: Names) -> None:
    """Give the octets of streams, and of copies of them, other names."""
    kept = np.ones(len(found.streams), np.bool_)
    for window in windows(plain.carried(found, payloads.segments, sources), kept, WINDOW):
        rows, written = window.rows, np.frombuffer(blank(window.octets.tobytes()), np.uint8).copy()
        for at, length, kind in zip(rows.position.tolist(), rows.length.tolist(), rows.kind.tolist(), strict=True):
            if at >= 0:
                some = anonymised(window.octets[at : at + length].tobytes(), words.RAW_KINDS[kind], names)
                written[at : at + length] = np.frombuffer(some, np.uint8)
        lying, begin = window.stretches, 0
        for row, skip, count in zip(lying.at.tolist(), lying.skip.tolist(), lying.length.tolist(), strict=True):
            to = int(payloads.begins[row]) + skip
            payloads.written[to : to + count] = written[begin : begin + count]
            begin += count
    if not len(found.overlaps):
        return
    one, two = captured_twice(found)
    for row, skip, copy, into, count in zip(*(x.tolist() for x in (one.row, one.skip, two.row, two.skip, one.length)), strict=True):
        lies, comes = int(payloads.begins[row]) + skip, int(payloads.begins[copy]) + into
        first, again = payloads.was[lies : lies + count], payloads.was[comes : comes + count]
        said = payloads.written[lies : lies + count]
        payloads.written[comes : comes + count] = np.where(first == again, said, np.where(said == BLANK, BLANK + 1, BLANK))


def _options(octets: Octets, sent: Mapping[str, Any]) -> bytes:
    """The TCP options of a segment that name nobody, others as NOPs; none where its header does not lie before its payload."""
    begin = sent["file_offset"]
    numbers = sent["seq"].to_bytes(4, "big") + sent["ack"].to_bytes(4, "big")
    for size in range(SMALLEST_HEAD, LARGEST_HEAD + 1, 4):
        head = octets[begin - size : begin].tobytes() if begin >= size else b""
        if len(head) == size and head[12] >> 4 == size // 4 and head[4:12] == numbers:
            return _nameless(head[SMALLEST_HEAD:])
    return b""


def _nameless(options: bytes) -> bytes:
    found, at = bytearray([NOP] * len(options)), 0
    while at < len(options) and options[at] != 0:
        length = 1 if options[at] == NOP else options[at + 1] if at + 1 < len(options) else 0
        if length < 1 or (length == 1 and options[at] != NOP):
            break
        if options[at] in NAMELESS and at + length <= len(options):
            found[at : at + length] = options[at : at + length]
        at += length
    return bytes(found)


def _write(file: BinaryIO, sent: Mapping[str, Any], payload: bytes, options: bytes, names: Names) -> None:
    """Write the packet of a segment."""
    ends = sent["endpoints"]
    low, high = ((addresses.text(ends[at : at + 16]), ends[at + 16 : at + 18]) for at in (0, 18))
    (source, sport), (target, dport) = (low, high) if sent["forward"] else (high, low)
    ips = tuple(ipaddress.ip_address(names.address(one)).packed for one in (source, target))
    head = sport + dport + struct.pack(
        ">IIBBHHH", sent["seq"], sent["ack"], (SMALLEST_HEAD + len(options)) // 4 << 4, sent["flags"] & 0xFF, sent["window"], 0, 0
    ) + options  # fmt: skip
    length = len(head) + sent["wire_octets"]
    sums = b"".join(ips) + (struct.pack(">HH", 6, length) if len(ips[0]) == 4 else struct.pack(">II", length, 6)) + head + payload
    head = head[:16] + struct.pack(">H", checksum(sums)) + head[18:]
    before = ip_header((ips[0], ips[1]), length, max(sent["ip_id"], 0), sent["ttl"])
    packet, ns = before + head + payload, max(sent["ts_ns"], 0)
    file.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(before) + length) + packet)
