"""A capture of any size, made of cloned sessions, each clone with its own client address and times.

One group of sessions, interleaved by time, is laid out once; its clones (`stompcap.generate.group`) are patched in whole columns, so
a file of some hundred megabytes takes about a second.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from benchmarks.salted import Salted
from benchmarks.sessions import busy, recorded
from stompcap.generate.group import FILE_HEADER, Group
from stompcap.generate.wire import Session

MEGA = 1_000_000
PROFILES = ("mixed", "small", "recorded")
CONVERSATIONS = ("aftermath", "dialogue", "gostomp", "heartbeats", "library", "stompest", "stompjs", "vertx", "violations")
"""Kinds of recorded captures, of many short connections each."""


@dataclass(frozen=True)
class Made:
    """What was written: octets of the file, packets, payload octets, STOMP frames, clones of sessions."""

    path: Path
    octets: int
    packets: int
    payload_octets: int
    frames: int
    clones: int


def profile(name: str) -> list[Session]:
    """The sessions of one group.

    `mixed`: long connections with many small frames, recorded short dialogues, and bodies up to 1 MiB; about 400 octets
    of file a frame. `small`: recorded dialogues only, thousands of short connections. `recorded`: what clients of many kinds said to
    three brokers, and bodies up to 1 MiB beside it, in the shares that give 2.4 frames a kilobyte; each clone's bodies are its own.
    """
    if name == "recorded":
        return [session for kind in CONVERSATIONS for session in recorded(kind) * 4] + recorded("bodies")
    dialogues = recorded("dialogue")
    if name == "small":
        return dialogues * 8
    return [busy()] * 7 + dialogues * 4 + recorded("bodies") * 2


def generate(path: Path, megabytes: int, name: str = "mixed") -> Made:
    """Write a capture of at least that many million octets, in whole groups, and return its counts."""
    group = (Salted if name == "recorded" else Group)(profile(name))
    clones = -(-(megabytes * MEGA) // len(group.octets))
    with path.open("wb") as file:
        file.write(FILE_HEADER)
        for number in range(clones):
            file.write(group.clone(number))
    return Made(
        path,
        path.stat().st_size,
        clones * len(group.start),
        clones * group.payload_octets,
        clones * group.frames,
        clones * len(group.sessions),
    )


def main() -> None:
    """Write one capture, by hand: python -m benchmarks.generate OUT.pcap --megabytes 350."""
    parser = argparse.ArgumentParser(description=generate.__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=int, default=350)
    parser.add_argument("--profile", choices=PROFILES, default="mixed")
    wanted = parser.parse_args()
    print(generate(wanted.path, wanted.megabytes, wanted.profile))


if __name__ == "__main__":
    main()
