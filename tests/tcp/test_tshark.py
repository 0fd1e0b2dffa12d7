"""Random connections, put together here and by tshark: the same octets in each direction.

What tshark is known to do otherwise is left out: streams without SYN or with holes, ports used again, differing copies of octets
that wait for those before them.
"""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from stompcap.tcp import reassemble
from tests.capture.packaging import Frame, pcap
from tests.examples import every
from tests.mangler.encapsulations import ethernet
from tests.mangler.segmentations import over_ipv6
from tests.mangler.taken_apart import ACK, FIN, PSH, RST, SYN, Segment
from tests.shared import program

CLIENT, SERVER = bytes([10, 0, 0, 9]), bytes([10, 0, 0, 1])
START_NS = 1_700_000_000_000_000_000
CONNECTIONS = 40


class Talk:
    """One connection of random segments in wire order; sides are 0, the client, and 1."""

    def __init__(self, number: int, dice: Random) -> None:
        self.dice = dice
        self.port = 20_000 + number
        self.isn = [dice.choice((dice.getrandbits(32), 2**32 - dice.randrange(1, 400), 2**31 - dice.randrange(400))) for _ in range(2)]
        self.sent = [0, 0]  # octets of each side so far
        self.segments: list[Segment] = []
        self.ns = START_NS + number * 1_000_000_000

    def put(self, side: int, offset: int, payload: bytes = b"", flags: int = ACK) -> None:
        """One segment; `offset` counts from the first octet of its side's stream."""
        ends = (CLIENT, self.port), (SERVER, 61613)
        (src, sport), (dst, dport) = ends[side], ends[1 - side]
        ack = (self.isn[1 - side] + 1 + self.sent[1 - side]) % 2**32 if flags & ACK else 0
        seq = (self.isn[side] + 1 + offset) % 2**32
        self.ns += self.dice.randrange(20_000_000)
        self.segments.append(Segment(self.ns, src, dst, sport, dport, seq, ack, flags, 1000, b"", payload, len(self.segments), 64))

    def open(self) -> None:
        """SYN, SYN-ACK, ACK; one of them twice now and then."""
        for side, flags in ((0, SYN), (1, SYN | ACK)):
            for _ in range(self.dice.choice((1, 1, 1, 2))):
                self.put(side, -1, b"", flags)
        self.put(0, 0)

    def burst(self) -> None:
        """Some new octets of a side in segments that overlap, swap and come again, with other octets at times; then all is acknowledged."""
        side, dice = self.dice.randrange(2), self.dice
        octets = dice.randbytes(dice.randrange(1, 300))
        edges = sorted({0, len(octets), *(dice.randrange(len(octets) + 1) for _ in range(4))})
        pieces = list(pairwise(edges))
        again = [dice.randrange(len(octets)) for _ in range(dice.randrange(3))]
        pieces += [(begin, min(len(octets), begin + dice.randrange(2, 60))) for begin in again]
        dice.shuffle(pieces)
        known = [False] * len(octets)
        for begin, end in pieces:
            other = dice.randbytes(end - begin) if dice.random() < 0.3 else octets[begin:end]
            held = known.index(False) if False in known else len(known)  # in order so far
            payload = bytes(other[i - begin] if i < held else octets[i] for i in range(begin, end))
            known[begin:end] = [True] * (end - begin)
            self.put(side, self.sent[side] + begin, payload, ACK | PSH)
        self.sent[side] += len(octets)
        self.put(1 - side, self.sent[1 - side])

    def again(self) -> None:
        """Octets that were acknowledged long ago: a keep-alive."""
        side = self.dice.randrange(2)
        if self.sent[side]:
            self.put(side, self.sent[side] - 1, b"\0")
            self.put(1 - side, self.sent[1 - side])

    def close(self) -> None:
        """FIN and FIN, crossing at times, or RST, or nothing."""
        how = self.dice.randrange(4)
        if how < 2:
            self.put(0, self.sent[0], b"", FIN | ACK)
            self.put(1, self.sent[1], b"", FIN | ACK)
        elif how == 2:
            side = self.dice.randrange(2)
            self.put(side, self.sent[side], b"", RST | ACK)


def talk(number: int, dice: Random) -> list[Segment]:
    """The segments of one random connection."""
    one = Talk(number, dice)
    one.open()
    for _ in range(dice.randrange(1, 8)):
        dice.choice((one.burst, one.burst, one.burst, one.again))()
    one.close()
    return over_ipv6(one.segments) if dice.random() < 0.3 else one.segments


def followed(path: Path, streams: int) -> list[tuple[bytes, bytes]]:
    """(client's octets, server's octets) of each connection as tshark puts them together."""
    asked = [word for number in range(streams) for word in ("-z", f"follow,tcp,raw,{number}")]
    said = subprocess.run([program("tshark"), "-r", path, "-q", *asked], capture_output=True, text=True, check=True).stdout
    found = {}
    for part in said.split("Follow: tcp,raw\n")[1:]:  # in whatever order
        asked_for, _, _, *lines = part.split("\n")
        lines = lines[: next(i for i, line in enumerate(lines) if line.startswith("==="))]
        sides = [b"".join(bytes.fromhex(line.strip()) for line in lines if line.startswith("\t") == bool(side)) for side in (0, 1)]
        found[int(asked_for.split()[-1])] = sides[0], sides[1]
    return [found[number] for number in range(streams)]


def compared(folder: Path, seed: int) -> None:
    dice = Random(seed)
    talks = [talk(number, dice) for number in range(CONNECTIONS)]
    frames = [Frame(ethernet(one.ip), one.ts_ns) for segments in talks for one in segments]
    path = pcap(folder / f"{seed}.pcap", frames, nano=True)
    ours = [tuple(b"".join(octets for _, octets in side.chunks) for side in (one.c2s, one.s2c)) for one in reassemble(str(path))]
    assert len(ours) == CONNECTIONS
    theirs = followed(path, CONNECTIONS)
    assert [i for i, pair in enumerate(ours) if pair != theirs[i]] == []


def test_random_connections_are_followed_alike(tmp_path):
    compared(tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", every(3, range(2, 14)))
def test_many_random_connections_are_followed_alike(seed, tmp_path):
    compared(tmp_path, seed)
