"""Ways in which the packets of one capture come to files that lose their order: by card, by clock, by buffer, by rotation.

Each takes a recorded capture to files, run by run. Frames and their times are as recorded but where a shape moves a clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stompcap.options import STOMP_PORTS
from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.mangler.taken_apart import records

MS = 1_000_000
Runs = list[list[Path]]


@dataclass(frozen=True)
class Shape:
    """`files` of a capture in a folder. `times`: all packets have the times that they had; `shift_ns`: how far a clock is off at most."""

    files: Callable[[Path, Path], Runs]
    times: bool = True
    shift_ns: int = 0


def recorded(path: Path) -> list[Frame]:
    """The frames of a recorded capture."""
    return [Frame(octets, ts_ns) for ts_ns, octets in records(path.read_bytes())]


def to_server(frame: Frame) -> bool:
    """Whether a frame is sent to a port of brokers: Ethernet, IPv4 without options, TCP."""
    return int.from_bytes(frame.octets[36:38], "big") in STOMP_PORTS


def written(folder: Path, name: str, frames: Sequence[Frame]) -> Path:
    """A file of frames."""
    return p.pcap(folder / name, frames, nano=True)


def file_a_direction(early_ns: int = 0, runs: int = 1, parts: int = 1) -> Shape:
    """A tap with two cards: one has what goes to the server, the other what comes from it, by a clock that is `early_ns` fast.

    In several `runs` the cards' files come one after the other; in `parts` each card's files rotate.
    """

    def files(path: Path, folder: Path) -> Runs:
        frames = recorded(path)
        sides: list[list[Path]] = []
        for name, mine in (("client", True), ("server", False)):
            own = [one if mine else replace(one, ts_ns=one.ts_ns + early_ns) for one in frames if to_server(one) == mine]
            size = -(-len(own) // parts)
            pieces = [own[at : at + size] for at in range(0, len(own), size)]
            sides.append([written(folder, f"{name}_{number:05}.pcap", piece) for number, piece in enumerate(pieces)])
        return sides if runs > 1 else [sides[0] + sides[1]]

    return Shape(files, times=early_ns == 0, shift_ns=abs(early_ns))


def swapped(share: float, seed: int = 7, across: bool = False) -> Shape:
    """One file in which neighbours stand the other way, with their own times; `across`: of both directions only."""

    def files(path: Path, folder: Path) -> Runs:
        frames, dice = recorded(path), random.Random(seed)
        at = 0
        while at + 1 < len(frames):
            if dice.random() < share and (not across or to_server(frames[at]) != to_server(frames[at + 1])):
                frames[at], frames[at + 1] = frames[at + 1], frames[at]
                at += 1
            at += 1
        return [[written(folder, "swapped.pcap", frames)]]

    return Shape(files)


def rotated(parts: int, back_ns: int, runs: int = 1, *, once: bool = False) -> Shape:
    """Files one after the other, before each of which the clock steps back; or only `once`, before the second."""

    def files(path: Path, folder: Path) -> Runs:
        frames = recorded(path)
        size = -(-len(frames) // parts)
        found = []
        for number in range(parts):
            back = (min(number, 1) if once else number) * back_ns
            some = [replace(one, ts_ns=one.ts_ns - back) for one in frames[number * size : (number + 1) * size]]
            if some:
                found.append(written(folder, f"capture_{number:05}.pcap", some))
        return [[one] for one in found] if runs > 1 else [found]

    return Shape(files, times=False)


SHAPES = {
    "a file a direction": file_a_direction(),
    **{f"a file a direction, {ms} ms {word}": file_a_direction(round(sign * ms * MS)) for ms in (0.2, 1, 3)
       for word, sign in (("late", 1), ("early", -1))},
    "a file a direction, rotated": file_a_direction(parts=3),
    "neighbours swapped": swapped(0.1),
    "neighbours of both directions swapped": swapped(0.5, across=True),
    "rotated, a step back of 2 ms": rotated(4, 2 * MS),
    "rotated, a step back of 50 ms": rotated(3, 50 * MS, once=True),
    "rotated, a step back of a second": rotated(4, 1000 * MS),
    "rotated, a step back of an hour": rotated(4, 3600 * 1000 * MS),
}  # fmt: skip
IN_RUNS = {
    "a file a direction, 3 ms late, in two runs": file_a_direction(3 * MS, runs=2),
    "a file a direction, 3 ms early, in two runs": file_a_direction(-3 * MS, runs=2),
    "rotated, a step back of 50 ms, in three runs": rotated(3, 50 * MS, runs=3, once=True),
    "rotated, a step back of a second, in four runs": rotated(4, 1000 * MS, runs=4),
    "rotated, a step back of an hour, in four runs": rotated(4, 3600 * 1000 * MS, runs=4),
}
