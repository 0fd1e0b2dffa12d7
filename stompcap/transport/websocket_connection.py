"""Both directions of a connection that becomes a WebSocket: requests and answers of HTTP until one is upgraded, then frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stompcap.codes import NOBODY
from stompcap.stomp.delimiter_io import FRAME_LIMIT
from stompcap.transport import http
from stompcap.transport import websocket_frames as frames
from stompcap.transport import websocket_state as numbers
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried
from stompcap.transport.deflate import Inflater, as_array
from stompcap.transport.direction import CAME
from stompcap.transport.events import Event
from stompcap.transport.state import Arrays
from stompcap.transport.websocket_side import Side
from stompcap.transport.websocket_state import FRAMES, HTTP, LOST, OVER, PHASE, WAITING, first_close
from stompcap.transport.websocket_text import Text
from stompcap.transport.websocket_upgrade import UNDECIDED, Upgrade

HELD = 1 << 16
"""Octets behind a request for an upgrade that wait for its answer."""
PER_SIDE = ("raw", "held", "control", "window", "other")
KEEPS = ("numbers", "frames", "said", *(f"{name} {side}" for name in PER_SIDE for side in (0, 1)))


class Connection:
    """The machine of one connection; `said` is what its heads say, as far as it is kept, and what ended it."""

    def __init__(self, stream: int, before: Arrays | None) -> None:
        self.sides = (Side(stream, 0), Side(stream, 1))
        self.said: dict[str, Any] = {"asked": [], "upgraded": UNDECIDED, "client": NOBODY, "columns": {}}
        self.said |= {"blind": [False, False], "broken": [{}, {}], "closes": [None, None], "text": [None, None]}
        self._upgrade = Upgrade(self.sides, self.said)
        if before is not None:
            self.said |= {"blind": [True, True]}  # states of older versions do not say what was wrong
            self.said |= json.loads(before["said"].tobytes())
            for side in self.sides:
                self._restore(side, before)
        else:
            for side in self.sides:
                side.state[[frames.MASKED, frames.DEFLATE]] = -1, frames.NOT_SEEN

    def _restore(self, side: Side, before: Arrays) -> None:
        n = side.side
        side.numbers, side.state = before["numbers"][n].copy(), before["frames"][n].copy()
        side.raw, side.held, side.control, window, other = (before[f"{name} {n}"].tobytes() for name in PER_SIDE)
        side.text = Text(self.said["text"][n])
        side.blind = self.said["blind"][n] or side.numbers[PHASE] == LOST
        self._upgrade.agree(side)
        if side.numbers[numbers.WINDOW]:
            unknown = other if side.numbers[numbers.WINDOW] == 2 else None
            side.inflater = Inflater(side.takeover, FRAME_LIMIT, side.bits, window, unknown)

    def kept(self) -> dict[str, Any]:
        """What goes on of it."""
        found: dict[str, Any] = {
            "frames": np.stack([side.state for side in self.sides]),
            "said": as_array(json.dumps(self.said).encode()),
        }  # fmt: skip
        for side in self.sides:
            window, other, one = b"", b"", side.inflater
            side.numbers[numbers.WINDOW] = 0 if one is None else 1 if one.known else 2
            if one is not None:
                window, other = one.window, one.other or b""
            for name, octets in zip(PER_SIDE, (side.raw, side.held, side.control, window, other), strict=True):
                found[f"{name} {side.side}"] = as_array(octets)
        found["numbers"] = np.stack([side.numbers for side in self.sides])
        return found

    def events(self) -> list[Event]:
        """What it says; where no heads were seen, its frames are its only row."""
        found = [event for side in self.sides for event in side.events]
        heads = any(side.numbers[numbers.HEADS] for side in self.sides)
        return found if heads else [one._replace(layer=0) for one in found]

    # reading

    def read(self, below: Carried, ahead: Ahead) -> None:
        """Read what came since."""
        stream = self.sides[0].stream
        for side in self.sides:
            begin, end = below.bounds[2 * stream + side.side :][:2].tolist()
            first = not side.numbers[CAME] and not side.raw
            side.begin(below.stretches.take(slice(begin, end)), ahead.read(begin, end))
            if first and not below.synced[stream, side.side] and not self._http(side):
                side.lose_sync()
        for patient, heads in ((True, True), (False, True), (False, False)):  # heads of both sides count for the frames of both
            self._upgrade.patient = patient
            while self._advance(self.sides[0], heads=heads) | self._advance(self.sides[1], heads=heads):
                pass
        final = bool(below.final[stream])
        for side in self.sides:
            self._waits(side, final)
            if final and side.reached < below.octets[stream, side.side]:
                side.hole(int(below.octets[stream, side.side]) - side.reached, side.end - side.at, False)
                side.at = side.end
            if final and side.numbers[PHASE] in (LOST, FRAMES):  # what is not decided never will be
                side.given.missing(side.end - side.at if len(side.given.below) else len(side.raw), unsure=True)
                side.at, side.raw = side.end, b""
            side.ended()
        self._check(below)

    def _check(self, below: Carried) -> None:
        """Take over what was checked, with the times of its packets."""
        rows = [one.broken or one.closes for one in self.sides]
        ts_ns = below.ts_ns if any(rows) or self._upgrade.answer_row is not None else np.empty(0, np.int64)
        if self._upgrade.answer_row is not None:
            self.said["answer"][0] = int(ts_ns[self._upgrade.answer_row])
        for side in self.sides:
            for what, (row, offset, seen) in side.broken.items():
                self.said["broken"][side.side].setdefault(what, [offset, int(ts_ns[row]), seen])
            for row, offset, octets, code, sure in side.closes[:1]:
                if self.said["closes"][side.side] is None:
                    self.said["closes"][side.side] = [offset, int(ts_ns[row]), octets, code, sure]
            self.said["blind"][side.side], self.said["text"][side.side] = bool(side.blind), side.text.state

    def _http(self, side: Side) -> bool:
        """Whether the first octets of a side are HTTP."""
        return http.begins(side.given.buffer[:32].tobytes()) and side.given.buffer.size > 0

    def _advance(self, side: Side, *, heads: bool = False) -> bool:
        """Read what can be read of a side, or only `heads`; whether that was something."""
        moved = False
        while not heads or side.numbers[PHASE] == HTTP:
            phase, at = int(side.numbers[PHASE]), side.at
            if side.at < side.end:
                PHASES[phase](self, side)
            if side.numbers[PHASE] == phase and side.at == at:
                waits = phase == WAITING or (phase == HTTP and self._upgrade.asked_there(side))
                if waits and side.runs and side.at < side.end:
                    return moved
                if not side.next_run():
                    return moved
            moved = True
        return moved

    def _waits(self, side: Side, final: bool) -> None:
        """Frames may be read without the answer to their upgrade where that was not captured."""
        if side.numbers[PHASE] != WAITING or (side.at == side.end and not side.runs and not (final and side.raw)):
            return
        other = self.sides[1 - side.side]
        never = not other.numbers[CAME] and not other.given.below.offset.size
        if final or never or side.runs or side.end - side.at > HELD or other.numbers[PHASE] in (LOST, OVER):
            self._unanswered(side)
            while self._advance(side):
                pass

    def _unanswered(self, side: Side) -> None:
        side.lose_sync()

    def frames_phase(self, side: Side) -> None:
        """Frames, up to the end of what is there."""
        side.frames()
        self._closed(side)

    def search_phase(self, side: Side) -> None:
        """The first frame behind octets of which nothing is known; what one side does about masks the other does not."""
        before = side.at
        other = self.sides[1 - side.side]
        if side.state[frames.MASKED] < 0 <= other.state[frames.MASKED]:
            side.state[frames.MASKED] = 1 - other.state[frames.MASKED]
        side.search()
        if side.at != before and side.numbers[PHASE] == FRAMES and self.said["client"] == NOBODY:
            self.said["client"] = side.side if side.state[frames.MASKED] else 1 - side.side
        self._closed(side)

    def _closed(self, side: Side) -> None:
        """The first Close of the connection, in wire order."""
        if side.closed:
            order, code = side.closed[0]
            by, _, first = first_close(self.said)
            if by == NOBODY or order < first:
                self.said["close"] = [side.side, None if code < 0 else code, order]
        side.closed.clear()

    def over_phase(self, side: Side) -> None:
        """Octets that say nothing."""
        side.at = side.end

    def wait_phase(self, side: Side) -> None:
        """An answer tells what the octets are."""

    def head_phase(self, side: Side) -> None:
        """A head of HTTP, or what is left of a body before it."""
        self._upgrade.head(side)


PHASES: Sequence[Callable[[Connection, Side], None]] = (
    Connection.head_phase, Connection.wait_phase, Connection.frames_phase, Connection.search_phase, Connection.over_phase,
)  # fmt: skip
