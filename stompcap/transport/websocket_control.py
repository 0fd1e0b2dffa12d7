"""Control frames of one direction of a WebSocket (RFC 6455, 5.5): pings and pongs all at once, Close and those in pieces one by one."""

from __future__ import annotations

import hashlib

import numpy as np

from stompcap.columns import I64, Bools
from stompcap.transport import websocket_frames as frames
from stompcap.transport.events import CLOSE, PING, PONG, Event
from stompcap.transport.websocket_state import BEGAN, Known

CLOSE_CODE = 2
"""Octets of a Close's payload that are its code (RFC 6455, 5.5.1)."""


class Controlled(Known):
    """A direction that tells of its control frames; of their payload it keeps a digest, or a Close's code."""

    def alone(self, spans: I64) -> Bools:
        """Which spans are pings and pongs of which all is there: nothing else depends on them."""
        control, ends = spans[:, frames.SPAN_KIND] == frames.CONTROL, spans[:, frames.SPAN_ENDS] != 0
        goes_on = np.append(bool(self.control) or self.numbers[BEGAN] < 0, control[:-1] & ~ends[:-1])
        found: Bools = control & ends & ~goes_on & (spans[:, frames.SPAN_FIRST] & 15 != frames.CLOSE)
        return found

    def signs(self, spans: I64, floor: int) -> None:
        """Tell of such pings and pongs."""
        position, length = spans[:, frames.SPAN_POSITION], spans[:, frames.SPAN_LENGTH]
        first, last = self.places(spans)
        first = np.where(length == 0, last, first)
        begin, row = self.given.below.offset[first] + position - self.given.starts[first], self.given.below.row[np.maximum(last, floor)]
        pings = spans[:, frames.SPAN_FIRST] & 15 == frames.PING
        for at, octets, offset, by, ping in zip(*(one.tolist() for one in (position, length, begin, row, pings)), strict=True):
            detail = digest(self.octets[at : at + octets])
            self.events.append(Event(self.stream, self.side, by, PING if ping else PONG, offset, octets, detail, 1))

    def control_frame(self, position: int, length: int, first: int, ends: int, piece: int) -> None:
        """A part of a control frame, or all of it; `ends` says whether it is the last."""
        torn = self.numbers[BEGAN] < 0
        if not self.control and not torn:
            self.numbers[BEGAN] = self.below(position) if length else self.below(position - 1) + 1
        self.control += self.given.buffer[position : position + length].tobytes()
        if not ends:
            self.control = self.control[: frames.LONGEST_CONTROL]
            return
        payload, self.control = self.control, b""
        if torn:
            self.numbers[BEGAN] = 0
            return
        kind = {frames.PING: PING, frames.PONG: PONG}.get(first & 15, CLOSE)
        if kind == CLOSE:
            code = int.from_bytes(payload[:CLOSE_CODE], "big") if len(payload) >= CLOSE_CODE else None
            row, order = (int(of[piece]) for of in (self.given.below.row, self.given.below.order))
            self.closed.append((order, -1 if code is None else code))
            self.closes.append((row, self.given.offset, len(payload), -1 if code is None else code, not self.blind))
            detail = None if code is None else str(code)
        else:
            detail = digest(payload)
        self.tell(kind, piece, int(self.numbers[BEGAN]), len(payload), detail, 1)


def digest(payload: bytes | memoryview) -> str | None:
    """What stands for the payload of a ping, by which its pong is known."""
    return hashlib.blake2b(payload, digest_size=4).hexdigest() if payload else None
