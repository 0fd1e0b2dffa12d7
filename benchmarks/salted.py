"""Clones whose bodies differ: letters and digits of each are exchanged for others, so that a clone compresses like a recording of its own.

Clones that are alike would be found in each other by whatever compresses the lake, as no recorded traffic is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.generate.group import IP, Group
from stompcap.generate.wire import SYN, Session

BODY = re.compile(rb"(?:SEND|MESSAGE|ERROR)\r?\n[^\0]+?\n\r?\n([^\0]+)")
"""A frame's body up to its first NUL."""

ALPHABETS = (b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Salted(Group):
    """A group whose clones have bodies of their own, with the checksums that go with them."""

    def __init__(self, sessions: Sequence[Session], spread_ns: int = 100_000_000) -> None:
        super().__init__(sessions, spread_ns)
        ip = self.start + IP
        self._tcp = ip + (self.octets[ip] & 15).astype(np.int64) * 4
        self._bodies = self._found()
        self._plain = self.octets[self._bodies].copy()
        self._packet: I64 = np.searchsorted(self.start, self._bodies, "right") - 1
        self._weight = np.where((self._bodies - self._tcp[self._packet]) % 2, 1, 256)
        self._unsalted = self._known[0].copy()

    def clone(self, number: int) -> memoryview:
        """The octets of the clone of that number; valid until the next call."""
        salted = salt(number)[self._plain]
        self.octets[self._bodies] = salted
        more = (salted.astype(np.int64) - self._plain) * self._weight
        self._known[0] = self._unsalted + np.bincount(self._packet, more, len(self.start)).astype(np.int64)
        return super().clone(number)

    def _found(self) -> I64:
        """Where octets of bodies are, in every copy of them."""
        streams: dict[tuple[int, bytes], list[tuple[int, int, int]]] = defaultdict(list)
        ends = np.append(self.start[1:], len(self.octets))
        for slot, tcp, end in zip(self.slot.tolist(), self._tcp.tolist(), ends.tolist(), strict=True):
            head = self.octets[tcp : tcp + 20].tobytes()
            if len(head) == 20 and end > tcp + 20:
                payload = tcp + (head[12] >> 4) * 4
                begin = int.from_bytes(head[4:8], "big") + bool(head[13] & SYN)
                streams[slot, head[:4]].append((begin, payload, max(0, end - payload)))
        found = [_bodies(self.octets, packets) for packets in streams.values()]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))


def _bodies(octets: Octets, packets: Sequence[tuple[int, int, int]]) -> I64:
    """Where the octets of bodies are in the packets of a direction: the sequence number, place and number of the octets of each."""
    first = packets[0][0]
    # Sequence numbers may wrap, and the first packet need not be the earliest.
    offsets = [(begin - first + (1 << 31)) % (1 << 32) - (1 << 31) for begin, _, _ in packets]
    least = min(offsets)
    stream = bytearray(max(offset - least + length for offset, (_, _, length) in zip(offsets, packets, strict=True)))
    for offset, (_, place, length) in zip(offsets, packets, strict=True):
        stream[offset - least : offset - least + length] = octets[place : place + length].tobytes()
    inside = np.zeros(len(stream), bool)
    for body in BODY.finditer(stream):
        inside[body.start(1) : body.end(1)] = True
    parts = [
        place + np.flatnonzero(inside[offset - least : offset - least + length])
        for offset, (_, place, length) in zip(offsets, packets, strict=True)
    ]
    return np.concatenate(parts)


def salt(number: int) -> Octets:
    """What each octet becomes in the clone of that number: letters stay letters of their case, digits stay digits."""
    chance, became = np.random.default_rng(number), np.arange(256, dtype=np.uint8)
    for letters in ALPHABETS:
        among = np.frombuffer(letters, np.uint8)
        became[among] = chance.permutation(among)
    return became
