"""The sessions of benchmark captures: recorded ones from data/, and a busy scripted one modelled on them.

The recorded dialogues have dozens of short connections and the recorded bodies some frames up to 1 MiB; neither has a
connection of thousands of small frames, like a consumer in production. That one is scripted here, with
the headers that RabbitMQ sends.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"
STOMP_PORT = 61613
ETHERNET = 1
SYN, FIN, PSH, ACK = 0x02, 0x01, 0x08, 0x10
MSS = 1448


@dataclass(frozen=True)
class Packet:
    """One packet: nanoseconds since the first, the Ethernet frame as captured, its length on the wire, its sender."""

    ns: int
    octets: bytes
    wire_octets: int
    from_client: bool


@dataclass(frozen=True)
class Session:
    """Packets cloned together (one recorded capture, or one connection), and their number of STOMP frames."""

    name: str
    packets: tuple[Packet, ...]
    frames: int


def recorded(kind: str) -> list[Session]:
    """The recorded captures of a kind (`dialogue`, `bodies`), each a unit; their IPv4 TCP packets only."""
    found = []
    for path in sorted(DATA.glob(f"*_{kind}.pcap*")):
        truth = DATA / f"{path.name.split('.')[0]}.truth.jsonl"
        lines = (json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines())
        frames = sum(1 for line in lines if line["kind"] == "frame" and line["captured"])
        found.append(Session(path.name, tuple(_packets(path)), frames))
    if not found:
        raise SystemExit(f"{DATA} contains no recorded capture of kind {kind}; run make record to make them")
    return found


def _packets(path: Path) -> Iterator[Packet]:
    """The Ethernet frames with TCP over IPv4 of a capture file, read by scapy, times from 0."""
    from scapy.utils import RawPcapNgReader, RawPcapReader

    reader: Any = RawPcapReader(str(path))
    start: int | None = None
    for octets, meta in reader:
        if isinstance(reader, RawPcapNgReader):
            link, ns = meta.linktype, ((meta.tshigh << 32) | meta.tslow) * 1_000_000_000 // meta.tsresol
        else:
            link, ns = reader.linktype, meta.sec * 1_000_000_000 + meta.usec * (1 if reader.nano else 1000)
        if link != ETHERNET or octets[12:14] != b"\x08\x00" or octets[23] != 6:
            continue
        start = ns if start is None else start
        ports = 14 + (octets[14] & 15) * 4
        (destination,) = struct.unpack_from(">H", octets, ports + 2)
        yield Packet(ns - start, octets, meta.wirelen, destination == STOMP_PORT)


class _Wire:
    """One TCP connection written as packets: counts sequence numbers and advances time."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self.sequence = {True: 1_000, False: 5_000}
        self.ns = 0

    def segment(self, from_client: bool, flags: int, payload: bytes = b"") -> None:
        self.ns += 20_000
        port, peer = (40_000, STOMP_PORT) if from_client else (STOMP_PORT, 40_000)
        ends = [bytes((127, 0, 0, 1)), bytes((127, 0, 0, 11))]
        source, target = ends if from_client else reversed(ends)
        acknowledged = self.sequence[not from_client] if flags & ACK else 0
        tcp = struct.pack(
            ">HHIIBBHHH", port, peer, self.sequence[from_client], acknowledged, 5 << 4, flags, 65_000, 0, 0
        )
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0) + source + target
        octets = bytes(12) + b"\x08\x00" + ip + tcp + payload
        self.packets.append(Packet(self.ns, octets, len(octets), from_client))
        self.sequence[from_client] += len(payload) + bool(flags & (SYN | FIN))

    def send(self, from_client: bool, octets: bytes) -> None:
        """Send octets in full segments; the other side acknowledges every second one."""
        for number, at in enumerate(range(0, len(octets), MSS)):
            self.segment(from_client, PSH | ACK, octets[at : at + MSS])
            if number % 2:
                self.segment(not from_client, ACK)


def busy(messages: int = 1_300) -> Session:
    """One connection of a client that consumes and produces, acknowledges each MESSAGE, requests some receipts."""
    wire = _Wire()
    wire.segment(True, SYN)
    wire.segment(False, SYN | ACK)
    wire.segment(True, ACK)
    wire.send(True, b"CONNECT\naccept-version:1.2\nhost:/\nlogin:bench\npasscode:bench-0000\nheart-beat:0,0\n\n\0")
    wire.send(False, b"CONNECTED\nserver:RabbitMQ/3.10.8\nsession:session-b\nheart-beat:0,0\nversion:1.2\n\n\0\n")
    wire.send(True, b"SUBSCRIBE\nid:0\ndestination:/queue/orders\nack:client-individual\nprefetch-count:20\n\n\0")
    frames = 3
    for batch in range(0, messages, 5):
        delivered, settled = bytearray(), bytearray()
        for number in range(batch, batch + 5):
            body = b'{"order":%d,"state":"paid","note":"%s"}' % (number, b"x" * (number * 37 % 160))
            tag = b"T_0@@session-b@@%d" % number
            delivered += (
                b"MESSAGE\nsubscription:0\ndestination:/queue/orders\nmessage-id:%b\nredelivered:false\nack:%b\n"
                b"content-type:application/json\ncontent-length:%d\n\n%b\0\n" % (tag, tag, len(body), body)
            )
            receipt = b"receipt:r-%d\n" % number if number % 10 == 0 else b""
            settled += b"ACK\nid:%b\n\n\0" % tag
            settled += b"SEND\ndestination:/queue/done\n%bcontent-length:%d\n\n%b\0" % (receipt, len(body), body)
            frames += 3
        wire.send(False, bytes(delivered))
        wire.send(True, bytes(settled))
        if batch % 10 == 0:
            wire.send(False, b"RECEIPT\nreceipt-id:r-%d\n\n\0\n" % batch)
            frames += 1
    wire.send(True, b"DISCONNECT\nreceipt:bye\n\n\0")
    wire.send(False, b"RECEIPT\nreceipt-id:bye\n\n\0\n")
    for from_client, flags in ((True, FIN | ACK), (False, FIN | ACK), (True, ACK)):
        wire.segment(from_client, flags)
    return Session("busy", tuple(wire.packets), frames + 2)
