"""Capture files written octet by octet, in every packaging the readers must see through; frames are octets of any origin."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ETHERNET = 1


@dataclass(frozen=True)
class Frame:
    """One frame: octets, time in ns, length on the wire (its own where None), and its interface."""

    octets: bytes
    ts_ns: int = 1_700_000_000_000_000_000
    original: int | None = None
    interface: int = 0

    @property
    def wire(self) -> int:
        return len(self.octets) if self.original is None else self.original


def frames(packets: Iterable[object], step_ns: int = 1_000_000, start_ns: int = 1_700_000_000_000_000_000) -> list[Frame]:
    """Scapy packets as frames, one each step."""
    return [Frame(bytes(packet), start_ns + i * step_ns) for i, packet in enumerate(packets)]


def pcap(path: Path, items: Sequence[Frame], link: int = ETHERNET, big: bool = False, nano: bool = False, snaplen: int = 262144) -> Path:
    """A classic capture file."""
    order, tick = ">" if big else "<", 1 if nano else 1000
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for item in items:
        seconds, rest = divmod(item.ts_ns, 1_000_000_000)
        parts.append(struct.pack(order + "IIII", seconds, rest // tick, len(item.octets), item.wire) + item.octets)
    path.write_bytes(b"".join(parts))
    return path


def modified_pcap(path: Path, items: Sequence[Frame], link: int = ETHERNET, big: bool = False) -> Path:
    """Kuznetzov's capture file: eight octets more in each record header."""
    order = ">" if big else "<"
    parts = [struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, link)]
    for item in items:
        seconds, rest = divmod(item.ts_ns, 1_000_000_000)
        head = struct.pack(order + "IIIIIHBB", seconds, rest // 1000, len(item.octets), item.wire, 3, 0x0800, 4, 0)
        parts.append(head + item.octets)
    path.write_bytes(b"".join(parts))
    return path


def block(kind: int, body: bytes, big: bool = False) -> bytes:
    """A pcapng block, padded."""
    order = ">" if big else "<"
    body += b"\0" * (-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def option(code: int, value: bytes, big: bool = False) -> bytes:
    """A pcapng option, padded."""
    return struct.pack((">" if big else "<") + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def section(big: bool = False) -> bytes:
    """A section header of unknown length."""
    return block(0x0A0D0D0A, struct.pack((">" if big else "<") + "IHHq", 0x1A2B3C4D, 1, 0, -1), big)


def interface(
    link: int = ETHERNET, snaplen: int = 0, resolution: int | None = None, offset_s: int | None = None, big: bool = False
) -> bytes:
    """An interface description; microseconds where no resolution is given."""
    order = ">" if big else "<"
    options = option(2, b"eth0", big)
    if resolution is not None:
        options += option(9, bytes([resolution]), big)
    if offset_s is not None:
        options += option(14, struct.pack(order + "q", offset_s), big)
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options + option(0, b"", big), big)


def enhanced(item: Frame, ticks: int, big: bool = False) -> bytes:
    """An enhanced packet block with a comment behind the octets."""
    order = ">" if big else "<"
    head = struct.pack(order + "IIIII", item.interface, ticks >> 32, ticks & 0xFFFFFFFF, len(item.octets), item.wire)
    padded = item.octets + b"\0" * (-len(item.octets) % 4)
    return block(6, head + padded + option(1, b"a comment", big) + option(0, b"", big), big)


def obsolete(item: Frame, ticks: int, big: bool = False) -> bytes:
    """A packet block as pcapng had them first."""
    order = ">" if big else "<"
    head = struct.pack(order + "HHIIII", item.interface, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(item.octets), item.wire)
    return block(2, head + item.octets, big)


def simple(item: Frame, big: bool = False) -> bytes:
    """A simple packet block."""
    return block(3, struct.pack((">" if big else "<") + "I", item.wire) + item.octets, big)


def ticks(ts_ns: int, resolution: int = 6, offset_s: int = 0) -> int:
    """A time in the units of an interface."""
    ts_ns -= offset_s * 1_000_000_000
    base, power = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    return ts_ns * base**power // 1_000_000_000


def pcapng(path: Path, items: Sequence[Frame], link: int = ETHERNET, resolution: int = 9, big: bool = False) -> Path:
    """One section with as many interfaces as the frames name, enhanced blocks only."""
    count = max((item.interface for item in items), default=0) + 1
    parts = [section(big)] + [interface(link, resolution=resolution, big=big)] * count
    parts += [enhanced(item, ticks(item.ts_ns, resolution), big) for item in items]
    path.write_bytes(b"".join(parts))
    return path
