"""How connections end: FINs and RSTs, in any order, believed or not."""

import pytest

from tests.tcp.wire import Wire


def test_a_reset_ends_both_sides(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").s(0, flags="RA", ack=2).read(tmp_path)
    assert (one.c2s, one.close, one.history) == (b"AB", ("rst", 1), "ShADr")


def test_a_refused_connection(tmp_path):
    (one,) = Wire().c(-1, flags="S", ack=None).put(1, 0, flags="RA", ack=0, seq=0).read(tmp_path)
    assert (one.close, one.octets, one.history) == (("rst", 1), [0, 0], "Sr")


def test_a_reset_outside_the_window_ends_nothing(tmp_path):
    wire = Wire().handshake().c(0, b"AB").put(0, 0, flags="R", seq=3_000_000_000).c(2, b"CD")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.close) == (b"ABCD", ("open", -1))


def test_a_reset_may_carry_octets(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").s(0, b"go away", flags="RA", ack=2).read(tmp_path)
    assert (one.s2c, one.close) == (b"go away", ("rst", 1))


def test_octets_in_flight_when_a_reset_comes_are_kept(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").s(0, flags="R").c(2, b"CD").read(tmp_path)
    assert (one.c2s, one.close) == (b"ABCD", ("rst", 1))


def test_half_close(tmp_path):
    wire = Wire().handshake().c(0, b"AB", "FA").s(0, ack=3).s(0, b"late", ack=3).s(4, flags="FA", ack=3).c(3, ack=5)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.close) == (b"AB", b"late", ("fin", 0))


def test_both_close_at_once(tmp_path):
    (one,) = Wire().handshake().c(0, flags="FA").s(0, flags="FA").c(1, ack=1).s(1, ack=1).read(tmp_path)
    assert one.close == ("fin", 2)


@pytest.mark.parametrize(
    ("ends", "close", "reset"),
    [
        # of each side and flags in the order of the wire: what came first, whose it was, whose RST came first
        ((0, "FA", 1, "RA"), ("fin", 0), 1),
        ((0, "FA", 0, "RA"), ("fin", 0), 0),
        ((1, "FA", 0, "RA"), ("fin", 1), 0),
        ((1, "RA", 0, "FA"), ("rst", 1), 1),
        ((0, "RA", 1, "RA"), ("rst", 0), 0),
        ((1, "FA", 0, "RA", 1, "RA"), ("fin", 1), 0),
        ((0, "FA", 1, "FA", 0, "R"), ("fin", 0), 0),
        ((0, "FA", 1, "FA"), ("fin", 0), -1),
    ],
)
def test_the_first_fin_or_rst_is_the_close(tmp_path, ends, close, reset):
    wire, sent = Wire().handshake().c(0, b"AB").s(0, ack=2), [2, 0]
    for side, flags in zip(ends[::2], ends[1::2], strict=True):
        wire.put(side, sent[side], flags=flags, ack=sent[1 - side])
        sent[side] += "F" in flags
    (one,) = wire.read(tmp_path)
    assert (one.close, one.reset) == (close, reset)


def test_a_fin_that_was_not_taken_leaves_the_close_to_the_reset(tmp_path):
    (one,) = Wire().handshake().c(0, flags="FA").s(0, flags="RA", ack=0).c(0, b"ABCD").s(0, b"x", ack=4).read(tmp_path)
    assert (one.close, one.reset) == (("rst", 1), 1)


LOST = [
    # what a RST says: of which side, how far behind what was captured, what it acknowledges beyond that; missing octets of both sides
    (0, 4, 0, [4, 0]),
    (1, 0, 4, [4, 0]),
    (1, 3, 4, [4, 3]),
    (0, 1, 0, [0, 0]),  # a FIN, or an octet
    (0, 0, 1, [0, 0]),
    (0, 0, 0, [0, 0]),
    (0, -2, 0, [0, 0]),
    (0, 1 << 25, 0, [0, 0]),  # forged
]


@pytest.mark.parametrize(("side", "ahead", "heard", "missing"), LOST)
def test_a_reset_shows_what_is_missing_before_it(tmp_path, side, ahead, heard, missing):
    wire, sent = Wire().handshake().c(0, b"AB").s(0, b"xyz", ack=2), (2, 3)
    wire.put(side, sent[side] + ahead, flags="RA", ack=sent[1 - side] + heard)
    (one,) = wire.read(tmp_path)
    assert (one.gap, one.octets) == (missing, [2 + missing[0], 3 + missing[1]])


def test_of_several_resets_the_first_tells(tmp_path):
    """Who forges a RST sends some, further and further into the window."""
    (one,) = Wire().handshake().c(0, b"AB").c(2, flags="RA").c(1462, flags="RA").c(4382, flags="RA").read(tmp_path)
    assert (one.gap, one.close) == ([0, 0], ("rst", 0))


def test_nobody_is_said_to_have_closed_where_the_other_fin_may_have_been_lost(tmp_path):
    """The server's FIN acknowledges one octet more than was captured of the client: its FIN, or an octet."""
    (one,) = Wire().handshake().c(0, b"AB").s(0, flags="FA", ack=3).c(3, ack=1).read(tmp_path)
    assert one.close == ("fin", -1)
    (late,) = Wire().handshake().c(0, b"AB").s(0, flags="FA", ack=3).c(2, b"C", ack=1).read(tmp_path)
    assert late.close == ("fin", 1)
    (other,) = Wire().handshake().c(0, b"AB").s(0, flags="FA", ack=3).c(2, flags="FA", ack=0).read(tmp_path)
    assert other.close == ("fin", 2)


def test_a_fin_sent_again_and_octets_behind_it_change_nothing(tmp_path):
    wire = Wire().handshake().c(0, b"AB", "FA").s(0, flags="FA", ack=3).c(0, b"AB", "FA").c(2, flags="FA", ack=1).c(3, b"beyond", ack=1)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.octets, one.close, one.again) == (b"AB", [2, 0], ("fin", 0), [2, 0])


def test_octets_of_both_sides_behind_a_reset_are_kept_in_place(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, b"xy", ack=2).s(2, flags="R").c(2, b"CD", ack=2).s(2, b"z", ack=2)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.close) == (b"ABCD", b"xyz", ("rst", 1))


@pytest.mark.parametrize("flags", ["FA", "SF"])
def test_a_fin_that_the_peer_did_not_take_ends_nothing(tmp_path, flags):
    wire = Wire().handshake() if flags == "FA" else Wire().s(-1, flags="SA")
    wire.c(0 if flags == "FA" else -1, flags=flags, ack=0 if flags == "FA" else None).c(0, b"ABCD").s(0, b"x", ack=4)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.close, one.strays) == (b"ABCD", b"x", ("open", -1), [0, 0])


def test_a_fin_sent_again_behind_more_octets_that_are_acknowledged(tmp_path):
    wire = Wire().handshake().c(0, b"AB", "FA").c(0, b"ABCD", "FA").s(0, ack=5).s(0, flags="FA", ack=5).c(5, ack=1)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.close, one.again) == (b"ABCD", ("fin", -1), [2, 0])  # a FIN of the client was acknowledged first


def test_segments_captured_behind_the_fin_are_kept_below_it(tmp_path):
    wire = Wire().handshake().c(4, flags="FA").c(2, b"CD").c(0, b"AB").c(4, b"beyond")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.strays) == (b"ABCD", [1, 0])
