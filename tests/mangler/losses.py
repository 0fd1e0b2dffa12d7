"""Captures that lack something: packets lost at random, or cut by a snapshot length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.capture.packaging import Frame
from tests.mangler.encapsulations import ANY_IP, Encapsulation
from tests.mangler.segmentations import Change, Segments
from tests.mangler.taken_apart import Segment


def lost(share: float, seed: int) -> Change:
    """A share of the packets was not captured."""

    def lose(packets: Sequence[Segment]) -> Segments:
        dice = random.Random(f"{share} {seed}")
        return [one for one in packets if dice.random() >= share]

    return lose


def cut_at(snaplen: int, encapsulation: Encapsulation = ANY_IP["ethernet"]) -> Encapsulation:
    """Frames of which at most that many octets were captured."""

    def frames(one: Segment) -> list[Frame]:
        return [replace(frame, octets=frame.octets[:snaplen], original=len(frame.octets)) for frame in encapsulation.frames(one)]

    return Encapsulation(encapsulation.link, frames)
