"""Sessions made to exhaust, as capture files: one client says one thing again and again, always with another name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.capture.packaging import Frame, pcap

OPENING = b"CONNECT\naccept-version:1.2\nhost:h\n\n\0"
ANSWER = b"CONNECTED\nversion:1.2\n\n\0"
SAID = {
    "empty frames": b"A\n\n\0",
    "ACKs of nothing": b"ACK\nid:%d\n\n\0",
    "subscriptions": b"SUBSCRIBE\nid:%d\ndestination:/queue/a\n\n\0",
    "subscriptions of one id": b"SUBSCRIBE\nid:1\ndestination:/queue/a\n\n\0",
    "transactions never ended": b"BEGIN\ntransaction:%d\n\n\0",
    "SENDs in transactions never begun": b"SEND\ndestination:/q\ntransaction:%d\n\nx\0",
    "receipts never given": b"SEND\ndestination:/q\nreceipt:%d\n\nx\0",
    "one receipt again and again": b"SEND\ndestination:/q\nreceipt:1\n\nx\0",
    "DISCONNECTs": b"DISCONNECT\nreceipt:%d\n\n\0",
    "CONNECTs": OPENING,
    "heart-beats": b"\n",
}
PAYLOAD = 40_000  # octets a packet


def _said(name: str, count: int) -> Iterator[bytes]:
    """The client's octets in pieces of about PAYLOAD."""
    unit = SAID[name]
    step = max(1, PAYLOAD // len(unit))
    for first in range(0, count, step):
        numbers = range(first, min(count, first + step))
        yield b"".join(unit % n for n in numbers) if b"%d" in unit else unit * len(numbers)


def _segment(side: int, seq: int, ack: int, flags: int, payload: bytes) -> bytes:
    """Ethernet, IPv4 and TCP around a payload; no checksums, as network cards leave them."""
    ports, ends = (40000, 61613), (b"\x0a\0\0\x09", b"\x0a\0\0\x01")
    tcp = b"".join(
        number.to_bytes(size) for number, size in
        ((ports[side], 2), (ports[1 - side], 2), (seq % 2**32, 4), (ack % 2**32, 4), (0x50, 1), (flags, 1), (60000, 2), (0, 4))
    ) + payload
    ip = b"\x45\0" + (20 + len(tcp)).to_bytes(2) + b"\0\0\x40\0\x40\x06\0\0" + ends[side] + ends[1 - side]
    return b"\x02" * 12 + b"\x08\0" + ip + tcp


def written(path: Path, name: str, count: int) -> Path:
    """A capture in which the client says it so many times, between a handshake and its FIN."""
    syn, fin, ack = 0x02, 0x11, 0x18
    segments = [
        _segment(0, 0, 0, syn, b""), _segment(1, 0, 1, syn | 0x10, b""),
        _segment(0, 1, 1, ack, OPENING), _segment(1, 1, 1 + len(OPENING), ack, ANSWER),
    ]
    at = 1 + len(OPENING)
    for payload in _said(name, count):
        segments.append(_segment(0, at, 1 + len(ANSWER), ack, payload))
        at += len(payload)
    segments.append(_segment(0, at, 1 + len(ANSWER), fin, b""))
    return pcap(path, [Frame(octets, 1_700_000_000_000_000_000 + i * 1_000_000) for i, octets in enumerate(segments)], nano=True)
