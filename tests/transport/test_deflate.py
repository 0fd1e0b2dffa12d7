"""Messages of permessage-deflate: as zlib has them where all is known, and what is certain where octets before them are missing."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.transport.deflate import Inflater, inflates, tells_secrets, without_secrets

MOST = 1 << 20
SOME = [b"\n", b"MESSAGE\nsubscription:1\nmessage-id:7\n\nhello\0", b"a" * 40_000]
MESSAGES = st.lists(st.binary(max_size=200) | st.sampled_from(SOME), max_size=12)


def packed(messages, bits=15, level=6, takeover=True):
    found, machine = [], None
    for one in messages:
        if machine is None or not takeover:
            machine = zlib.compressobj(level, zlib.DEFLATED, -bits)
        found.append((machine.compress(one) + machine.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\0\0\xff\xff"))
    return found


def restored(one: Inflater) -> Inflater:
    return Inflater(one.takeover, one.most, 15, one.window, one.other)


@given(MESSAGES, st.integers(9, 15), st.integers(0, 9), st.booleans(), st.booleans())
def test_messages_are_what_was_deflated(messages, bits, level, takeover, saved):
    reads = Inflater(takeover, MOST)
    for message, octets in zip(messages, packed(messages, bits, level, takeover), strict=True):
        found = reads.message(octets)
        assert (found.octets, found.length) == (message, len(message))
        reads = restored(reads) if saved else reads


@given(MESSAGES, st.integers(0, 5), st.booleans())
def test_behind_a_hole_lengths_are_right_and_no_octet_that_is_given_is_wrong(messages, lost, saved):
    reads = Inflater(True, MOST)
    reads.forget()
    for message, octets in list(zip(messages, packed(messages), strict=True))[lost:]:
        found = reads.message(octets)
        assert found.length == len(message)
        assert found.octets in (None, message)
        assert found.octets is not None or len(message) > 1
        reads = restored(reads) if saved else reads


def test_all_is_known_again_where_the_last_window_is():
    dice = random.Random(1)
    messages = [b"hello " * 20, *(dice.randbytes(5000) for _ in range(8)), b"hello " * 20]
    octets = packed(messages)
    reads = Inflater(True, MOST)
    reads.forget()
    known = []
    for one in octets[1:]:
        reads.message(one)
        known.append(reads.known)
    assert known == [False] * 6 + [True] * 3


def test_without_takeover_a_hole_costs_nothing_more():
    reads = Inflater(False, MOST)
    reads.forget()
    assert reads.message(packed([b"hello"])[0]).octets == b"hello"


def test_a_last_block_ends_nothing():
    machine = zlib.compressobj(6, zlib.DEFLATED, -15)
    first = machine.compress(b"hello hello hello") + machine.flush(zlib.Z_FINISH) + b"\0"
    second = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=b"hello hello hello")
    octets = (second.compress(b"hello again") + second.flush(zlib.Z_SYNC_FLUSH))[:-4]
    reads = Inflater(True, MOST)
    assert [reads.message(one).octets for one in (first, octets)] == [b"hello hello hello", b"hello again"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_bomb_is_not_inflated(keep):
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = machine.compress(bytes(64 << 20)) + machine.flush(zlib.Z_SYNC_FLUSH)
    assert len(bomb) < 70_000
    reads = Inflater(True, MOST)
    found = reads.message(bomb[:-4], keep)
    assert (found.length, found.octets, found.reason) == (-1, None, f"more than {MOST} octets")
    assert not reads.known


def test_of_messages_that_are_not_kept_the_length_is_told_and_the_window_is_right():
    messages = [b"hello " * 1000, b"hello " * 3]
    octets = packed(messages)
    reads = Inflater(True, MOST)
    found = reads.message(octets[0], keep=False)
    assert (found.length, found.octets) == (len(messages[0]), None)
    assert reads.message(octets[1]).octets == messages[1]


@given(st.binary(max_size=100))
def test_whatever_is_no_message_is_told(octets):
    reads = Inflater(True, MOST)
    found = reads.message(octets)
    assert (found.length < 0) == (found.reason is not None)
    if inflates(octets) and found.reason is None:
        assert found.length > 0


def test_secrets_leave_a_window():
    window = b"CONNECT\nlogin:anna\npasscode:s3cret\n\n\0MESSAGE\n\ns3cret and anna\0SEND\npasscode:half"
    found = without_secrets(window, {b"s3cret"})
    assert found == b"CONNECT\nlogin:anna\npasscode:******\n\n\0MESSAGE\n\n****** and anna\0SEND\npasscode:****"


@pytest.mark.parametrize(("octets", "tells"), [
    (b"SEND\n\nhello\0", False), (b"SEND\n\ns3cret\0", True), (b"SEND\n\nhello s3c", True), (b"SEND\n\nhello s3", False),
    (b"CONNECT\nPassCode", True),
])  # fmt: skip
def test_what_tells_a_secret(octets, tells):
    assert tells_secrets(octets, {b"s3cret"}) == tells
