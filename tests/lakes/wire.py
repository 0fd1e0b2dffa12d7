"""The packets that the lakes of older versions were made of: a small and a busy connection, both open where the first capture ends.

Nothing but Python is used, and nothing of stompcap: the same octets for each version, whenever they are made.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

START_NS = 1_789_000_000_000_000_000
STEP_NS = 1_000_000
PASSCODES = {"small": b"opened-sesame-1", "busy": b"opened-sesame-2"}
"""By connection: the octets that no file of a lake may have."""

ADDRESSES = bytes([10, 0, 0, 9]), bytes([10, 0, 0, 1])
ACK, PSH, SYN = 16, 8, 2
MESSAGE = b"MESSAGE\nsubscription:0\nmessage-id:%d\nack:%d\ndestination:/queue/%s\n\nmessage %d\0"


@dataclass
class Connection:
    """Packets of a client (side 0) and a server."""

    name: bytes
    port: int
    sent: list[int] = field(default_factory=lambda: [7_000, 90_000])
    number: int = 0

    def says(self, side: int, payload: bytes = b"", flags: int = ACK) -> bytes:
        """An Ethernet frame with octets of a side, behind those that it has sent."""
        ports = (self.port, 61613) if side == 0 else (61613, self.port)
        self.number += 1
        ack = 0 if flags == SYN else self.sent[1 - side]
        head = struct.pack(">HHIIBBHHH", *ports, self.sent[side], ack, 5 << 4, flags | (PSH if payload else 0), 500, 0, 0)
        ends = ADDRESSES if side == 0 else ADDRESSES[::-1]
        pseudo = b"".join(ends) + struct.pack(">BBH", 0, 6, len(head) + len(payload))
        head = head[:16] + struct.pack(">H", checksum(pseudo + head + payload)) + head[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(head) + len(payload), self.number & 0xFFFF, 0, 64, 6, 0) + b"".join(ends)
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        self.sent[side] += len(payload) + bool(flags & SYN)
        return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + head + payload

    def opens(self) -> list[bytes]:
        """The handshake, a session of STOMP 1.2 and a subscription."""
        return [
            self.says(0, flags=SYN), self.says(1, flags=SYN | ACK), self.says(0),
            self.says(0, b"CONNECT\naccept-version:1.2\nhost:h\nlogin:%s\npasscode:%s\n\n\0" % (self.name, PASSCODES[self.name.decode()])),
            self.says(1, b"CONNECTED\nversion:1.2\nserver:ActiveMQ/6.1.7\n\n\0"),
            self.says(0, b"SUBSCRIBE\nid:0\ndestination:/queue/%s\nack:client-individual\n\n\0" % self.name),
            self.says(0, b"BEGIN\ntransaction:t\n\n\0"),
        ]  # fmt: skip

    def delivers(self, number: int) -> bytes:
        """A message."""
        return self.says(1, MESSAGE % (number, number, self.name, number))

    def settles(self, number: int) -> bytes:
        """Its acknowledgement."""
        return self.says(0, b"ACK\nid:%d\n\n\0" % number)


def checksum(octets: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{(len(octets) + 1) // 2}H", octets + b"\0" * (len(octets) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packets(many: int) -> tuple[list[bytes], list[bytes]]:
    """The packets of the first capture and those of the second; the busy connection has more than `many` in the first."""
    small, busy = Connection(b"small", 40001), Connection(b"busy", 40002)
    first = [*small.opens(), *busy.opens()]
    for number in range(6):
        first += [small.delivers(number), busy.delivers(number)]
    first += [small.settles(0), busy.settles(0)]
    first += _acknowledgements(busy, many // 2)
    first += [busy.delivers(6), busy.settles(1), busy.settles(6)]
    first += _acknowledgements(busy, many // 2 + 100)
    torn = MESSAGE % (7, 7, b"busy", 7)
    first += [busy.settles(2), small.settles(1), busy.says(0, b"SEND\ndestination:/queue/x\nreceipt:r\ntransaction:t\n\nbody\0")]
    first += [small.says(0, b"SEND\ndestination:/queue/x\nreceipt:r\ntransaction:t\n\nbody\0"), busy.says(1, torn[:30])]
    second = [busy.says(1, torn[30:]), small.delivers(7)]
    for one in (small, busy):
        told = b"SEND\ndestination:/queue/x\n\nI said %s\0" % PASSCODES[one.name.decode()]
        second += [one.settles(3), one.settles(7), one.says(1, b"RECEIPT\nreceipt-id:r\n\n\0"), one.says(0, b"COMMIT\ntransaction:t\n\n\0")]
        second += [one.settles(4), one.says(0, told), one.says(0, b"UNSUBSCRIBE\nid:0\n\n\0"), one.delivers(9)]
    return first, second


def _acknowledgements(busy: Connection, count: int) -> Iterator[bytes]:
    """Packets without octets, as many as make a connection busy."""
    return (busy.says(number % 2) for number in range(count))


def write(folder: Path, many: int) -> tuple[str, str]:
    """Write both captures, before.pcap and after.pcap, a packet a millisecond; their paths."""
    first, second = packets(many)
    folder.mkdir(parents=True, exist_ok=True)
    now = START_NS
    for name, some in (("before", first), ("after", second)):
        records = []
        for octets in some:
            records.append(struct.pack("<IIII", now // 10**9, now % 10**9, len(octets), len(octets)) + octets)
            now += STEP_NS
        (folder / f"{name}.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1) + b"".join(records))
    return str(folder / "before.pcap"), str(folder / "after.pcap")
