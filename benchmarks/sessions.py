"""The sessions of benchmark captures: recorded ones from data/, and a busy scripted one modelled on them.

The recorded dialogues have dozens of short connections and the recorded bodies some frames up to 1 MiB; neither has a
connection of thousands of small frames, like a consumer in production. That one is scripted here, with
the headers that RabbitMQ sends.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stompcap.generate.wire import STOMP_PORT, Packet, Session, Wire

DATA = Path(__file__).resolve().parents[1] / "data"
ETHERNET = 1


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


def busy(messages: int = 1_300) -> Session:
    """One connection of a client that consumes and produces, acknowledges each MESSAGE, requests some receipts."""
    wire = Wire()
    wire.open()
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
    wire.close()
    return Session("busy", tuple(wire.packets), frames + 2)
