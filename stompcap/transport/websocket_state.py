"""What is known of one direction of a WebSocket between two octets: its numbers, those of its frames, and octets that it has to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stompcap.codes import NOBODY
from stompcap.columns import I64, Octets
from stompcap.transport import websocket_frames as frames
from stompcap.transport.deflate import Inflater
from stompcap.transport.direction import Direction
from stompcap.transport.stretches import Stretches
from stompcap.transport.websocket_text import Text

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


def first_close(said: Mapping[str, Any]) -> tuple[int, int | None, int]:
    """Who sent the first Close of a connection, or NOBODY; its code, and its place in wire order: -1 where an older version kept it."""
    by, code, *order = said.get("close", (NOBODY, None))
    return by, code, order[0] if order else -1


@dataclass
class Known(Direction):
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
    closed: list[tuple[int, int]] = field(default_factory=list)  # of each Close its place in wire order, and its code
    closes: list[tuple[int, int, int, int, bool]] = field(default_factory=list)
    """Of each Close its row, octets given before it, its octets, its code, and whether it is certainly one."""

    broken: dict[str, tuple[int, int, str]] = field(default_factory=dict)  # what it is, its row, octets given before it, what was seen
    blind: bool = False  # heads of its frames may be missing
    text: Text = field(default_factory=Text)

    def begin(self, below: Stretches, octets: Octets) -> None:
        """Take what came of the direction since."""
        super().begin(below, octets)
        self.first, self.began = self.given.floor, -1
        self.octets = self.given.buffer.data

    def places(self, spans: I64) -> tuple[I64, I64]:
        """The stretches in which the octets of spans begin and end; those of an empty one end with what is before it."""
        position, length = spans[:, frames.SPAN_POSITION], spans[:, frames.SPAN_LENGTH]
        ends = np.maximum(position + length - 1, 0)
        first, last = (np.searchsorted(self.given.starts, at, "right") - 1 for at in (position, ends))
        return first, last
