"""Recorded captures whose dialogues lie inside the transports of generated captures, each octet in the packet that had it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from stompcap.generate.transports import OVER
from stompcap.generate.transports.websocket import WebSocket
from stompcap.generate.transports.writer import Flight
from tests.examples import slow_behind
from tests.mangler.segmentations import Segments
from tests.mangler.taken_apart import ACK, FIN, PSH, RST, SYN, Segment

Ends = tuple[bytes, int, bytes, int]
LARGEST = 60_000  # octets of a packet
EACH = slow_behind(3, sorted(OVER, key=lambda over: over not in ("proxy", "deflate", "wss")))
"""Every transport as a parameter; those that are fast tests have each layer among them."""


def textual(packets: Sequence[Segment]) -> Segments:
    """The connections whose segments are text each, which SockJS can carry."""
    binary = {one.flow for one in packets if one.payload.decode(errors="replace").encode() != one.payload}
    return [one for one in packets if one.flow not in binary]


class Inside:
    """A change of packets; afterwards `key_log` has the keys."""

    def __init__(self, over: str) -> None:
        self._over = over
        self.key_log: list[str] = []

    def __call__(self, packets: Sequence[Segment]) -> Segments:
        """The same dialogues inside the transport."""
        flows: dict[object, Carrier] = {}
        out: Segments = []
        for number, one in enumerate(packets):
            if one.flags & SYN and not one.flags & ACK and not one.payload:
                flows[one.flow] = Carrier(self._over, one, number)
            out += flows[one.flow].packets(one) if one.flow in flows else [one]
            self.key_log += flows[one.flow].new_keys() if one.flow in flows else []
        return out


class Side:
    """One direction: the octets inside and outside so far, and where both are at the same place. Sequence numbers count from the SYN's."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.inner, self.outer = [0], [0]
        self.octets = b""

    def at(self, inner: int) -> int | None:
        """The place outside of one inside that is between two units."""
        found = bisect_right(self.inner, inner) - 1
        return self.outer[found] if self.inner[found] == inner else None

    def number(self, sequence: int) -> int:
        """A sequence number, which may be of a place within a unit or behind the last octet."""
        inner = (sequence - self.begin) % 2**32
        found = bisect_right(self.inner, inner) - 1
        more = inner - self.inner[found] if found == len(self.inner) - 1 else 0
        return (self.begin + self.outer[found] + more) % 2**32

    def put(self, octets: bytes, inner: int) -> None:
        """Octets outside, which carry so many inside."""
        self.octets += octets
        self.inner.append(self.inner[-1] + inner)
        self.outer.append(self.outer[-1] + len(octets))


class Carrier:
    """One connection, which begins with this SYN."""

    def __init__(self, over: str, syn: Segment, number: int) -> None:
        dice = Random(f"{over} {number}")
        self._client = syn.way
        self._writers = OVER[over][1](dice, "1.2")
        for writer in self._writers:
            if isinstance(writer, WebSocket):  # a silence with pings or `h` in it is judged otherwise
                writer._habits = replace(writer._habits, pings=0, beats=0)
        self._sides: dict[Ends, Side] = {}
        self._opened, self._closed, self._keys = False, False, 0

    def new_keys(self) -> list[str]:
        """Lines of the key log since the last time."""
        lines = [line for writer in self._writers for line in writer.key_log]
        found, self._keys = lines[self._keys :], len(lines)
        return found

    def packets(self, one: Segment) -> Iterator[Segment]:
        """What becomes of a packet, and what goes before and behind it."""
        side = self._sides.setdefault(one.way, Side((one.seq + bool(one.flags & SYN)) % 2**32))
        if one.flags & SYN:
            yield one
            return
        self._closed |= bool(one.flags & (FIN | RST))
        inner = (one.seq - side.begin) % 2**32
        if one.payload and not self._opened:
            self._opened = True
            for depth, writer in enumerate(self._writers):
                yield from self._said(depth, writer.opening(), one)
        if one.payload and inner == side.inner[-1]:
            yield from self._carried(one, side)
            return
        begin, end = side.at(inner), side.at(inner + len(one.payload))
        payload = side.octets[begin:end] if one.payload and begin is not None and end is not None else b""
        yield self._placed(replace(one, payload=payload), side, side.number(one.seq))

    def _carried(self, one: Segment, side: Side) -> Iterator[Segment]:
        """A packet with octets that are new."""
        octets = self._through(len(self._writers), one.way == self._client, one.payload)
        at = side.outer[-1]
        side.put(octets, len(one.payload))
        bounds = [*range(0, len(octets), LARGEST), len(octets)]
        for begin, end in pairwise(bounds):
            flags = one.flags if end == len(octets) else one.flags & ~FIN
            part = replace(one, payload=octets[begin:end], flags=flags)
            yield self._placed(part, side, (side.begin + at + begin) % 2**32)
        if not self._closed:
            for depth, writer in enumerate(self._writers):
                yield from self._said(depth, writer.aside(), one)

    def _placed(self, one: Segment, side: Side, sequence: int) -> Segment:
        """A packet with its numbers."""
        peer = self._sides.get((one.dst, one.dport, one.src, one.sport))
        acknowledged = peer.number(one.ack) if peer and one.flags & ACK else one.ack
        return replace(one, seq=sequence, ack=acknowledged)

    def _said(self, depth: int, flights: object, by: Segment) -> Iterator[Segment]:
        """What a writer says itself, in packets at the time of another."""
        said: Iterator[Flight] = iter(flights)  # type: ignore[call-overload]
        for from_client, octets in said:
            whole = self._through(depth, from_client, octets)
            back = replace(by, src=by.dst, dst=by.src, sport=by.dport, dport=by.sport)
            mine = by if (by.way == self._client) == from_client else back
            side, peer = (self._sides[ends] for ends in (mine.way, (mine.dst, mine.dport, mine.src, mine.sport)))
            sequence, acknowledged = ((one.begin + one.outer[-1]) % 2**32 for one in (side, peer))
            side.put(whole, 0)
            yield replace(mine, payload=whole, seq=sequence, ack=acknowledged, flags=PSH | ACK, options=b"")

    def _through(self, depth: int, from_client: bool, octets: bytes) -> bytes:
        pieces = [octets]
        for writer in reversed(self._writers[:depth]):
            pieces, _ = writer.wrap(from_client, pieces)
        return b"".join(pieces)
