"""IP fragments put together: datagrams that came in pieces, in any order, as one packet (RFC 791, 3.2; RFC 8200, 4.5).

The octets captured first stand where IPv4 fragments overlap. What is not complete after a minute, or too much at a time, is
given up. The state can be saved at any packet and taken up again, so a capture can be read in parts.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

TIMEOUT_NS = 60_000_000_000  # RFC 8200, 4.5
MAX_DATAGRAMS = 4096
MAX_PIECES = 8192  # of a datagram
MAX_OCTETS = 1 << 26
EXTENSIONS = (0, 43, 60, 51)  # hop by hop, routing, destination, authentication
TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00")
VLAN_MASK = 0x0FFF


@dataclass(frozen=True)
class Fragment:
    """One fragment: what its datagram is known by, where its octets belong, and the header of a packet around them all."""

    key: tuple[bytes, ...]
    header: bytes
    offset: int
    length: int  # on the wire
    octets: bytes  # captured; fewer where the snapshot length cut them
    last: bool


@dataclass
class Datagram:
    """The pieces of one datagram so far."""

    ts_ns: int
    header: bytes = b""
    total: int = -1  # known by the last fragment
    pieces: list[tuple[int, int, bytes]] = field(default_factory=list)  # offset, length, octets; as captured
    captured: int = 0
    wire: int = 0  # lengths of all pieces
    overlapped: bool = False

    def overlaps(self, piece: Fragment) -> bool:
        """Whether a fragment brings octets that are there already."""
        begin, end = piece.offset, piece.offset + piece.length
        return any(at < end and begin < at + length for at, length, _ in self.pieces)

    def whole(self) -> tuple[bytes, int] | None:
        """The octets as far as they were captured in one piece and their length on the wire; None while some lack."""
        if self.total < 0 or not self.header or self.wire < self.total:
            return None
        out, reached, cut = bytearray(self.total), 0, self.total
        for at, length, octets in sorted(self.pieces, key=lambda piece: piece[0]):
            if at > reached:
                return None
            if len(octets) < length:
                cut = min(cut, at + len(octets))
            reached = max(reached, at + length)
        if reached < self.total:
            return None
        for at, _, octets in reversed(self.pieces):  # so that the first captured stand
            out[at : at + len(octets)] = octets[: max(0, self.total - at)]
        return bytes(out[:cut]), self.total


class Defragmenter:
    """Datagrams in the making, over all batches of a capture."""

    def __init__(self) -> None:
        self.datagrams: dict[tuple[bytes, ...], Datagram] = {}
        self.octets = 0

    def saved(self, most: int) -> bytes | None:
        """The state as octets, b"" for none; None where those would be more than `most`."""
        if not self.datagrams:
            return b""
        if self.octets > most:
            return None
        state = pickle.dumps(self.datagrams)
        return state if len(state) <= most else None

    @classmethod
    def restored(cls, state: bytes) -> Defragmenter:
        """One that goes on from a saved state; only this program's own are taken, for they are pickled."""
        made = cls()
        if state:
            made.datagrams = pickle.loads(state)  # noqa: S301
            made.octets = sum(datagram.captured for datagram in made.datagrams.values())
        return made

    def add(self, piece: Fragment, ts_ns: int) -> tuple[bool, tuple[bytes, int] | None]:
        """Take a fragment: (whether it overlaps others, the whole packet and its length on the wire if this completes it)."""
        self._make_room(len(piece.octets), ts_ns)
        known = self.datagrams.get(piece.key)
        if known is not None and (abs(ts_ns - known.ts_ns) > TIMEOUT_NS or len(known.pieces) == MAX_PIECES):
            self._drop(piece.key)
            known = None
        if known is None:
            known = self.datagrams[piece.key] = Datagram(ts_ns)
        if any((at, length) == (piece.offset, piece.length) for at, length, _ in known.pieces):
            return False, None  # the same again
        overlap = known.overlaps(piece)
        known.overlapped |= overlap
        known.pieces.append((piece.offset, piece.length, piece.octets))
        known.captured += len(piece.octets)
        known.wire += piece.length
        self.octets += len(piece.octets)
        if piece.offset == 0:
            known.header = known.header or piece.header
        if piece.last and known.total < 0:
            known.total = piece.offset + piece.length
        whole = known.whole()
        if whole is None:
            return overlap, None
        self._drop(piece.key)
        (octets, length), header = whole, known.header
        # a length that the field cannot say is 0: all there is
        if header[0] >> 4 == 4:
            total = len(header) + length
            header = header[:2] + (total if total <= 0xFFFF else 0).to_bytes(2, "big") + header[4:]
        elif known.overlapped:
            return True, None  # RFC 8200, 4.5: such a datagram is discarded, so TCP never saw it
        else:
            header = header[:4] + (length if length <= 0xFFFF else 0).to_bytes(2, "big") + header[6:]
        return overlap, (header + octets, len(header) + length)

    def _make_room(self, octets: int, ts_ns: int) -> None:
        """Give up the oldest datagrams where they are too old, too many, or too much."""
        while self.datagrams:
            oldest = next(iter(self.datagrams))
            crowded = len(self.datagrams) > MAX_DATAGRAMS or self.octets + octets > MAX_OCTETS
            if not crowded and ts_ns - self.datagrams[oldest].ts_ns <= TIMEOUT_NS:
                return
            self._drop(oldest)

    def _drop(self, key: tuple[bytes, ...]) -> None:
        self.octets -= self.datagrams.pop(key).captured


def fragment_at(frame: NDArray[np.uint8], ip: int) -> Fragment | None:
    """The fragment whose IP header is at `ip` in a frame; None where its headers are cut off or wrong."""
    packet, tags = frame[ip:].tobytes(), vlan_tags(frame[:ip].tobytes())
    return fragment_of_4(packet, tags) if packet[0] >> 4 == 4 else fragment_of_6(packet, tags)


def vlan_tags(link: bytes) -> bytes:
    """The VLAN identifiers between an Ethernet frame's addresses and IP, for two VLANs may use the same addresses."""
    tags, at = bytearray(), 12
    while link[at : at + 2] in TAGS and at + 4 <= len(link):
        tags += (int.from_bytes(link[at + 2 : at + 4], "big") & VLAN_MASK).to_bytes(2, "big")
        at += 4
    return bytes(tags)


def fragment_of_4(packet: bytes, tags: bytes) -> Fragment | None:
    """An IPv4 packet as a fragment."""
    head, total = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
    place = int.from_bytes(packet[6:8], "big")
    if total <= head or len(packet) < head:
        return None
    header = packet[:6] + b"\0\0" + packet[8:head]
    key = (packet[12:20], packet[9:10], packet[4:6], tags)
    return Fragment(key, header, (place & 0x1FFF) * 8, total - head, packet[head:total], not place & 0x2000)


def fragment_of_6(packet: bytes, tags: bytes) -> Fragment | None:
    """An IPv6 packet as a fragment; the extension headers before the fragment header are left out of the whole."""
    protocol, at, end = packet[6], 40, 40 + int.from_bytes(packet[4:6], "big")
    while protocol in EXTENSIONS and at + 2 <= len(packet):
        protocol, at = packet[at], at + ((packet[at + 1] + 2) * 4 if protocol == 51 else (packet[at + 1] + 1) * 8)
    if protocol != 44 or at + 8 > min(len(packet), end):
        return None
    place = int.from_bytes(packet[at + 2 : at + 4], "big")
    header = packet[:6] + packet[at : at + 1] + packet[7:40]
    key = (packet[8:40], packet[at + 4 : at + 8], tags)
    return Fragment(key, header, place & 0xFFF8, end - at - 8, packet[at + 8 : end], not place & 1)
