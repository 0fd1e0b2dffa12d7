"""WebSockets with other octets than were sent: whatever comes is read alike however it comes, and nothing is invented.

Each case is a dialogue behind a handshake, with or without compression, of which octets are changed, put in, left out and sent twice, or of
which pieces are lost. What holds of all: no exception; what is given tiles each direction (`read` asserts it); the same octets in one step
and in several give the same octets, holes, events, lengths and checks. Where pieces were lost and nothing else, what is given was said, in
its order, and no rule is broken.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.examples import THOROUGH, slow_behind
from tests.transport.in_websocket import Writer, answer, frame, request
from tests.transport.test_checks import checks
from tests.transport.test_websocket_frames import DEFLATE, cut, joined, message, read

CASES = 20_000 if THOROUGH or "FUZZ_FILES" in os.environ else 160
GROUPS = 8
EXTENSIONS = ("", DEFLATE, f"{DEFLATE}; server_no_context_takeover", f"{DEFLATE}; client_no_context_takeover")
LIKELY = (b"\x81", b"\xc1", b"\x82", b"\0", b"\x7e", b"\x7f", b"\xff", b"\x88\x02\x03\xe8", b"\x89\0", b"\x8a\x05", b"\n")
"""Octets that mean something in a head."""


def dialogue(dice: random.Random, extensions: str):
    """The heads, and both sides' frames: as said, and in pieces."""
    heads = request(), answer(*([f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []))
    said, wire = [], []
    for side, name in enumerate(("client", "server")):
        takeover = f"{name}_no_context_takeover" not in extensions
        writer = Writer(side == 0, dice.randrange(99), dice.randint(1, 3), dice.random() < 0.3, bool(extensions), takeover)
        messages = [message(dice, k) if dice.random() < 0.7 else b"\n" for k in range(dice.randint(1, 12))]
        octets = b"".join(writer.message(one) for one in messages)
        if dice.random() < 0.3:
            octets += frame(b"\x03\xe8", 8, mask=writer.mask())
        said.append(b"".join(messages))
        wire.append(octets)
    return heads, said, wire


def changed(dice: random.Random, octets: bytes) -> bytes:
    """The same with a change."""
    at, size = dice.randrange(len(octets) + 1), dice.choice((1, 1, 2, 7, 40))
    some = dice.choice(LIKELY) if dice.random() < 0.6 else dice.randbytes(size)
    kind = dice.randrange(5)
    if kind == 0:
        return octets[:at] + some + octets[at + len(some) :]
    if kind == 1:
        return octets[:at] + some + octets[at:]
    if kind == 2:
        return octets[:at] + octets[at + size :]
    if kind == 3:
        return octets[:at] + octets[max(0, at - size) :]
    bit = bytes([octets[at] ^ 1 << dice.randrange(8)]) if at < len(octets) else b""
    return octets[:at] + bit + octets[at + 1 :]


def in_pieces(dice: random.Random, heads, wire, lost: float):
    pieces = []
    for side in (0, 1):
        cuts = sorted(dice.sample(range(len(wire[side]) + 1), min(len(wire[side]), dice.randint(0, 12))))
        pieces += [one for one in cut(side, wire[side], cuts, len(heads[side])) if one[2] and dice.random() >= lost]
    return [(0, 0, heads[0]), (1, 0, heads[1]), *sorted(pieces, key=lambda one: one[1])]


def runs(parts) -> list[bytes]:
    """Octets that are given without a hole between them."""
    found, ends = [], None
    for offset, part, _ in parts:
        if offset != ends or not found:
            found.append(b"")
        found[-1] += part
        ends = offset + len(part)
    return found


def one_case(seed: int) -> None:
    dice = random.Random(seed)
    heads, said, wire = dialogue(dice, dice.choice(EXTENSIONS))
    only_lost = dice.random() < 0.3
    if not only_lost:
        for _ in range(dice.randint(1, 6)):
            side = dice.randrange(2)
            wire[side] = changed(dice, wire[side])
    pieces = in_pieces(dice, heads, wire, dice.choice((0.1, 0.3)) if only_lost or dice.random() < 0.3 else 0)
    given, events, lengths, kept = read(pieces)
    again, same, others, left = read(pieces, dice.randint(2, max(2, len(pieces))))
    assert [joined(one) for one in again] == [joined(one) for one in given]
    assert (same, others, checks(left)) == (events, lengths, checks(kept))
    if only_lost:
        for side in (0, 1):
            at = 0
            for run in runs(given[side]):
                found = said[side].find(run, at)
                assert found >= 0, run
                at = found + len(run)
        assert not [key for key, outcome in checks(kept).items() if outcome == "broken" and key[0] != "close_answer"]


@pytest.mark.parametrize("group", slow_behind(2, range(GROUPS)))
def test_other_octets_are_read_alike_and_nothing_is_invented(group: int) -> None:
    wrong = []
    for seed in range(group, CASES, GROUPS):
        try:
            one_case(seed)
        except Exception as error:  # noqa: BLE001 - each is told by its seed
            wrong.append(f"seed {seed}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, "\n".join(wrong[:20])
