"""A recorded capture as TCP segments, read octet by octet without the project's reader; and a segment as an IP packet again."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Segment:
    """One TCP segment; addresses are 4 octets, or 16."""

    ts_ns: int
    src: bytes
    dst: bytes
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    window: int
    options: bytes
    payload: bytes
    ip_id: int
    ttl: int

    @property
    def way(self) -> tuple[bytes, int, bytes, int]:
        """Its direction of its flow."""
        return self.src, self.sport, self.dst, self.dport

    @property
    def flow(self) -> frozenset[tuple[bytes, int]]:
        """Its flow, either direction."""
        return frozenset({(self.src, self.sport), (self.dst, self.dport)})

    @property
    def tcp(self) -> bytes:
        """TCP header and payload."""
        head = 20 + len(self.options)
        fixed = struct.pack(">HHIIBBHHH", self.sport, self.dport, self.seq, self.ack, head << 2, self.flags, self.window, 0, 0)
        octets = fixed + self.options + self.payload
        return octets[:16] + checksum(self.src + self.dst + bytes([0, 6]) + octets, len(octets)) + octets[18:]

    @property
    def ip(self) -> bytes:
        """The IP packet."""
        return ip(self.src, self.dst, 6, self.tcp, self.ip_id, self.ttl)

    def cut(self, begin: int, end: int) -> Segment:
        """The part [begin, end) of its payload as a segment; FIN and PSH go with the last octet, SYN with the first."""
        flags = self.flags & ~((0 if end == len(self.payload) else FIN | PSH) | (0 if begin == 0 else SYN))
        return replace(self, payload=self.payload[begin:end], seq=(self.seq + begin) % 2**32, flags=flags)


def checksum(octets: bytes, more: int) -> bytes:
    """The Internet checksum of some octets and a number (RFC 1071): their sum modulo 65,535, inverted."""
    total = int.from_bytes(octets + bytes(len(octets) & 1), "big") + more
    return (0xFFFF - (total % 0xFFFF or 0xFFFF)).to_bytes(2, "big")


def ip(src: bytes, dst: bytes, protocol: int, content: bytes, ip_id: int = 0, ttl: int = 64, more: int = 0x4000) -> bytes:
    """An IPv4 or IPv6 packet by the width of its addresses; a length that the field cannot say is 0. `more`: flags and offset."""
    if len(src) == 16:
        return struct.pack(">IHBB", 6 << 28, length(len(content)), protocol, ttl) + src + dst + content
    return struct.pack(">BBHHHBBH", 0x45, 0, length(20 + len(content)), ip_id, more, ttl, protocol, 0) + src + dst + content


def length(octets: int) -> int:
    """A length for a field of 16 bits: 0 where it does not fit, as segmentation offload leaves it."""
    return octets if octets <= 0xFFFF else 0


@cache
def segments(path: Path) -> tuple[Segment, ...]:
    """All packets of a recorded capture: Ethernet, IPv4, TCP, whole, in little-endian pcap or pcapng with nanoseconds."""
    return tuple(segment(ts_ns, frame) for ts_ns, frame in records(path.read_bytes()))


def records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(time in ns, frame) of each record."""
    if content[:4] == b"\x0a\x0d\x0d\x0a":
        at = 0
        while at < len(content):
            kind, size = struct.unpack_from("<II", content, at)
            if kind == 6:
                _, high, low, captured, wire = struct.unpack_from("<IIIII", content, at + 8)
                assert captured == wire
                yield high << 32 | low, content[at + 28 : at + 28 + captured]
            at += size
        return
    tick, at = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", content)[0]], 24
    while at < len(content):
        seconds, fraction, captured, wire = struct.unpack_from("<IIII", content, at)
        assert captured == wire
        yield seconds * 1_000_000_000 + fraction * tick, content[at + 16 : at + 16 + captured]
        at += 16 + captured


def segment(ts_ns: int, frame: bytes) -> Segment:
    """The segment in a frame."""
    assert frame[12:15] == b"\x08\x00\x45", "Ethernet and IPv4 without options"
    total, ip_id = struct.unpack_from(">HH", frame, 16)
    packet = frame[14 : 14 + total]
    sport, dport, seq, ack, head, flags, window = struct.unpack_from(">HHIIBBH", packet, 20)
    begin = 20 + (head >> 4) * 4
    return Segment(
        ts_ns, packet[12:16], packet[16:20], sport, dport, seq, ack, flags, window, packet[40:begin], packet[begin:], ip_id, packet[8]
    )
