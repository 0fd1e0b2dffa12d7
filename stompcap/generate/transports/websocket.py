"""WebSocket (RFC 6455) as a client and a broker write it: a message for each send, some in fragments, pings between, Close 1000."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Any

from stompcap.generate.transports.packing import Deflate, sockjs
from stompcap.generate.transports.upgrade import AGENT, HOST, Upgrade, protocol
from stompcap.generate.transports.writer import Flight, spread
from stompcap.tables.words import DIRECTIONS

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, RSV1 = 0x80, 0x40
NORMAL, GONE = 1000, 3000
"""Codes of Close (7.4.1), and of SockJS where the server has closed."""


@dataclass(frozen=True)
class Habits:
    """How often: a message is cut into fragments, a ping follows a send, SockJS sends `h`; and whether messages are text."""

    fragments: float = 0.0
    pings: float = 0.04
    beats: float = 0.02
    text: bool = True


class WebSocket:
    """One connection. `deflate` are the compressors of the client and the server, where permessage-deflate is agreed on."""

    key_log: Sequence[str] = ()

    def __init__(
        self, dice: Random, upgrade: Upgrade, habits: Habits, deflate: tuple[Deflate, Deflate] | None = None, *, in_sockjs: bool = False
    ) -> None:
        self._dice, self._upgrade, self._habits = dice, upgrade, habits
        self._deflate, self._in_sockjs = deflate, in_sockjs
        self._pongs: list[tuple[bool, bytes]] = []
        self._sent = dict.fromkeys(DIRECTIONS, 0)

    def opening(self) -> Iterator[Flight]:
        """The upgrade; SockJS then says that it is open."""
        request, key = self._upgrade.request(self._dice)
        yield True, request
        yield False, self._upgrade.answer(key)
        if self._in_sockjs:
            yield False, self._message(False, b"o")

    def wrap(self, from_client: bool, pieces: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
        """A message of all pieces. Where it has its octets as they are, each piece stays where it was; else all are known by the last."""
        octets = b"".join(pieces)
        kind = TEXT if self._habits.text and _is_text(octets) else BINARY
        if self._in_sockjs:
            octets = sockjs(from_client, octets, self._dice)
        packed = self._packed(from_client, octets)
        if not self._in_sockjs and packed is None:
            sizes = list(accumulate(map(len, pieces)))
            return self._frames(from_client, octets, kind, sizes), list(range(len(pieces)))
        octets, kind = (octets, kind) if packed is None else (packed, kind | RSV1)
        sizes = list(accumulate(map(len, spread(octets, len(pieces)))))
        return self._frames(from_client, octets, kind, sizes), [len(pieces) - 1] * len(pieces)

    def aside(self) -> Iterator[Flight]:
        """Pongs that are due; now and then a ping, or `h` of SockJS."""
        if self._dice.random() < self._habits.pings:
            yield False, self._ping(False)
        for from_client, payload in self._pongs:
            yield from_client, self._frame(from_client, FIN | PONG, payload)
        self._pongs.clear()
        if self._in_sockjs and self._dice.random() < self._habits.beats:
            yield False, self._message(False, b"h")

    def closing(self) -> Iterable[Flight]:
        """Close from the client and back; a SockJS server says by `c` first that it goes."""
        if self._in_sockjs:
            yield False, self._message(False, b'c[%d,"Go away!"]' % GONE)
        reason = struct.pack(">H", NORMAL)
        for from_client in (True, False):
            yield from_client, self._frame(from_client, FIN | CLOSE, reason)

    def truth_rows(self) -> list[dict[str, Any]]:
        """Rows of the upgrade and of the frames, and of SockJS in them."""
        asked = self._upgrade
        upgrade = {
            "kind": "http", "status": "read", "http_path": asked.path, "http_host": HOST, "http_status": 101, "user_agent": AGENT,
            "subprotocols_asked": ", ".join(map(protocol, asked.versions)), "subprotocol": asked.subprotocol,
            "extensions": asked.extension or None, "units_c2s": 1, "units_s2c": 1,
        }  # fmt: skip
        if asked.forwarded_for:
            upgrade |= {"origin_ip": asked.forwarded_for, "origin_port": None, "origin_source": "x_forwarded_for"}
        frames = {"kind": "websocket", "status": "read", "close_code": NORMAL, "closed_by": "client"}
        frames |= {f"units_{way}": number for way, number in self._sent.items()}
        in_sockjs = [{"kind": "sockjs", "status": "read", "close_code": GONE, "closed_by": "server"}] if self._in_sockjs else []
        return [upgrade, frames, *in_sockjs]

    def _packed(self, from_client: bool, octets: bytes) -> bytes | None:
        """A message as it is compressed; None where it is not."""
        return self._deflate[not from_client].pack(octets) if self._deflate else None

    def _message(self, from_client: bool, octets: bytes) -> bytes:
        """A message of one frame."""
        packed = self._packed(from_client, octets)
        return self._frame(from_client, FIN | TEXT | (0 if packed is None else RSV1), octets if packed is None else packed)

    def _frames(self, from_client: bool, octets: bytes, kind: int, ends: Sequence[int]) -> list[bytes]:
        """The frames of a message of a kind, in pieces that end with the octets `ends` of it. A ping may lie between two frames (5.4)."""
        pieces = [bytearray() for _ in ends]
        cuts = self._cuts(len(octets))
        for number, (begin, end) in enumerate(pairwise(cuts)):
            first = (CONTINUATION if number else kind) | (FIN if end == len(octets) else 0)
            framed = self._frame(from_client, first, octets[begin:end])
            at, head = min(bisect_right(ends, begin), len(ends) - 1), len(framed) - (end - begin)
            pieces[at] += framed[:head]
            for piece in range(at, len(ends)):
                low, high = max(begin, ends[piece - 1] if piece else 0), min(end, ends[piece])
                if low < high:
                    pieces[piece] += framed[head + low - begin : head + high - begin]
            if end < len(octets) and self._dice.random() < self._habits.pings:
                pieces[min(bisect_right(ends, end - 1), len(ends) - 1)] += self._ping(from_client)
        return [bytes(piece) for piece in pieces]

    def _cuts(self, octets: int) -> list[int]:
        """Where the frames of a message begin and end."""
        if octets < 2 or self._dice.random() >= self._habits.fragments:
            return [0, octets]
        return [0, *sorted({self._dice.randrange(1, octets) for _ in range(self._dice.randrange(1, 4))}), octets]

    def _ping(self, from_client: bool) -> bytes:
        payload = self._dice.randbytes(self._dice.choice((0, 4, 8)))
        self._pongs.append((not from_client, payload))
        return self._frame(from_client, FIN | PING, payload)

    def _frame(self, from_client: bool, first: int, payload: bytes) -> bytes:
        """A frame (5.2); those of a client are masked."""
        size, masked = len(payload), 0x80 * from_client
        self._sent[DIRECTIONS[not from_client]] += 1
        if size < 126:
            head = bytes((first, masked | size))
        elif size < 1 << 16:
            head = struct.pack(">BBH", first, masked | 126, size)
        else:
            head = struct.pack(">BBQ", first, masked | 127, size)
        if not from_client:
            return head + payload
        mask = self._dice.randbytes(4)
        return head + mask + mask_with(mask, payload)


def mask_with(mask: bytes, octets: bytes) -> bytes:
    """Octets masked, or unmasked (5.3)."""
    size = len(octets)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(octets, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def _is_text(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True
