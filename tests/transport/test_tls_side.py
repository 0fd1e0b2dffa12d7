"""One direction of TLS, fed octet by octet or with holes: whatever is given out is what was sent, at its place."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.transport.keys import NO_KEYS, KeyLog
from stompcap.transport.tls import Tls, _rounds
from stompcap.transport.tls_connection import Connection
from stompcap.transport.tls_side import Side
from tests.transport import test_websocket_frames as layered
from tests.transport.tls_traffic import SUITES, Pair

Piece = tuple[int, int, bytes]
"""A side, where octets begin in what it sends, and the octets."""


@dataclass
class Dialogue:
    """What both sides send, in order, and which octets each record carries, by where it begins."""

    pieces: list[Piece]
    carried: tuple[dict[int, bytes], dict[int, bytes]]
    keys: KeyLog

    def sent(self, side: int) -> bytes:
        return b"".join(self.carried[side].values())

    def octets(self, side: int) -> bytes:
        return b"".join(octets for of, _, octets in self.pieces if of == side)


@functools.cache
def dialogue(suite: str, seed: int = 1, count: int = 30) -> Dialogue:
    dice = random.Random(seed)
    log = str(Path(mkdtemp(prefix="stompcap-tls-")) / "keys.log")
    pair = Pair(suite, log=log)
    at, pieces, carried = [0, 0], list[Piece](), (dict[int, bytes](), dict[int, bytes]())

    def put(side: int, octets: bytes) -> None:
        pieces.append((side, at[side], octets))
        at[side] += len(octets)

    for side, octets in pair.handshake():
        put(side, octets)
    for _ in range(count):
        side, plain = dice.randrange(2), dice.randbytes(dice.choice((1, 2, 30, 200, 1500)))
        carried[side][at[side]] = plain
        put(side, pair.send(side, plain))
    for side in (0, 1):
        put(side, pair.close(side))
    return Dialogue(pieces, carried, KeyLog.of(Path(log).read_bytes()))


class Reader:
    """Both sides of a connection, which may be saved between any two pieces."""

    def __init__(self, keys: KeyLog, synced: bool = True) -> None:
        self.keys, self.kept, self.synced = keys, None, synced
        self.found: list[list[tuple[int, int, bytes, bool]]] = [[], []]
        """Of each side: where a record begins, where its octets are among those inside, the octets, and whether that is unsure."""

    def read(self, pieces: list[Piece], final: bool) -> None:
        connection = Connection.of(self.kept, self.keys)
        sides = [Side.of(self.kept, connection, side, synced=self.synced) for side in (0, 1)]
        sides[0].other, sides[1].other = sides[1], sides[0]
        for side in sides:
            side.patient = True
            side.feed(self.of(pieces, side))
        _rounds(sides)
        if final or all(side.blocked for side in sides):
            for side in sides:
                side.patient = False
            _rounds(sides)
        for side in sides:
            side.wait()
            while not side.patient:
                _rounds((side,))
                side.patient = True
                side.wait()
        for side in sides:
            given = side.given
            begins = np.concatenate(given.begins).tolist() if given.begins else []
            octets_of, ends = b"".join(given.octets), np.cumsum(np.concatenate(given.lengths)).tolist() if given.lengths else []
            for record, (begin, start, end) in enumerate(zip(begins, [0, *ends], ends, strict=False)):
                octets = octets_of[start:end]
                hidden, unsure = given.hidden.get(record, (0, False))
                self.found[side.side].append((begin, side.offset + hidden, octets, unsure))
                side.offset += hidden + len(octets)
        self.connection, self.sides = connection, sides
        numbers, octets = zip(*(side.kept() for side in sides), strict=True)
        self.kept = {**connection.kept(), "sides": np.array(numbers), **octets[0], **octets[1]}

    @staticmethod
    def of(pieces: list[Piece], side: Side) -> Iterator[tuple[int, bytes]]:
        at = side.came
        for of, begin, octets in pieces:
            if of == side.side and octets:
                yield begin - at, octets
                at = begin + len(octets)


def cut(pieces: list[Piece], at: set[int]) -> list[Piece]:
    """The same in smaller pieces."""
    out = []
    for side, begin, octets in pieces:
        edges = sorted({0, len(octets), *(one % (len(octets) + 1) for one in at)})
        out += [(side, begin + a, octets[a:b]) for a, b in pairwise(edges)]
    return out


def without(pieces: list[Piece], dice: random.Random, share: float, behind: list[int]) -> list[Piece]:
    """Some are not there. What begins before these offsets is."""
    return [one for one in pieces if one[1] < behind[one[0]] or dice.random() > share]


@pytest.mark.parametrize("suite", SUITES)
@given(st.sets(st.integers(0, 5000), max_size=6), st.sets(st.integers(0, 400), max_size=5))
def test_any_cutting_gives_what_was_sent(suite, edges, saves):
    """Cut into segments anywhere, saved and taken up between any two of them."""
    said = dialogue(suite)
    pieces = cut(said.pieces, edges)
    reader = Reader(said.keys)
    for begin, end in pairwise(sorted({0, len(pieces), *(one % len(pieces) for one in saves)})):
        reader.read(pieces[begin:end], end == len(pieces))
    for side in (0, 1):
        assert b"".join(octets for _, _, octets, _ in reader.found[side]) == said.sent(side)
        offsets = [offset for _, offset, _, _ in reader.found[side]]
        assert offsets == [sum(len(one[2]) for one in reader.found[side][:number]) for number in range(len(offsets))]
        assert reader.sides[side].closed
        assert not reader.sides[side].unopened


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_behind_gaps_nothing_is_invented_and_every_whole_record_that_can_be_found_is_given(suite, share):
    """Segments of 100 octets are lost; a record is found again if its head or that of one before it in the same stretch was captured."""
    said, found, there = dialogue(suite, count=60), 0, 0
    for seed in range(6):
        pieces = without(cut(said.pieces, set(range(0, 3000, 100))), random.Random(seed), share, [min(one) for one in said.carried])
        reader = Reader(said.keys)
        reader.read(pieces, True)
        for side in (0, 1):
            given_at = {begin: octets for begin, _, octets, _ in reader.found[side]}
            assert given_at.items() <= said.carried[side].items()
            offsets = [(offset, offset + len(octets)) for _, offset, octets, _ in reader.found[side]]
            assert all(one[1] <= two[0] for one, two in pairwise(offsets))
            captured = {at for of, begin, octets in pieces if of == side for at in range(begin, begin + len(octets))}
            ends = [*list(said.carried[side])[1:], len(said.octets(side))]
            whole = {begin for begin, end in zip(said.carried[side], ends, strict=True) if captured.issuperset(range(begin, end))}
            found, there = found + len(given_at), there + len(whole)
            assert given_at.keys() <= whole | {max(said.carried[side])}
    assert found >= 0.95 * there


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM", "1.2 ChaCha20"])
def test_one_lost_record_of_which_the_head_was_captured_hides_as_many_octets(suite):
    said = dialogue(suite, seed=4)
    side = 0
    begin = list(said.carried[side])[3]
    pieces = [one for one in cut(said.pieces, {7}) if not (one[0] == side and one[1] == begin + 7)]
    reader = Reader(said.keys)
    reader.read(pieces, True)
    rest = [one for one in reader.found[side] if one[0] > begin]
    before = sum(len(octets) for at, octets in said.carried[side].items() if at < rest[0][0])
    assert rest[0][1] == before
    assert rest[0][3] == suite.startswith("1.3")  # padding, and what is no application data, have no other heads there


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM", "1.2 ChaCha20"])
@pytest.mark.parametrize("within", [0, 3], ids=["whole records", "parts of records"])
def test_how_many_records_were_lost_is_proven_and_with_it_how_much_they_carried(suite, within):
    said = dialogue(suite, seed=5, count=60)
    first, behind = list(said.carried[0])[5] + within, list(said.carried[0])[15] + within
    whole = said.octets(0)
    pieces = [one for one in said.pieces if one[0]] + [(0, 0, whole[:first]), (0, behind, whole[behind:])]
    reader = Reader(said.keys)
    reader.read(pieces, True)
    rest = [one for one in reader.found[0] if one[0] >= behind]
    assert rest[0][1] == sum(len(octets) for at, octets in said.carried[0].items() if at < rest[0][0])
    assert rest[0][3]
    assert reader.sides[0].lost == 10 + bool(within)
    assert not len(rest) - sum(at >= behind for at in said.carried[0])


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM", "1.2 AES-128-CBC-SHA"])
def test_a_key_that_comes_later_opens_what_follows(suite):
    said = dialogue(suite)
    half = len(said.pieces) // 2
    reader = Reader(NO_KEYS)
    reader.read(said.pieces[:half], False)
    assert reader.found == [[], []]
    reader.keys = said.keys
    reader.read(said.pieces[half:], True)
    for side in (0, 1):
        first = next(begin for of, begin, _ in said.pieces[half:] if of == side)
        assert {begin: octets for begin, _, octets, _ in reader.found[side]} == {
            begin: octets for begin, octets in said.carried[side].items() if begin >= first
        }
        assert reader.found[side][0][1] > 0


@pytest.mark.parametrize("missed", ["client", "server"])
def test_without_a_hello_the_tag_tells_whose_secrets_these_are(missed):
    """TLS 1.3; the log has other connections too."""
    said, other = dialogue("1.3 AES-256-GCM"), dialogue("1.3 AES-256-GCM", seed=2)
    side = 0 if missed == "client" else 1
    hello = next(number for number, one in enumerate(said.pieces) if one[0] == side)
    reader = Reader(said.keys | other.keys)
    reader.read([one for number, one in enumerate(said.pieces) if number != hello], True)
    assert b"".join(octets for _, _, octets, _ in reader.found[1 - side]) == said.sent(1 - side)


def behind_an_outer_hello(pieces: list[Piece], random_: bytes) -> list[Piece]:
    """The same with the hello that RFC 9849 shows on the wire: a random of its own, and the extension with an encrypted hello inside."""
    _, begin, hello = pieces[0]
    assert begin == 0
    body = bytearray(hello[5:])
    body[6:38] = random_
    at = 38 + 1 + body[38]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    extension = b"\xfe\x0d" + (100).to_bytes(2, "big") + bytes(100)
    body[at : at + 2] = (int.from_bytes(body[at : at + 2], "big") + len(extension)).to_bytes(2, "big")
    body += extension
    body[1:4] = (len(body) - 4).to_bytes(3, "big")
    outer = hello[:3] + len(body).to_bytes(2, "big") + bytes(body)
    return [(0, 0, outer), *((side, begin + len(outer) - len(hello) if side == 0 else begin, octets) for side, begin, octets in pieces[1:])]


def test_behind_an_encrypted_hello_the_tag_tells_whose_secrets_these_are_and_the_event_that_one_was_offered():
    """The key log has the inner random, which nobody sees."""
    said, other = dialogue("1.3 AES-256-GCM"), dialogue("1.3 AES-256-GCM", seed=2)
    pieces = behind_an_outer_hello(said.pieces, bytes(range(32)))
    reader = Reader(said.keys | other.keys)
    reader.read(pieces, True)
    for side in (0, 1):
        assert b"".join(octets for _, _, octets, _ in reader.found[side]) == said.sent(side)
    assert reader.connection.ech
    details = [str(one) for one in reader.sides[1].events]
    assert any("Encrypted ClientHello offered" in one for one in details)


def test_a_capture_that_begins_midway_is_read():
    said, other = dialogue("1.3 AES-256-GCM"), dialogue("1.3 AES-256-GCM", seed=2)
    for skipped in (0, 5):
        begins = [next(begin for of, begin, _ in said.pieces[20:] if of == side) + skipped for side in (0, 1)]
        pieces = [(side, max(begin, begins[side]) - begins[side], octets[max(begins[side] - begin, 0):])
                  for side, begin, octets in said.pieces[20:]]  # fmt: skip
        reader = Reader(said.keys | other.keys, synced=False)
        reader.read(pieces, True)
        for side in (0, 1):
            found = b"".join(octets for _, _, octets, _ in reader.found[side])
            assert found
            assert said.sent(side).endswith(found)
            assert reader.found[side][0][1] == 0


def test_wrong_keys_open_nothing():
    said, other = dialogue("1.3 AES-256-GCM"), dialogue("1.3 AES-256-GCM", seed=2)
    [random_] = said.keys.randoms
    wrong = KeyLog({(label, random_): secret for (label, _), secret in other.keys.secrets.items()})
    reader = Reader(wrong)
    reader.read(said.pieces, True)
    assert reader.found == [[], []]


def test_what_is_kept_has_no_secret_and_nothing_that_was_opened():
    for suite in SUITES:
        said = dialogue(suite)
        for end in range(1, len(said.pieces)):
            reader = Reader(said.keys)
            reader.read(said.pieces[:end], False)
            octets = b"".join(array.tobytes() for array in reader.kept.values())
            for secret in [*said.keys.secrets.values(), *(random_ for random_ in said.keys.randoms if end > 1)]:
                assert secret not in octets
            assert all(plain not in octets for side in (0, 1) for plain in said.carried[side].values() if len(plain) > 20)


@pytest.mark.parametrize("suite", SUITES)
def test_a_record_that_comes_again_behind_octets_that_are_none_is_not_given_again(suite):
    """Its number is one that was passed. Where nonces tell numbers, what follows is read on."""
    said = dialogue(suite, seed=6)
    octets, begin = said.octets(0), list(said.carried[0])[3]
    end = min(at for at in said.carried[0] if at > begin)
    copied = octets[:end] + octets[end - 7 : end] + octets[begin:end] + octets[end:]
    reader = Reader(said.keys)
    reader.read([*(one for one in said.pieces if one[0]), (0, 0, copied)], True)
    given, sent = [plain for _, _, plain, _ in reader.found[0]], list(said.carried[0].values())
    assert given == sent[: len(given)]
    assert len(given) == (len(sent) if suite.startswith(("1.2 AES-128-GCM", "1.2 AES-256-GCM", "1.2 AES-128-CCM")) else 4)


def test_a_record_whose_tag_does_not_fit_hides_octets_whatever_its_head_says():
    said = dialogue("1.2 AES-128-GCM", seed=6)
    begin = list(said.carried[0])[3]
    octets = said.octets(0)
    reader = Reader(said.keys)
    reader.read([*(one for one in said.pieces if one[0]), (0, 0, octets[:begin] + b"\x15" + octets[begin + 1 :])], True)
    assert [unsure for *_, unsure in reader.found[0]] == [at == 3 for at in range(len(said.carried[0]) - 1)]


def test_what_waits_for_the_other_side_s_hello_is_read_by_what_comes_of_it_a_step_later():
    said = dialogue("1.3 AES-256-GCM")
    pieces = [(1, 0, said.octets(1)), (0, 0, said.octets(0))]
    layer, found = Tls(), []
    for steps in (1, 2):
        given, events, lengths, kept = layered.read(pieces, steps, layer=layer, keys=lambda: said.keys)
        assert [layered.text(one) for one in given] == [said.sent(side) for side in (0, 1)]
        found.append((events, lengths, layer.summaries(kept)))
    assert found[0] == found[1]
