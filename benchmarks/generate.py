"""A capture of any size, made of cloned sessions, each clone with its own client address and times.

One group of sessions, interleaved by time, is laid out once; its clones are the same octets with addresses and times
patched in whole columns, so a file of some hundred megabytes takes about a second. Checksums are not updated: the
compared tools do not read them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.sessions import Session, busy, recorded

FILE_HEADER = np.array([0xA1B23C4D, 0x00040002, 0, 0, 1 << 18, 1], dtype="<u4").tobytes()
RECORD_HEADER = 16
SOURCE, TARGET = 14 + 12, 14 + 16
MEGA = 1_000_000
EPOCH_NS = 1_790_000_000_000_000_000
FIRST_CLIENT = 10 << 24
PROFILES = ("mixed", "small")


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
    of file a frame. `small`: recorded dialogues only, thousands of short connections.
    """
    dialogues = recorded("dialogue")
    if name == "small":
        return dialogues * 8
    return [busy()] * 7 + dialogues * 4 + recorded("bodies") * 2


class Group:
    """Sessions laid out as pcap records in time order, and the positions of the columns to patch."""

    def __init__(self, sessions: list[Session]) -> None:
        self.sessions = sessions
        self.frames = sum(session.frames for session in sessions)
        # Starts are spread over a tenth of a second, so connections overlap but do not begin at once.
        placed = sorted(
            (
                (packet.ns + slot * 100_000_000 // len(sessions), slot, order, packet)
                for slot, session in enumerate(sessions)
                for order, packet in enumerate(session.packets)
            ),
            key=lambda entry: entry[:3],
        )
        self.ns = np.array([entry[0] for entry in placed], dtype=np.int64)
        self.slot = np.array([entry[1] for entry in placed], dtype=np.int64)
        lengths = np.array([len(entry[3].octets) for entry in placed], dtype=np.int64)
        headers = np.zeros((len(placed), 4), dtype="<u4")
        headers[:, 2], headers[:, 3] = lengths, [entry[3].wire_octets for entry in placed]
        self.octets = np.frombuffer(
            b"".join(header.tobytes() + entry[3].octets for header, entry in zip(headers, placed, strict=True)),
            dtype=np.uint8,
        ).copy()
        self.start = np.concatenate(([0], np.cumsum(lengths + RECORD_HEADER)))[:-1]
        from_client = np.array([entry[3].from_client for entry in placed])
        self.address = self.start + RECORD_HEADER + np.where(from_client, SOURCE, TARGET)
        ip = self.start + RECORD_HEADER + 14
        head = (self.octets[ip] & 15).astype(np.int64) * 4
        total = self.octets[ip + 2].astype(np.int64) * 256 + self.octets[ip + 3]
        self.payload_octets = int((total - head - (self.octets[ip + head + 12] >> 4).astype(np.int64) * 4).sum())

    def clone(self, number: int) -> memoryview:
        """The octets of the clone of that number; valid until the next call."""
        ns = EPOCH_NS + number * (int(self.ns[-1]) + 1_000_000) + self.ns
        self._put(self.start, np.stack((ns // 1_000_000_000, ns % 1_000_000_000), axis=1).astype("<u4"))
        client = FIRST_CLIENT + 1 + number * len(self.sessions) + self.slot
        self._put(self.address, client.astype(">u4").reshape(-1, 1))
        return self.octets.data

    def _put(self, position: np.ndarray, values: np.ndarray) -> None:
        """Write the octets of each row of `values` at the position of that row."""
        octets = np.ascontiguousarray(values).view(np.uint8)
        self.octets[position[:, None] + np.arange(octets.shape[1])] = octets


def generate(path: Path, megabytes: int, name: str = "mixed") -> Made:
    """Write a capture of at least that many million octets, in whole groups, and return its counts."""
    group = Group(profile(name))
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
