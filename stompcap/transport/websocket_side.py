"""One direction of a WebSocket: its frames to messages, messages to octets, and what happens to both at holes."""

from __future__ import annotations

import numpy as np

from stompcap.columns import I64
from stompcap.stomp.delimiter_io import FRAME_LIMIT
from stompcap.transport import websocket_frames as frames
from stompcap.transport.deflate import Inflater
from stompcap.transport.events import UNREADABLE
from stompcap.transport.websocket_checks import OF_NOTE, RESERVED, UTF8
from stompcap.transport.websocket_control import Controlled
from stompcap.transport.websocket_found import first_frame
from stompcap.transport.websocket_search import FITS
from stompcap.transport.websocket_state import (
    BEGAN,
    BEGAN_PACKED,
    FORGOT,
    FRAMES,
    LOST,
    LOST_UNITS,
    NEAR,
    NOTED,
    OVER,
    PHASE,
    SINCE,
)
from stompcap.transport.websocket_text import NO_UTF8, is_utf8

NOTES = (
    "wrong mask", "frame behind Close", "length not in the shortest form", "control frame too large", "control frame in fragments",
    "nothing to continue", "message not continued", "RSV1 without reason",
)  # fmt: skip
"""What stompcap.transport.websocket_frames notes."""
SPANS = 1 << 14
OPENED_AT_ONCE = 1 << 29
"""Octets of a direction that are inflated in one go; of messages behind these only the lengths are told."""
GOES_ON = (frames.MASKED, frames.DEFLATE, frames.CLOSED, frames.FRAMES, frames.MESSAGES, frames.CONTROLS, frames.PAYLOAD)
"""Of the numbers of frames, those that a hole does not end."""


class Side(Controlled):
    """A direction whose frames are read."""

    # octets

    def frames(self, floor: int = 0) -> None:
        """Frames in the octets of a run; those of the first `floor` stretches are read by the one behind them."""
        spans = np.empty((min(SPANS, 16 + (self.end - self.at) // 2), frames.SPAN), np.int64)
        floor = max(floor, self.given.floor)
        while self.at < self.end and self.numbers[PHASE] == FRAMES:
            count, self.at = frames.walk(self.given.buffer, self.at, self.end, self.state, spans)
            self._spans(spans[:count], floor)
            if self.state[frames.BROKEN]:
                self._lose()

    def _spans(self, spans: I64, floor: int) -> None:
        kinds = spans[:, frames.SPAN_KIND]
        texts, no_utf8 = self.text.follow(spans, self.given.buffer)
        for at in no_utf8:
            end = int(spans[at, frames.SPAN_POSITION] + spans[at, frames.SPAN_LENGTH])
            self._breaks(UTF8, max(self.given.piece_at(end - 1), floor), NO_UTF8)
        wrong = self.numbers[NOTED] & 1 << frames.WRONG_MASK or (spans[kinds == frames.NOTE, frames.SPAN_FIRST] == frames.WRONG_MASK).any()
        masked = bool(self.state[frames.MASKED] or wrong)
        alone = self.alone(spans)
        if alone.any():
            self.signs(spans[alone], floor)
        plain, special = np.flatnonzero(kinds == frames.PLAIN), np.flatnonzero((kinds != frames.PLAIN) & ~alone)
        position, length = spans[plain, frames.SPAN_POSITION], spans[plain, frames.SPAN_LENGTH]
        where, last = self.places(spans[special])
        columns = np.searchsorted(plain, special), spans[special], np.maximum(last, floor), where, texts[special].astype(np.int64)
        done = 0
        for upto, (kind, at, size, first, ends), piece, begins, is_text in zip(*(one.tolist() for one in columns), strict=True):
            if done < upto:
                self.given.plain(position[done:upto], length[done:upto], masked, floor)
                done = upto
            if kind == frames.PACKED:
                self._packed(at, size, ends, begins if size else piece, piece, bool(is_text))
            elif kind == frames.CONTROL:
                self.control_frame(at, size, first, ends, piece)
            elif kind == frames.NOTE:
                self._note(first, piece, at)
            else:
                self._skipped(size)
        self.given.plain(position[done:], length[done:], masked, floor)

    def _note(self, says: int, piece: int, position: int) -> None:
        """A mistake of a kind is told once."""
        if not self.numbers[NOTED] & 1 << says:
            self._breaks(OF_NOTE[says], piece, NOTES[says])
            self.numbers[NOTED] |= 1 << says
            self.tell(UNREADABLE, piece, self.below(position), 0, NOTES[says], 1)

    def _breaks(self, what: str, piece: int, seen: str) -> None:
        """Something is certainly wrong with its frames; the first of a kind counts."""
        if not self.blind:
            self.broken.setdefault(what, (int(self.given.below.row[piece]), self.given.offset, seen))

    def _packed(self, position: int, length: int, ends: int, first: int, piece: int, is_text: bool) -> None:
        """Octets of a compressed message in these stretches, inflated when it is whole."""
        if not self.held:
            self.first, self.began = first, position
        octets = self.octets[position : position + length].tobytes()
        if not ends & frames.ENDS_MESSAGE:
            self.held += octets
            return
        packed, self.held = self.held + octets, b""
        found = self._inflater().message(packed, self.opened < OPENED_AT_ONCE)
        if found.length < 0:
            self.numbers[LOST_UNITS] += 1
            self.tell(UNREADABLE, piece, self._begin_of_packed(), len(packed), found.reason, 1)
            self.given.missing(len(packed), unsure=True)
        elif found.octets is None:
            self.numbers[LOST_UNITS] += 1
            self.given.missing(found.length)
        else:
            self.opened += found.length
            if is_text and not found.octets.isascii() and not is_utf8(found.octets):
                self._breaks(UTF8, piece, NO_UTF8)
            self.given.opened(found.octets, self.by(min(self.first, piece), piece))

    def _begin_of_packed(self) -> int:
        """Where the compressed message under way began, in what the layer below gives."""
        return int(self.numbers[BEGAN_PACKED]) if self.began < 0 else self.below(self.began)

    def ended(self) -> None:
        """What is left is held until more comes."""
        if self.held and self.numbers[PHASE] == FRAMES:
            self.numbers[BEGAN_PACKED] = self._begin_of_packed()
        super().ended()

    def _skipped(self, length: int) -> None:
        """Octets of a message that cannot be read."""
        self.given.missing(length, unsure=True)

    def _inflater(self) -> Inflater:
        """What inflates its messages; where its beginning was not seen, what came before is not known."""
        if self.inflater is None:
            self.inflater = Inflater(self.takeover, FRAME_LIMIT, self.bits)
            if self.numbers[FORGOT]:
                self.inflater.forget()
        return self.inflater

    # holes

    def hole(self, octets: int, rest: int, unsure: bool) -> None:
        """So many octets are missing below, or nobody knows how many, behind a `rest` that was not decided."""
        s = self.state
        if self.numbers[PHASE] == FRAMES and s[frames.IN_PAYLOAD] and octets <= s[frames.LEFT] and not unsure:
            self._within(octets)
            return
        if self.numbers[PHASE] == OVER:
            return
        if self.numbers[PHASE] == FRAMES:
            self.numbers[LOST_UNITS] += 1
        self.given.missing(octets + rest + len(self.held), unsure=True)
        self.lose_sync()

    def _within(self, octets: int) -> None:
        """A hole in a payload: its end is known."""
        s = self.state
        if s[frames.KIND] != frames.SKIPPED:
            self.numbers[LOST_UNITS] += 1
        if s[frames.KIND] == frames.PACKED:
            self._inflater().forget()
            self.given.missing(len(self.held), unsure=True)
            self.held = b""
            s[frames.KIND] = s[frames.MESSAGE] = frames.SKIPPED
        if s[frames.KIND] == frames.CONTROL:
            self.control, self.numbers[BEGAN] = b"", -1
        else:
            self.given.missing(octets, unsure=s[frames.KIND] != frames.PLAIN)
        frames.pass_over(s, octets)
        if not s[frames.IN_PAYLOAD]:
            self.numbers[BEGAN] = 0  # the next control frame is not torn
        if s[frames.KIND] != frames.CONTROL:
            self.text.lose(within=bool(s[frames.IN_PAYLOAD]))

    def lose_sync(self) -> None:
        """Nothing is known of frames until one is found."""
        before = self.state.copy()
        self.state[:] = 0
        kept = list(GOES_ON)
        self.state[kept] = before[kept]
        self.state[frames.MESSAGE] = frames.UNKNOWN
        self.held = self.control = b""
        self.blind = True
        self.text.lose(within=False)
        self.numbers[[PHASE, NEAR, SINCE, BEGAN]] = LOST, 1, -1, 0
        self.numbers[FORGOT] = 1
        if self.inflater is not None:
            self.inflater.forget()

    def _lose(self) -> None:
        """The last head is none."""
        piece = max(self.given.piece_at(self.at - 1), self.given.floor)
        self.tell(UNREADABLE, piece, self.below(self.at - 1), 0, "no frame of WebSocket", 1)
        self._breaks(RESERVED, piece, "reserved bits, an opcode or a length that RFC 6455 does not have")
        self.numbers[LOST_UNITS] += 1
        self.given.missing(len(self.held), unsure=True)
        self.lose_sync()
        self.numbers[NEAR] = 0

    def search(self) -> None:
        """Look for a frame in the octets of a run."""
        n = self.numbers
        if n[SINCE] < 0:
            n[SINCE] = self.below(self.at)
        near = self.at if n[NEAR] else -1
        masked, deflate = int(self.state[frames.MASKED]), int(self.state[frames.DEFLATE])
        verdict, at, known = first_frame(self.given.buffer, self.at, self.end, False, near, masked, deflate)
        n[NEAR] = int(bool(n[NEAR]) and at == self.at)
        if at > self.at:
            self.given.missing(at - self.at, unsure=True)
        self.at = at
        if verdict != FITS:
            return
        piece = max(self.given.piece_at(known - 1), self.given.floor)
        offset = self.below(at)
        if offset > n[SINCE]:
            self.tell(UNREADABLE, piece, int(n[SINCE]), offset - int(n[SINCE]), "websocket_unsynchronised", 1)
        n[PHASE] = FRAMES
        self.state[frames.MASKED] = self.given.buffer[at + 1] >> 7
        self.frames(piece)
