"""What a stream carried inside WebSocket or TLS, written as plain TCP: a packet for each row of raw_frames, as tables show it.

No packet of the capture can show it masked: octets lie encrypted, compressed or under WebSocket's masks. These packets have the addresses
and ports of the stream, the octets of its rows, and the times at which they could be read; what the capture lacks is missing in the
sequence numbers too.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from stompcap.export.names import Names
from stompcap.export.rows import anonymised
from stompcap.export.writing import writable
from stompcap.tables import words

MAGIC_NS, LINKTYPE_RAW, SNAPLEN = 0xA1B23C4D, 101, 1 << 18
SYN, FIN, ACK, PSH = 0x02, 0x01, 0x10, 0x08
MOST = 65_000
"""Octets of a packet's payload: with the headers it fits the length fields of IP."""

ROWS = ("direction", "stream_offset", "kind", "first_ns", "last_ns", "raw")


def write_inner(output: str, stream: Mapping[str, Any], rows: Iterable[pa.RecordBatch], names: Names | None = None) -> int:
    """Write a stream, a row of table streams, of which `rows` are its rows of raw_frames in wire order, with ROWS; gives the packets.

    With `names` it is anonymised. Raises EnvironmentProblem where the file cannot be written.
    """
    if names is not None:
        stream = {**stream, **{f"{side}_ip": names.address(stream[f"{side}_ip"]) for side in words.SIDES}}
    part = f"{output}.part"
    with writable(output, part):
        with open(part, "wb") as file:
            file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, SNAPLEN, LINKTYPE_RAW))
            conversation = _Conversation(file, stream)
            conversation.open(stream["first_ns"] or 0)
            for batch in rows:
                for row in batch.to_pylist():
                    if row["raw"] is not None:
                        conversation.send(row if names is None else {**row, "raw": anonymised(row["raw"], row["kind"], names)})
            if stream["close_kind"] != "open":
                conversation.close(stream["last_ns"] or 0)
        os.replace(part, output)
    return conversation.packets


class _Conversation:
    """The packets of one connection, each side's sequence numbers counting its octets from 1."""

    def __init__(self, file: BinaryIO, stream: Mapping[str, Any]) -> None:
        self.file, self.packets = file, 0
        ends = [(ipaddress.ip_address(stream[f"{side}_ip"]), int(stream[f"{side}_port"])) for side in words.SIDES]
        self._ip = [address.packed for address, _ in ends]
        self._ports = [port for _, port in ends]
        self._sent = [0, 0]

    def open(self, ns: int) -> None:
        """The handshake."""
        for side, flags in ((0, SYN), (1, SYN | ACK)):
            self._packet(side, flags, 0, ns)
            self._sent[side] = 1
        self._packet(0, ACK, 1, ns)

    def send(self, row: Mapping[str, Any]) -> None:
        """The octets of a row, when all of them could be read."""
        side = 0 if row["direction"] == words.DIRECTIONS[0] else 1
        octets, begin = row["raw"], 1 + row["stream_offset"]
        for at in range(0, len(octets), MOST):
            some = octets[at : at + MOST]
            self._packet(side, PSH | ACK, begin + at, row["last_ns"] or row["first_ns"] or 0, some)
            self._sent[side] = begin + at + len(some)

    def close(self, ns: int) -> None:
        """Both ends close."""
        for side in (0, 1):
            self._packet(side, FIN | ACK, self._sent[side], ns)
            self._sent[side] += 1
        self._packet(0, ACK, self._sent[0], ns)

    def _packet(self, side: int, flags: int, sequence: int, ns: int, octets: bytes = b"") -> None:
        ends = self._ip[side], self._ip[1 - side]
        acked = self._sent[1 - side] if flags & ACK else 0
        head = struct.pack(
            ">HHIIBBHHH", self._ports[side], self._ports[1 - side], sequence & 0xFFFFFFFF, acked & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0
        )  # fmt: skip
        length = len(head) + len(octets)
        lengths = struct.pack(">HH", 6, length) if len(ends[0]) == 4 else struct.pack(">II", length, 6)
        total = checksum(b"".join((*ends, lengths, head, octets)))
        packet = ip_header(ends, length) + head[:16] + struct.pack(">H", total) + head[18:] + octets
        self.file.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        self.packets += 1


def ip_header(ends: tuple[bytes, bytes], length: int, number: int = 0, ttl: int = 64) -> bytes:
    """The header of IPv4 (RFC 791) or IPv6 (RFC 8200)."""
    if len(ends[0]) == 16:
        return struct.pack(">IHBB", 6 << 28, length, 6, ttl & 0xFF) + ends[0] + ends[1]
    head = struct.pack(">BBHHHBB", 0x45, 0, 20 + length, number, 0x4000, ttl & 0xFF, 6)
    return head + struct.pack(">H", checksum(head + bytes(2) + ends[0] + ends[1])) + ends[0] + ends[1]


def checksum(octets: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total = sum(memoryview(octets + bytes(len(octets) % 2)).cast("H"))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int.from_bytes((~total & 0xFFFF).to_bytes(2, "little"), "big")
