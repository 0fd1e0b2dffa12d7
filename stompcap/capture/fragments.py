"""Reassembly of IP fragments: datagrams whose fragments came in any order, as one packet (RFC 791, 3.2; RFC 8200, 4.5).

Where IPv4 fragments overlap, the octets captured first are kept. Datagrams that are incomplete after a minute, or too many, are
given up. The state can be saved at any packet and restored, so a capture can be read in parts.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from stompcap.columns import Octets

TIMEOUT_NS = 60_000_000_000  # RFC 8200, 4.5
MAX_DATAGRAMS = 4096
MAX_PIECES = 8192  # of a datagram
MAX_OCTETS = 1 << 26
EXTENSIONS = (0, 43, 60, 51)  # hop-by-hop, routing, destination, authentication


@dataclass(frozen=True)
class Fragment:
    """One fragment: the key of its datagram, where its octets belong, and the header of a packet around them all."""

    key: tuple[bytes | int, ...]
    header: bytes
    offset: int
    length: int  # on the wire
    octets: bytes  # captured; fewer where the snapshot length cut them
    last: bool


@dataclass
class Datagram:
    """The fragments of one datagram so far."""

    ts_ns: int
    header: bytes = b""
    total: int = -1  # known from the last fragment
    pieces: dict[tuple[int, int], bytes] = field(default_factory=dict)  # by offset and length their octets; in order of capture
    begins: list[int] = field(default_factory=list)  # of the stretches without a hole, ascending
    ends: list[int] = field(default_factory=list)
    captured: int = 0
    overlapped: bool = False
    packets: list[int] = field(default_factory=list)  # numbers of those that brought them

    def add(self, fragment: Fragment) -> bool:
        """Take the octets of a fragment, which is none that is there; whether some of its octets are."""
        begin, end = fragment.offset, fragment.offset + fragment.length
        self.pieces[begin, fragment.length] = fragment.octets
        self.captured += len(fragment.octets)
        first, last = bisect_left(self.ends, begin), bisect_right(self.begins, end)
        overlap = any(at < end and begin < to for at, to in zip(self.begins[first:last], self.ends[first:last], strict=True))
        if first < last:
            begin, end = min(begin, self.begins[first]), max(end, self.ends[last - 1])
        self.begins[first:last], self.ends[first:last] = [begin], [end]
        self.overlapped |= overlap
        return overlap

    def completed(self) -> tuple[bytes, int] | None:
        """The octets captured without a hole and their length on the wire; None while fragments are missing."""
        if self.total < 0 or not self.header or len(self.begins) > 1 or self.begins[0] > 0 or self.ends[0] < self.total:
            return None
        out, cut = bytearray(self.total), self.total
        for (at, length), octets in reversed(self.pieces.items()):  # so that the octets captured first are kept
            if len(octets) < length:
                cut = min(cut, at + len(octets))
            out[at : at + len(octets)] = octets[: max(0, self.total - at)]
        return bytes(out[:cut]), self.total


class Defragmenter:
    """Incomplete datagrams, over all batches of a capture."""

    def __init__(self) -> None:
        self.datagrams: dict[tuple[bytes | int, ...], Datagram] = {}
        self.octets = 0

    def saved(self, most: int) -> bytes | None:
        """The state as octets, b"" for none; None if longer than `most`."""
        if not self.datagrams:
            return b""
        if self.octets > most:
            return None
        state = pickle.dumps(self.datagrams)
        return state if len(state) <= most else None

    @classmethod
    def restored(cls, state: bytes) -> Defragmenter:
        """A Defragmenter with a saved state; only the program's own may be passed, for they are pickled."""
        made = cls()
        if state:
            made.datagrams = pickle.loads(state)  # noqa: S301
            made.octets = sum(datagram.captured for datagram in made.datagrams.values())
        return made

    def add(self, fragment: Fragment, ts_ns: int, packets: Sequence[int] = ()) -> tuple[bool, tuple[bytes, int, list[int]] | None]:
        """Take a fragment: (whether it overlaps others, the whole packet if this completes it).

        Of the packet: its octets, its length on the wire, and the numbers of the `packets` that brought its fragments.
        """
        self._make_room(len(fragment.octets), ts_ns)
        known = self.datagrams.get(fragment.key)
        if known is not None and (abs(ts_ns - known.ts_ns) > TIMEOUT_NS or len(known.pieces) == MAX_PIECES):
            self._drop(fragment.key)
            known = None
        if known is None:
            known = self.datagrams[fragment.key] = Datagram(ts_ns)
        if (fragment.offset, fragment.length) in known.pieces:
            return False, None  # a duplicate
        overlap = known.add(fragment)
        known.packets += packets
        self.octets += len(fragment.octets)
        if fragment.offset == 0:
            known.header = known.header or fragment.header
        if fragment.last and known.total < 0:
            known.total = fragment.offset + fragment.length
        datagram = known.completed()
        if datagram is None:
            return overlap, None
        self._drop(fragment.key)
        (octets, length), header = datagram, known.header
        # a length too large for the field is 0: the rest of the frame
        if header[0] >> 4 == 4:
            total = len(header) + length
            header = header[:2] + (total if total <= 0xFFFF else 0).to_bytes(2, "big") + header[4:]
        elif known.overlapped:
            return True, None  # RFC 8200, 4.5: the receiver discards such a datagram
        else:
            header = header[:4] + (length if length <= 0xFFFF else 0).to_bytes(2, "big") + header[6:]
        return overlap, (header + octets, len(header) + length, known.packets)

    def _make_room(self, octets: int, ts_ns: int) -> None:
        """Give up the oldest datagrams while there are too old ones, too many, or too many octets."""
        while self.datagrams:
            oldest = next(iter(self.datagrams))
            crowded = len(self.datagrams) > MAX_DATAGRAMS or self.octets + octets > MAX_OCTETS
            if not crowded and ts_ns - self.datagrams[oldest].ts_ns <= TIMEOUT_NS:
                return
            self._drop(oldest)

    def _drop(self, key: tuple[bytes | int, ...]) -> None:
        self.octets -= self.datagrams.pop(key).captured


def fragment_at(octets: Octets, vlans: int) -> Fragment | None:
    """The fragment whose IP header these octets begin with; None where its headers are cut off or invalid.

    `vlans`: the ids of its VLANs, for two VLANs may use the same addresses.
    """
    packet = octets.tobytes()
    return fragment_of_4(packet, vlans) if packet[0] >> 4 == 4 else fragment_of_6(packet, vlans)


def fragment_of_4(packet: bytes, vlans: int) -> Fragment | None:
    """An IPv4 packet as a fragment."""
    head, total = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
    position = int.from_bytes(packet[6:8], "big")
    if total <= head or len(packet) < head:
        return None
    header = packet[:6] + b"\0\0" + packet[8:head]
    key = (packet[12:20], packet[9:10], packet[4:6], vlans)
    return Fragment(key, header, (position & 0x1FFF) * 8, total - head, packet[head:total], not position & 0x2000)


def fragment_of_6(packet: bytes, vlans: int) -> Fragment | None:
    """An IPv6 packet as a fragment; the extension headers before the fragment header are left out of the datagram."""
    protocol, at, end = packet[6], 40, 40 + int.from_bytes(packet[4:6], "big")
    while protocol in EXTENSIONS and at + 2 <= len(packet):
        protocol, at = packet[at], at + ((packet[at + 1] + 2) * 4 if protocol == 51 else (packet[at + 1] + 1) * 8)
    if protocol != 44 or at + 8 > len(packet) or at + 8 >= end:  # one without octets is none (Linux discards it too)
        return None
    position = int.from_bytes(packet[at + 2 : at + 4], "big")
    header = packet[:6] + packet[at : at + 1] + packet[7:40]
    key = (packet[8:40], packet[at + 4 : at + 8], vlans)
    return Fragment(key, header, position & 0xFFF8, end - at - 8, packet[at + 8 : end], not position & 1)
