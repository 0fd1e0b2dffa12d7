"""Two layers that nobody speaks: one greets, one puts octets into records. And what they do to the segments of a recorded capture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from stompcap.assembly import Assembly
from stompcap.codes import PROTOCOL_OTHER
from stompcap.columns import Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.layers import Layer
from stompcap.transport.state import Arrays
from stompcap.transport.stretches import NO_STRETCHES, Stretches
from stompcap.transport.summary import Summary
from tests.mangler.segmentations import Change, Segments
from tests.mangler.taken_apart import ACK, SYN, Segment

GREETING = b"HELLO, I GREET\r\n"
HEAD, LARGEST = 2, 1000
"""Octets of a record's head, which is its length with the two highest bits set, and the most octets of a record."""


class Ended(Assembly):
    """No capture is to come that goes on with a flow."""

    def __init__(self, *arguments, now_ns, **more):
        super().__init__(*arguments, **more)


class Greeting:
    """The client greets, and then all is as if it had not. Octets lie where they did."""

    kind = "greeting"
    protocol = PROTOCOL_OTHER
    keeps = ("side",)

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        return beginning(octets, runs, lambda first: first.startswith(GREETING))

    def transport(self, below: int) -> int:
        return below

    def summaries(self, kept: Arrays) -> list[Summary]:
        return []

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        return kept

    def read(self, below: Carried, streams: np.ndarray, before: Sequence[Arrays | None]) -> tuple[Carried, list[Arrays]]:
        kept = []
        stripped = np.zeros((len(below), 2), np.int64)
        for stream, one in zip(streams.tolist(), before, strict=True):
            side = int(one["side"]) if one else greeter(below, stream)
            stripped[stream, side] = len(GREETING)
            kept.append({"side": np.array(side)})
        found = below.stretches.take(below.of(streams))
        by = stripped[found.stream, found.side]
        first = np.maximum(by - found.offset, 0)
        found = replace(found, offset=found.offset + first - by, length=found.length - first, skip=found.skip + first)
        return below.giving(streams, found.take(found.length > 0), (below.octets - stripped)[streams], below.synced[streams]), kept


class Records:
    """Both sides put all they say into records. The octets of one can be read when all of it is there."""

    kind = "records"
    protocol = PROTOCOL_OTHER
    keeps = ("came", "offset", "rest", "held 0", "held 1")

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        return beginning(octets, runs, lambda first: first[0] >= 0xC0)

    def transport(self, below: int) -> int:
        return below

    def summaries(self, kept: Arrays) -> list[Summary]:
        return []

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        return kept

    def read(self, below: Carried, streams: np.ndarray, before: Sequence[Arrays | None]) -> tuple[Carried, list[Arrays]]:
        given, kept, lengths = [], [], np.zeros((len(streams), 2), np.int64)
        for at, (stream, one) in enumerate(zip(streams.tolist(), before, strict=True)):
            sides = []
            for side in (0, 1):
                reader = Reader(below, stream, side, one)
                given += reader.all()
                lengths[at, side] = reader.offset + below.octets[stream, side] - reader.came - len(reader.held)
                sides.append(reader)
            kept.append({name: np.array([getattr(side, name) for side in sides]) for name in ("came", "offset", "rest")}
                        | {f"held {side}": np.frombuffer(bytes(sides[side].held), np.uint8) for side in (0, 1)})  # fmt: skip
        opened = [number for number, (_, octets) in enumerate(given) if octets]
        rows = np.array([given[number][0].row[0] for number in opened], np.int64)
        octets = [given[number][1] for number in opened]
        after, at = below.adding(rows, np.array([len(one) for one in octets], np.int64), b"".join(octets))
        found = [one for one, _ in given]
        for number, row in zip(opened, at.tolist(), strict=True):
            found[number] = replace(found[number], at=np.array([row]), skip=np.zeros(1, np.int64))
        return after.giving(streams, joined(found), lengths, below.synced[streams]), kept


class Reader:
    """One side of a stream of records: `came` octets of the layer below came so far, and `offset` were given of it.

    `held` is what there is of a record that is not whole. Of one that a hole has torn `rest` octets are to come.
    """

    def __init__(self, below: Carried, stream: int, side: int, before: Arrays | None) -> None:
        self.below, self.stream, self.side = below, stream, side
        self.came, self.offset, self.rest = (int(before[name][side]) if before else 0 for name in ("came", "offset", "rest"))
        self.held = bytearray(before[f"held {side}"].tobytes() if before else b"")
        self.unsure = False
        self.last: Stretches | None = None

    def all(self) -> list[tuple[Stretches, bytes]]:
        """What it gives: stretches, and of those that a layer has to open the octets."""
        out: list[tuple[Stretches, bytes]] = []
        bounds = self.below.bounds[2 * self.stream + self.side :][:2]
        for number in range(*bounds.tolist()):
            one = self.below.stretches.take(slice(number, number + 1))
            hole = int(one.offset[0]) - self.came
            if hole:
                out += self.over(hole)
            out += self.octets(one, self.below.read(one).tobytes())
        return out

    def over(self, hole: int) -> list[tuple[Stretches, bytes]]:
        """So many octets are missing. Where their record's end is known, and behind them, so is how many of it they hide."""
        left = self.rest or (HEAD + self.length() - len(self.held) if len(self.held) >= HEAD else 0)
        torn = [self.give(self.last, len(self.held) - HEAD, bytes(self.held[HEAD:]))] if len(self.held) > HEAD and self.last else []
        self.rest = max(left - hole, 0)
        self.unsure = left < hole
        self.held.clear()
        self.came += hole
        self.offset += hole
        return torn

    def octets(self, one: Stretches, octets: bytes) -> list[tuple[Stretches, bytes]]:
        """More octets, which lie end to start with those before."""
        out, at = [], 0
        while at < len(octets):
            if self.rest:
                size = min(self.rest, len(octets) - at)
                out.append(self.give(replace(one, skip=one.skip + at), size))
                self.rest -= size
                at += size
                continue
            wanted = HEAD if len(self.held) < HEAD else HEAD + self.length()
            before = len(self.held)
            self.held += octets[at : at + wanted - before]
            at += len(self.held) - before
            if len(self.held) >= HEAD and len(self.held) == HEAD + self.length():
                length = self.length()
                begins = at - length  # in this stretch, if all of it is there
                out.append(self.give(replace(one, skip=one.skip + begins), length, b"" if begins >= 0 else bytes(self.held[HEAD:])))
                self.held.clear()
        self.came += len(octets)
        self.last = one
        return out

    def length(self) -> int:
        return int.from_bytes(self.held[:HEAD], "big") & 0x3FFF

    def give(self, one: Stretches, length: int, opened: bytes = b"") -> tuple[Stretches, bytes]:
        unsure, self.unsure = self.unsure, False
        found = replace(one, offset=np.array([self.offset]), length=np.array([length]), unsure=np.array([unsure]))
        self.offset += length
        return found, opened


LAYERS: tuple[Layer, ...] = (Greeting(), Records())


def beginning(octets: Octets, runs: Runs, is_one) -> Bools:
    """Per direction, whether its first run begins so; all are asked, for nothing is missing before them."""
    found = np.zeros(runs.synced.size, np.bool_)
    for direction in range(found.size):
        [*mine] = np.flatnonzero(runs.direction == direction)
        at = int(runs.position[mine[0]])
        found[direction] = runs.offset[mine[0]] == 0 and is_one(octets[at : at + int(runs.length[mine[0]])].tobytes())
    return found


def greeter(below: Carried, stream: int) -> int:
    """The side that greets."""
    for side in (0, 1):
        first = below.stretches.take(slice(int(below.bounds[2 * stream + side]), int(below.bounds[2 * stream + side]) + 1))
        if below.read(first).tobytes().startswith(GREETING):
            return side
    raise AssertionError("nobody greets")


def joined(found: list[Stretches]) -> Stretches:
    if not found:
        return NO_STRETCHES
    names = Stretches.__dataclass_fields__
    return Stretches(*(np.concatenate([getattr(one, name) for one in found]) for name in names))


# what they do to segments


def wrapped(*kinds: str) -> Change:
    """The same dialogues inside these layers, the outermost first."""

    def change(packets: Sequence[Segment]) -> Segments:
        for kind in reversed(kinds):
            packets = {"greeting": greeted, "records": in_records}[kind](packets)
        return list(packets)

    return change


def greeted(packets: Sequence[Segment]) -> Segments:
    """Who opens a connection greets in its first segment with octets."""
    return moved(packets, lambda way, content, edges: {0: GREETING} if way in openers(packets) and content else {})


def in_records(packets: Sequence[Segment]) -> Segments:
    """The octets of each segment are a record, or some."""

    def heads(way, content, edges):
        segments = pairwise(sorted({*edges, len(content)}))
        cuts = sorted({at for begin, end in segments for at in range(begin, end, LARGEST)} | {len(content)})
        return {begin: (0xC000 | end - begin).to_bytes(2, "big") for begin, end in pairwise(cuts)}

    return moved(packets, heads)


def openers(packets: Sequence[Segment]) -> set[object]:
    return {one.way for one in packets if one.flags & SYN and not one.flags & ACK}


def moved(packets: Sequence[Segment], inserted) -> Segments:
    """Segments with more octets: what `inserted` says by offset, of a way with its content and the offsets where segments begin."""
    first, content, edges = {}, defaultdict(dict), defaultdict(set)
    for one in packets:
        if one.flags & SYN:
            first[one.way] = (one.seq + 1) % 2**32
    for one in packets:
        first.setdefault(one.way, one.seq)
        at = (one.seq - first[one.way]) % 2**32
        if one.payload:
            edges[one.way].add(at)
            content[one.way].update((at + i, octet) for i, octet in enumerate(one.payload))
    more = {}
    for way in first:
        octets = content[way]
        whole = bytes(octets.get(at, 0) for at in range(max(octets, default=-1) + 1))
        more[way] = inserted(way, whole, edges[way])

    def outer(way, at: int) -> int:
        """Where an offset is now; what was put there is behind it."""
        return at + sum(len(octets) for begin, octets in more.get(way, {}).items() if begin < at)

    out = []
    for one in packets:
        peer = (one.dst, one.dport, one.src, one.sport)
        begin, changed = (one.seq - first[one.way]) % 2**32, one
        if not one.flags & SYN:
            octets = b"".join(more[one.way].get(begin + i, b"") + bytes([octet]) for i, octet in enumerate(one.payload))
            changed = replace(one, seq=(first[one.way] + outer(one.way, begin)) % 2**32, payload=octets)
        acked = (one.ack - first.get(peer, one.ack)) % 2**32
        if one.flags & ACK and acked < 2**31:
            changed = replace(changed, ack=(first.get(peer, one.ack) + outer(peer, acked)) % 2**32)
        out.append(changed)
    return out
