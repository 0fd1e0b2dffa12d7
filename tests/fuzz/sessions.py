"""Sessions made to exhaust, as capture files: a side says one thing again and again, perhaps always with another name."""

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
"""What the client says again and again."""
SUBSCRIBE = b"SUBSCRIBE\nid:1\ndestination:/q\nack:%s\n\n\0"
MESSAGE = b"MESSAGE\nsubscription:1\ndestination:/q\nmessage-id:%s\nack:%s\n\nx\0"
BEGIN, ABORT = b"BEGIN\ntransaction:t\n\n\0", b"ABORT\ntransaction:t\n\n\0"
INSIDE = b"ACK\nid:m\ntransaction:t\n\n\0"
ONE_NAME = MESSAGE % (b"m", b"m")
DELIVERED = {
    "deliveries of one name, in a transaction": (SUBSCRIBE % b"client-individual", ONE_NAME, BEGIN, INSIDE),
    "deliveries of one name, behind UNSUBSCRIBE": (SUBSCRIBE % b"client", ONE_NAME, b"UNSUBSCRIBE\nid:1\n\n\0", b"ACK\nid:m\n\n\0"),
    "deliveries, all aborted again and again": (SUBSCRIBE % b"client", MESSAGE % (b"%d", b"%d"), b"", BEGIN + INSIDE + ABORT),
    "deliveries of one name, one aborted again and again": (
        SUBSCRIBE % b"client-individual", ONE_NAME, INSIDE, BEGIN + INSIDE * 2 + ABORT,
    ),
}
"""What the client says once, the server again and again and at last of a MESSAGE m, the client once more, and again and again."""
PAYLOAD = 40_000  # octets a packet


def _again(unit: bytes, count: int) -> Iterator[bytes]:
    """So many units in pieces of about PAYLOAD, numbered where they have a place for it."""
    step, places = max(1, PAYLOAD // len(unit)), unit.count(b"%d")
    for first in range(0, count, step):
        numbers = range(first, min(count, first + step))
        yield b"".join(unit % ((n,) * places) for n in numbers) if places else unit * len(numbers)


def _said(name: str, count: int) -> Iterator[tuple[int, bytes]]:
    """What is said behind the opening: the side, 1 being the server, and its octets."""
    if name in SAID:
        yield from ((0, octets) for octets in _again(SAID[name], count))
        return
    subscribe, message, once, unit = DELIVERED[name]
    yield 0, subscribe
    yield from ((1, octets) for octets in _again(message, count // 2))
    yield 1, ONE_NAME
    if once:
        yield 0, once
    yield from ((0, octets) for octets in _again(unit, count // 2))


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
    """A capture in which it is said about so many times, between a handshake and the client's FIN."""
    syn, fin, ack = 0x02, 0x11, 0x18
    segments = [
        _segment(0, 0, 0, syn, b""), _segment(1, 0, 1, syn | 0x10, b""),
        _segment(0, 1, 1, ack, OPENING), _segment(1, 1, 1 + len(OPENING), ack, ANSWER),
    ]
    at = [1 + len(OPENING), 1 + len(ANSWER)]
    for side, payload in _said(name, count):
        segments.append(_segment(side, at[side], at[1 - side], ack, payload))
        at[side] += len(payload)
    segments.append(_segment(0, at[0], at[1], fin, b""))
    return pcap(path, [Frame(octets, 1_700_000_000_000_000_000 + i * 1_000_000) for i, octets in enumerate(segments)], nano=True)
