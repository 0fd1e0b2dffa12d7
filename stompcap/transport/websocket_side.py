"""One direction of a WebSocket: its frames to messages, messages to octets, and what happens to both at holes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.stomp.delimiter_io import FRAME_LIMIT
from stompcap.transport import websocket_frames as frames
from stompcap.transport.deflate import Inflater
from stompcap.transport.direction import Direction
from stompcap.transport.events import CLOSE, PING, PONG, UNREADABLE
from stompcap.transport.stretches import Stretches
from stompcap.transport.websocket_checks import OF_NOTE, RESERVED, UTF8
from stompcap.transport.websocket_found import first_frame
from stompcap.transport.websocket_search import FITS
from stompcap.transport.websocket_text import NO_UTF8, Text, is_utf8

HTTP, WAITING, FRAMES, LOST, OVER = range(5)
"""Phases of a direction: heads and bodies of HTTP; what is behind a request for an upgrade waits for its answer; frames; frames whose
boundaries are not known; octets that are not looked at."""
(
    PHASE, HEADS, LOST_UNITS, NEAR, SINCE, BEGAN, BEGAN_PACKED, NOTED, TRUE_BEGINNING, WINDOW, FORGOT, LEFT, CHUNKED, TRAILER,
) = range(3, 17)  # fmt: skip
SIDE = 17
"""Numbers of a direction beside those of its frames, behind CAME, OFFSET and UNSURE. HEADS of HTTP and LOST_UNITS are counted. SINCE is
where the search for a frame began, NEAR whether a packet begins where it goes on. BEGAN and BEGAN_PACKED are where a control frame's
payload and a compressed message began. NOTED has a bit for each kind of mistake that was told. TRUE_BEGINNING: nothing is missing before
offset 0. WINDOW: whether octets of one are kept, 2 where they are not all known; FORGOT: octets were missing before the first of them.
LEFT, CHUNKED and TRAILER are of a body."""
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
CLOSE_CODE = 2
"""Octets of a Close's payload that are its code (RFC 6455, 5.5.1)."""


@dataclass
class Side(Direction):
    """One direction: its numbers, those of its frames, and octets that it has to hold.

    raw      what came and is not decided: of a head of HTTP, behind a request, in a search
    held     of a compressed message, as it came; of a line of a body in chunks
    control  of a control frame's payload

    `takeover` and `bits` are what was agreed on for its compressed messages.
    """

    numbers: I64 = field(default_factory=lambda: np.zeros(SIDE, np.int64))
    state: I64 = field(default_factory=lambda: np.zeros(frames.STATE, np.int64))
    held: bytes = b""
    control: bytes = b""
    inflater: Inflater | None = None
    takeover: bool = True
    bits: int = 15
    closed: list[tuple[int, int]] = field(default_factory=list)  # row and code of each Close
    closes: list[tuple[int, int, int, int, bool]] = field(default_factory=list)
    """Of each Close its row, octets given before it, its octets, its code, and whether it is certainly one."""

    broken: dict[str, tuple[int, int, str]] = field(default_factory=dict)  # what it is, its row, octets given before it, what was seen
    blind: bool = False  # heads of its frames may be missing
    text: Text = field(default_factory=Text)

    def begin(self, below: Stretches, octets: Octets) -> None:
        """Take what came of the direction since."""
        super().begin(below, octets)
        self._first, self._began = self.given.floor, -1
        self._octets = self.given.buffer.data

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
        special = np.flatnonzero(kinds != frames.PLAIN)
        position, length = spans[:, frames.SPAN_POSITION], spans[:, frames.SPAN_LENGTH]
        pieces = np.searchsorted(self.given.starts, np.maximum(position + length - 1, 0)[special], "right") - 1
        firsts = np.searchsorted(self.given.starts, position[special], "right") - 1
        begin = 0
        columns = special, spans[special], np.maximum(pieces, floor), firsts, texts[special].astype(np.int64)
        for at, (kind, where, size, first, ends), piece, begins, is_text in zip(*(one.tolist() for one in columns), strict=True):
            if begin < at:
                self.given.plain(position[begin:at], length[begin:at], masked, floor)
            begin = at + 1
            if kind == frames.PACKED:
                self._packed(where, size, ends, begins if size else piece, piece, bool(is_text))
            elif kind == frames.CONTROL:
                self._control(where, size, first, ends, piece)
            elif kind == frames.NOTE:
                self._note(first, piece, where)
            else:
                self._skipped(size)
        self.given.plain(position[begin:], length[begin:], masked, floor)

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

    def _control(self, position: int, length: int, first: int, ends: int, piece: int) -> None:
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
            row = int(self.given.below.row[piece])
            self.closed.append((row, -1 if code is None else code))
            self.closes.append((row, self.given.offset, len(payload), -1 if code is None else code, not self.blind))
            detail = None if code is None else str(code)
        else:
            detail = hashlib.blake2b(payload, digest_size=4).hexdigest() if payload else None
        self.tell(kind, piece, int(self.numbers[BEGAN]), len(payload), detail, 1)

    def _packed(self, position: int, length: int, ends: int, first: int, piece: int, is_text: bool) -> None:
        """Octets of a compressed message in these stretches, inflated when it is whole."""
        if not self.held:
            self._first, self._began = first, position
        octets = self._octets[position : position + length].tobytes()
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
            self.given.opened(found.octets, self.by(min(self._first, piece), piece))

    def _begin_of_packed(self) -> int:
        """Where the compressed message under way began, in what the layer below gives."""
        return int(self.numbers[BEGAN_PACKED]) if self._began < 0 else self.below(self._began)

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
        self.numbers[[PHASE, NEAR, SINCE]] = LOST, 1, -1
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
