"""Recorded captures whose dialogues lie inside WebSocket, written without the project's reader: RFC 6455 and RFC 7692."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.mangler.segmentations import Change, Segments
from tests.mangler.taken_apart import ACK, SYN, Segment

KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
"""The example of RFC 6455, 1.3."""
TAIL = b"\0\0\xff\xff"


def request(path: str = "/ws", *lines: str) -> bytes:
    head = [f"GET {path} HTTP/1.1", "Host: broker.example:15674", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {KEY}",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: v12.stomp, v11.stomp", *lines]  # fmt: skip
    return "\r\n".join([*head, "", ""]).encode()


def answer(*lines: str, status: str = "101 Switching Protocols") -> bytes:
    head = [f"HTTP/1.1 {status}", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {ACCEPT}", *lines]
    return "\r\n".join([*head, "", ""]).encode()


def frame(payload: bytes, opcode: int = 2, *, fin: bool = True, rsv1: bool = False, mask: bytes | None = None) -> bytes:
    head = bytes([fin << 7 | rsv1 << 6 | opcode])
    bit = 128 if mask is not None else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(payload))
    if mask is None:
        return head + payload
    return head + mask + bytes(octet ^ mask[k & 3] for k, octet in enumerate(payload))


@dataclass
class Writer:
    """Frames of one direction. `extensions` as the server accepted them."""

    masks: bool
    seed: int = 1
    fragments: int = 1
    pings: bool = False
    deflate: bool = False
    takeover: bool = True
    bits: int = 15
    least: int = 0
    last_blocks: bool = False
    binary: bool = False
    dice: random.Random = field(init=False)
    machine: zlib._Compress | None = None

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def mask(self) -> bytes | None:
        return self.dice.randbytes(4) if self.masks else None

    def message(self, octets: bytes) -> bytes:
        packed = self.deflate and len(octets) >= self.least
        payload = self.packed(octets) if packed else octets
        count = min(self.dice.randint(1, self.fragments), max(len(payload), 1))
        cuts = sorted({0, len(payload), *(self.dice.randrange(len(payload) + 1) for _ in range(count - 1))})
        parts = list(pairwise(cuts)) or [(0, 0)]
        out = b""
        for k, (begin, end) in enumerate(parts):
            if self.pings and self.dice.random() < 0.5:
                out += frame(self.dice.randbytes(self.dice.randrange(126)), self.dice.choice((9, 10)), mask=self.mask())
            opcode = 0 if k else 2 if self.binary else self.dice.choice((1, 2))
            out += frame(payload[begin:end], opcode, fin=k == len(parts) - 1, rsv1=packed and k == 0, mask=self.mask())
        return out

    def packed(self, octets: bytes) -> bytes:
        if self.machine is None or not self.takeover:
            self.machine = zlib.compressobj(self.dice.choice((1, 6, 9)), zlib.DEFLATED, -self.bits)
        if self.last_blocks:
            packed = self.machine.compress(octets) + self.machine.flush(zlib.Z_FINISH) + b"\0"
            self.machine = zlib.compressobj(6, zlib.DEFLATED, -self.bits)
            return packed
        packed = self.machine.compress(octets) + self.machine.flush(zlib.Z_SYNC_FLUSH)
        assert packed.endswith(TAIL)
        return packed[:-4] or b"\0"


def sockjs(octets: bytes, masks: bool) -> bytes:
    text = json.dumps([octets.decode()])
    return (text if masks else "a" + text).encode()


Encode = Callable[[bytes, bool], Iterator[bytes]]


def inside(
    *, extensions: str = "", handshake: bool = True, separately: bool = False, fragments: int = 1, pings: bool = False, least: int = 0,
    last_blocks: bool = False, messages: int = 1, text: bool = False, lines: Sequence[str] = (),
) -> Change:  # fmt: skip
    """The same dialogues inside WebSocket: the octets of each segment are up to so many `messages`.

    `separately`: request and answer are segments of their own, before others. `text`: inside SockJS.
    """

    def writer(masks: bool, number: int) -> Writer:
        deflate = "permessage-deflate" in extensions
        side = "client" if masks else "server"
        bits = int(extensions.split(f"{side}_max_window_bits=")[1][:2].rstrip(";")) if f"{side}_max_window_bits=" in extensions else 15
        takeover = f"{side}_no_context_takeover" not in extensions
        return Writer(masks, number, fragments, pings, deflate, takeover, bits, least, last_blocks)

    def change(packets: Sequence[Segment]) -> Segments:
        openers = {one.way for one in packets if one.flags & SYN and not one.flags & ACK}
        first = request("/ws", *lines), answer(*([f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []))

        def encoded(way: object, number: int, content: bytes, edges: set[int]) -> list[tuple[int, int, bytes]]:
            masks = way in openers
            writes = writer(masks, number)
            cuts = sorted({*edges, len(content)})
            units = []
            for begin, end in pairwise(cuts):
                inner = sorted({begin, end, *(writes.dice.randint(begin, end) for _ in range(writes.dice.randint(1, messages) - 1))})
                octets = b"".join(
                    writes.message(sockjs(content[a:b], masks) if text else content[a:b]) for a, b in pairwise(inner)
                )  # fmt: skip
                units.append((begin, end, octets))
            if text and not masks and units:
                begin, end, octets = units[0]
                units[0] = begin, end, writes.message(b"o") + octets
            if handshake and units:
                begin, end, octets = units[0]
                units[0] = begin, end, first[0 if masks else 1] + octets
            return units

        return rewritten(packets, encoded)

    return change


def rewritten(packets: Sequence[Segment], encoded) -> Segments:
    """Segments with other octets: `encoded` gives for a way, its number, its content and the offsets where segments begin the units that
    replace stretches between these."""
    first, content, edges = {}, defaultdict(dict), defaultdict(set)
    for one in packets:
        if one.flags & SYN:
            first[one.way] = (one.seq + 1) % 2**32
    for one in packets:
        first.setdefault(one.way, one.seq)
        at = (one.seq - first[one.way]) % 2**32
        if one.payload:
            edges[one.way] |= {at, at + len(one.payload)}
            content[one.way].update((at + i, octet) for i, octet in enumerate(one.payload))
    units, places = {}, {}
    for number, way in enumerate(first):
        octets = content[way]
        whole = bytes(octets.get(at, 0) for at in range(max(octets, default=-1) + 1))
        units[way] = {begin: (end, new) for begin, end, new in encoded(way, number, whole, edges[way])}
        places[way], at = {}, 0
        for begin, (_, new) in sorted(units[way].items()):
            places[way][begin] = at
            at += len(new)
        places[way][len(whole)] = at

    def outer(way, at: int) -> int:
        """Where an offset is now."""
        found = places.get(way, {0: 0})
        last = max(found)
        return found[at] if at in found else found[last] + at - last

    out = []
    for one in packets:
        peer = (one.dst, one.dport, one.src, one.sport)
        begin, changed = (one.seq - first[one.way]) % 2**32, one
        if not one.flags & SYN:
            octets, at = b"", begin
            while one.payload and at < begin + len(one.payload):
                at, new = units[one.way][at]
                octets += new
            changed = replace(one, seq=(first[one.way] + outer(one.way, begin)) % 2**32, payload=octets)
        acked = (one.ack - first.get(peer, one.ack)) % 2**32
        if one.flags & ACK and acked < 2**31:
            changed = replace(changed, ack=(first.get(peer, one.ack) + outer(peer, acked)) % 2**32)
        out.append(changed)
    return out
