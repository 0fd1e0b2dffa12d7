"""One direction of a stream that a layer reads: the octets that came, run by run between holes, and those that are not decided yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.tcp.join import end_to_end
from stompcap.transport.events import Event
from stompcap.transport.given import Given
from stompcap.transport.stretches import Stretches

CAME, OFFSET, UNSURE = range(3)
"""The first numbers of each direction: CAME octets of the layer below came so far, and OFFSET were given; UNSURE: a hole before those that
come next has no known length."""


@dataclass
class Direction(ABC):
    """What a layer reads of one side of a stream. `numbers` and `raw` go on; `raw` are octets that came and are not decided.

    Of the buffer, what is read now lies between `at` and `end`; behind it there is a hole or nothing.
    """

    stream: int
    side: int
    numbers: I64
    raw: bytes = b""
    events: list[Event] = field(default_factory=list)

    def begin(self, below: Stretches, octets: Octets) -> None:
        """Take what came of the direction since, behind what is not decided yet; nothing is read where nothing came."""
        size = len(self.raw)
        if size and len(below):
            first = below.take(slice(0, 1))
            before = np.array([self.numbers[CAME] - size]), np.array([size]), np.zeros(1, np.bool_)
            below = end_to_end([replace(first, offset=before[0], length=before[1], unsure=before[2]), below])
            octets = np.concatenate((np.frombuffer(self.raw, np.uint8), octets))
        floor = 1 if size and len(below) else 0
        self.given = Given(below, octets, int(self.numbers[OFFSET]), bool(self.numbers[UNSURE]), floor)
        self._ascending = bool((below.row[1:] >= below.row[:-1]).all())
        self.opened = 0
        ends = below.offset + below.length
        apart = np.flatnonzero((below.offset[1:] != ends[:-1]) | below.unsure[1:]) + 1
        edges = [0, *apart.tolist(), len(below)] if len(below) else [0]
        bounds = np.append(self.given.starts, octets.size)
        self.runs = deque((int(below.offset[i]), int(bounds[i]), int(bounds[k]), bool(below.unsure[i])) for i, k in pairwise(edges))
        self.reached = int(self.numbers[CAME]) - (size if len(below) else 0)
        self.at = self.end = 0
        if len(below):
            self.raw = b""

    def next_run(self) -> bool:
        """Go on to the octets behind a hole, if there are some; what was not decided before it is lost."""
        if not self.runs:
            return False
        offset, begin, end, unsure = self.runs.popleft()
        if offset != self.reached or unsure:
            rest, self.at = self.end - self.at, self.end
            self.hole(offset - self.reached, rest, unsure)
        self.at, self.end, self.reached = begin, end, offset + end - begin
        return True

    def ended(self) -> None:
        """What is left is held until more comes."""
        if len(self.given.below):
            self.raw = self.given.buffer[self.at : self.end].tobytes()
            self.numbers[CAME] = self.reached
        self.numbers[OFFSET], self.numbers[UNSURE] = self.given.offset, self.given.unsure

    # where things are

    def below(self, position: int) -> int:
        """The offset of an octet of the buffer in what the layer below gives."""
        piece = self.given.piece_at(position)
        return int(self.given.below.offset[piece] + position - self.given.starts[piece])

    def by(self, first: int, last: int) -> int:
        """The stretch by which octets of these stretches can be read together: the last that came."""
        if self._ascending:
            return last
        return last - int(np.argmax(self.given.below.row[first : last + 1][::-1]))

    def tell(self, kind: str, piece: int, offset: int, octets: int, detail: str | None, layer: int = 0) -> None:
        """Something that it says; read by a stretch."""
        row = int(self.given.below.row[piece])
        self.events.append(Event(self.stream, self.side, row, kind, offset, octets, detail, layer))

    @abstractmethod
    def hole(self, octets: int, rest: int, unsure: bool) -> None:
        """So many octets are missing below, or nobody knows how many, behind a `rest` that was not decided."""
