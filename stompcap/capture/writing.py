"""Writes packets to a capture file: pcap with nanoseconds, or pcapng, where interfaces differ in link type.

pcap: draft-ietf-opsawg-pcap, section 4 and 5; pcapng: draft-ietf-opsawg-pcapng, section 4. Both little endian.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.records import Records
from stompcap.columns import I64, U8, Octets
from stompcap.kernel import inline, kernel

SNAPLEN = 262144  # Wireshark's largest
AT_ONCE_OCTETS = 1 << 24
PCAP_HEAD, BLOCK_HEAD, BLOCK_TAIL = 16, 28, 4
NANOSECONDS = 9  # as if_tsresol


@inline
def put32(out: U8, at: Int, value: Int) -> None:
    """Write an integer as four octets."""
    for i in range(4):
        out[at + i] = value >> 8 * i & 0xFF


@kernel
def lay(
    octets: Octets,
    position: I64,
    captured: I64,
    original: I64,
    ts_ns: I64,
    interface: I64,
    out: U8,
) -> None:
    """Write records one after another: of pcap where the first `interface` is -1, else of pcapng. `out` has their size and is zeroed."""
    at = 0
    for row in range(len(position)):
        size, ts = captured[row], ts_ns[row]
        if interface[row] < 0:
            put32(out, at, ts // 1_000_000_000)
            put32(out, at + 4, ts % 1_000_000_000)
            at += 8
            end = at + 8 + size
        else:
            length = BLOCK_HEAD + (size + 3) // 4 * 4 + BLOCK_TAIL
            put32(out, at, 6)
            put32(out, at + 4, length)
            put32(out, at + 8, interface[row])
            put32(out, at + 12, ts >> 32)
            put32(out, at + 16, ts)
            put32(out, at + length - BLOCK_TAIL, length)
            end = at + length
            at += BLOCK_HEAD - 8
        put32(out, at, size)
        put32(out, at + 4, original[row])
        for i in range(size):
            out[at + 8 + i] = octets[position[row] + i]
        at = end


class Writer:
    """Writes packets to an open file; raises the file's errors."""

    def __init__(self, file: BinaryIO, link: int | None) -> None:
        """Begin a pcap of that link type; with None a pcapng, whose interfaces are described as they occur."""
        self.file, self.pcapng = file, link is None
        self.interfaces: dict[tuple[str, int], int] = {}
        if link is None:
            file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        else:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAPLEN, link))

    def write(self, records: Records, rows: I64, name: str) -> None:
        """Write some records of a batch; `name` is their interface's, one for each link type."""
        links = records.links[rows]
        numbers = np.full(len(rows), -1, np.int64)
        if self.pcapng:
            for link in np.unique(links).tolist():
                numbers[links == link] = self._interface(name, link)
        sizes = records.captured[rows]
        room = BLOCK_HEAD + (sizes + 3) // 4 * 4 + BLOCK_TAIL if self.pcapng else PCAP_HEAD + sizes
        part = np.cumsum(room) // AT_ONCE_OCTETS
        for one in np.unique(part).tolist():
            which = np.flatnonzero(part == one)
            some = rows[which]
            out = np.zeros(int(room[which].sum()), np.uint8)
            columns = (records.position[some], records.captured[some], records.original[some], records.ts_ns[some])
            lay(records.octets, *columns, numbers[which], out)
            self.file.write(out.data)

    def _interface(self, name: str, link: int) -> int:
        """The number of an interface; writes its block when it first occurs."""
        known = self.interfaces.get((name, link))
        if known is None:
            known = self.interfaces[name, link] = len(self.interfaces)
            options = option(2, name.encode()[:0xFFFF]) + option(9, bytes([NANOSECONDS])) + option(0, b"")
            self.file.write(block(1, struct.pack("<HHI", link, 0, 0) + options))
        return known


def block(kind: int, body: bytes) -> bytes:
    """A pcapng block; its body is a multiple of four octets."""
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def option(code: int, value: bytes) -> bytes:
    """A pcapng option, padded."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
