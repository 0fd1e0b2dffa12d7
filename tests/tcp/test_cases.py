"""The cases an off-line reassembler meets, one test each."""

import pytest

from tests.capture.packaging import pcap
from tests.tcp.wire import START_NS, STEP_NS, Wire, streams_of


def test_a_plain_connection(tmp_path):
    wire = Wire().handshake().c(0, b"hello", "PA").s(0, b"world!", "PA", ack=5).c(5, ack=6)
    wire.c(5, flags="FA", ack=6).s(6, flags="FA", ack=6).c(6, ack=7)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.octets, one.gap) == (b"hello", b"world!", [5, 6], [0, 0])
    assert (one.history, one.close, one.synced) == ("ShADdFf", ("fin", 0), [True, True])
    assert (one.segments, one.again, one.out_of_order, one.strays) == ([1, 1], [0, 0], [0, 0], [0, 0])


def test_missing_syn_starts_at_the_smallest_number_of_the_first_window(tmp_path):
    (one,) = Wire().c(10, b"world").c(5, b"hello").s(7, b"x").read(tmp_path)
    assert (one.c2s, one.s2c, one.synced, one.history) == (b"helloworld", b"x", [False, False], "Dd")


def test_a_synack_alone_tells_where_both_streams_begin(tmp_path):
    (one,) = Wire().s(-1, flags="SA").c(3, b"lo").s(0, b"x").read(tmp_path)
    assert (one.chunks[0], one.gap, one.synced) == ([(3, b"lo")], [3, 0], [True, True])


@pytest.mark.parametrize("isn", [2**32 - 1, 2**32 - 3, 2**32 - 7, 2**31 - 3])
def test_sequence_wrap(tmp_path, isn):
    wire = Wire(isn, isn).handshake()
    for i in range(0, 20, 4):
        wire.c(i, b"%04d" % i).s(i, b"%04d" % i, ack=i + 4)
    (one,) = wire.c(20, flags="FA").s(20, flags="FA").read(tmp_path)
    assert one.c2s == one.s2c == b"00000004000800120016"


def test_more_than_the_sequence_space(tmp_path):
    wire = Wire().handshake()
    step = 900_000_000  # the capture lost most of it
    for i in range(8):
        wire.c(i * step, b"x", "PA").c(i * step + 1, b"y", "PA").s(0, ack=i * step + 2)
    (one,) = wire.read(tmp_path)
    assert [offset for offset, _ in one.chunks[0]] == [i * step for i in range(8)]


def test_out_of_order(tmp_path):
    (one,) = Wire().handshake().c(6, b"GHI").c(3, b"DEF").c(0, b"ABC").c(9, b"J").read(tmp_path)
    assert (one.c2s, one.out_of_order, one.again) == (b"ABCDEFGHIJ", [2, 0], [0, 0])


def test_retransmission_of_the_same_octets(tmp_path):
    (one,) = Wire().handshake().c(0, b"ABC").c(0, b"ABC").c(1, b"BCDE").read(tmp_path)
    assert (one.c2s, one.again, one.conflicts, one.resent) == (b"ABCDE", [5, 0], [0, 0], 2)


@pytest.mark.parametrize(("overlap", "kept"), [("first", b"GOOD"), ("last", b"EVIL")])
def test_overlap_with_other_octets(tmp_path, overlap, kept):
    (one,) = Wire().handshake().c(0, b"GOOD").c(0, b"EVIL").read(tmp_path, overlap)
    assert (one.c2s, one.again, one.conflicts) == (kept, [4, 0], [4, 0])


@pytest.mark.parametrize(("overlap", "kept"), [("first", b"GOOD"), ("last", b"GXXX")])
def test_partial_overlap_with_other_octets(tmp_path, overlap, kept):
    (one,) = Wire().handshake().c(0, b"GOOD").c(1, b"XXX").read(tmp_path, overlap)
    assert (one.c2s, one.conflicts) == (kept, [3, 0])


def test_a_segment_that_spans_others_fills_only_the_holes(tmp_path):
    wire = Wire().handshake().c(2, b"cd").c(6, b"gh").c(0, b"ABCDEFGHIJ").c(4, b"..")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.again, one.conflicts) == (b"ABcdEFghIJ", [6, 0], [6, 0])


def test_a_gap_is_explicit_and_what_follows_is_kept(tmp_path):
    wire = Wire().handshake().c(0, b"ABC").c(10, b"KLM").s(0, ack=13).c(13, flags="FA")
    (one,) = wire.read(tmp_path)
    assert (one.chunks[0], one.octets[0], one.gap[0]) == ([(0, b"ABC"), (10, b"KLM")], 13, 7)
    assert one.history.endswith("G")


def test_a_gap_without_any_acknowledgement_captured(tmp_path):
    wire = Wire().c(-1, flags="S", ack=None).c(0, b"ABC").c(1000, b"KLM")
    (one,) = wire.read(tmp_path)
    assert (one.chunks[0], one.gap[0]) == ([(0, b"ABC"), (1000, b"KLM")], 997)


def test_octets_lost_at_the_beginning_and_at_the_end(tmp_path):
    wire = Wire().handshake().c(4, b"EFGH").s(0, ack=20)
    (one,) = wire.read(tmp_path)
    assert (one.chunks[0], one.octets[0], one.gap[0]) == ([(4, b"EFGH")], 20, 16)


def test_the_fin_tells_the_true_length(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").c(9, flags="FA").c(9, flags="FA").read(tmp_path)
    assert (one.octets[0], one.gap[0]) == (9, 7)


def test_an_acknowledged_fin_that_was_not_captured_is_no_gap(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").s(0, ack=3).read(tmp_path)
    assert (one.c2s, one.gap) == (b"AB", [0, 0])


def test_the_snapshot_length_leaves_gaps(tmp_path):
    wire = Wire().handshake().c(0, b"ABCDEF", cut=2).c(6, b"GHI").c(9, b"JKL", cut=3)
    (one,) = wire.read(tmp_path)
    assert one.chunks[0] == [(0, b"ABCD"), (6, b"GHI")]
    assert (one.octets[0], one.gap[0], one.truncated[0]) == (12, 5, 5)


def test_a_truncated_tail_yields_to_a_retransmission(tmp_path):
    (one,) = Wire().handshake().c(0, b"ABCDEF", cut=3).c(2, b"CDEF").read(tmp_path)
    assert (one.c2s, one.gap[0], one.truncated[0], one.again[0]) == (b"ABCDEF", 0, 0, 1)


@pytest.mark.parametrize("payload", [b"", b"\0"])
def test_keep_alives_are_ignored(tmp_path, payload):
    wire = Wire().handshake().c(0, b"ABC").s(0, ack=3).c(2, payload).s(0, ack=3).c(2, payload).c(3, b"D")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.conflicts, one.again, one.resent, one.segments[0]) == (b"ABCD", [0, 0], [0, 0], 0, 2)


def test_a_keep_alive_before_any_octet(tmp_path):
    (one,) = Wire().handshake().c(-1, b"\0").s(0, ack=0).c(0, b"AB").read(tmp_path)
    assert (one.c2s, one.conflicts, one.strays) == (b"AB", [0, 0], [0, 0])


def test_one_octet_sent_again_before_its_acknowledgement_is_a_retransmission(tmp_path):
    (one,) = Wire().handshake().c(0, b"\n").c(0, b"\n").s(0, ack=1).read(tmp_path)
    assert (one.c2s, one.again, one.resent) == (b"\n", [1, 0], 1)


def test_a_zero_window_probe_brings_its_octet_once(tmp_path):
    wire = Wire().handshake().c(0, b"ABC").s(0, ack=3, window=0).c(3, b"D").s(0, ack=3, window=0).c(3, b"D")
    wire.s(0, ack=4, window=9).c(4, b"E")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.conflicts, one.zero_windows) == (b"ABCDE", [0, 0], [(0, 4, 8)])
    assert "w" in one.history


def test_a_zero_window_that_never_opens_lasts_to_the_end(tmp_path):
    (one,) = Wire().handshake().s(0, window=0).c(0, b"A").read(tmp_path)
    assert one.zero_windows == [(0, 3, 4)]


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


def test_a_reset_behind_a_fin_leaves_it_to_the_side_that_closed_first(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB", "FA").s(0, ack=3).s(0, flags="RA", ack=3).read(tmp_path)
    assert one.close == ("rst", 0)


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


def test_port_reuse_after_a_close_is_a_new_connection(tmp_path):
    wire = Wire().handshake().c(0, b"one").c(3, flags="FA").s(0, flags="FA", ack=4).c(4, ack=1)
    wire.isn = (70_000, 90_000)
    one, two = wire.handshake().c(0, b"two").read(tmp_path)
    assert (one.c2s, two.c2s, one.close, two.close) == (b"one", b"two", ("fin", 0), ("open", -1))
    assert one.stream_id != two.stream_id


def test_port_reuse_without_a_close_and_with_a_near_number(tmp_path):
    wire = Wire().handshake().c(0, b"one")
    wire.isn = (1010, 5010)
    one, two = wire.handshake().c(0, b"two").s(0, b"2").read(tmp_path)
    assert (one.c2s, two.c2s, two.s2c) == (b"one", b"two", b"2")


def test_port_reuse_with_the_same_number(tmp_path):
    wire = Wire().handshake().c(0, b"one").c(3, flags="FA").s(0, flags="FA", ack=4).c(4, ack=1)
    one, two = wire.handshake().c(0, b"two").read(tmp_path)
    assert (one.c2s, two.c2s) == (b"one", b"two")


def test_port_reuse_where_no_syn_was_captured(tmp_path):
    wire = Wire().c(0, b"one").s(0, b"1")
    wire.isn = (2_000_001_000, 3_000_005_000)
    one, two = wire.c(0, b"two", ack=0).s(0, b"2", ack=3).read(tmp_path)
    assert (one.c2s, two.c2s, one.s2c, two.s2c) == (b"one", b"two", b"1", b"2")


def test_a_late_segment_of_the_old_connection_goes_there(tmp_path):
    wire = Wire(500_000, 600_000).handshake().c(0, b"one").c(6, flags="FA").s(0, flags="FA", ack=4)
    wire.isn = (900_000, 990_000)
    wire.handshake().c(0, b"two")
    wire.isn = (500_000, 600_000)
    one, two = wire.c(3, b"ONE").read(tmp_path)
    assert (one.c2s, two.c2s) == (b"oneONE", b"two")


def test_a_repeated_syn_is_the_same_connection(tmp_path):
    wire = Wire().c(-1, flags="S", ack=None).c(-1, flags="S", ack=None).s(-1, flags="SA").s(-1, flags="SA").c(0, b"A")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.history) == (b"A", "ShD")


def test_the_syn_of_a_closed_connection_captured_late_begins_no_other(tmp_path):
    wire = Wire().s(-1, flags="SA").c(0, b"AB").s(0, flags="FA", ack=2).c(2, flags="FA", ack=1)
    wire.c(-1, flags="S", ack=None, at_ns=START_NS - STEP_NS)
    wire.c(-1, flags="S", ack=None, at_ns=START_NS - STEP_NS + 5_000_000)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.synced, one.close) == (b"AB", [True, True], ("fin", 1))


def test_a_syn_captured_behind_its_synack_and_data(tmp_path):
    wire = Wire().s(-1, flags="SA").c(0, b"AB").c(-1, flags="S", ack=None).c(2, b"CD")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.synced, one.client) == (b"ABCD", [True, True], 1)


def test_a_syn_captured_behind_its_data_alone(tmp_path):
    wire = Wire().c(2, b"CD").c(-1, flags="S", ack=None).c(0, b"AB").s(-1, flags="SA").s(0, b"x")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.synced) == (b"ABCD", b"x", [True, True])


def test_packets_seen_twice_change_only_counters(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, b"xy", ack=2).c(2, flags="FA").s(2, flags="FA")
    (once,) = wire.read(tmp_path)
    wire.frames = [frame for frame in wire.frames for _ in range(2)]
    (twice,) = wire.read(tmp_path)
    assert (twice.c2s, twice.s2c, twice.stream_id, twice.close) == (once.c2s, once.s2c, once.stream_id, once.close)
    assert (twice.copies, twice.again, twice.conflicts, twice.resent) == ([1, 1], [0, 0], [0, 0], 0)
    assert (twice.segments, twice.history, twice.out_of_order) == (once.segments, once.history, [0, 0])


def test_fast_open_data_in_the_syn(tmp_path):
    wire = Wire().c(-1, b"early", flags="S", ack=None).s(-1, b"answer", flags="SA", ack=5).c(5, b"later")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.synced) == (b"earlylater", b"answer", [True, True])


def test_fast_open_data_refused_and_sent_again(tmp_path):
    wire = Wire().c(-1, b"early", flags="S", ack=None).s(-1, flags="SA", ack=0).c(0, b"early")
    assert wire.read(tmp_path)[0].c2s == b"early"


def test_simultaneous_open(tmp_path):
    wire = Wire().c(-1, flags="S", ack=None).s(-1, flags="S", ack=None).c(-1, flags="SA").s(-1, flags="SA").c(0, b"A").s(0, b"B")
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.s2c, one.synced) == (b"A", b"B", [True, True])


def test_split_handshake(tmp_path):
    wire = Wire().c(-1, flags="S", ack=None).s(0, ack=0).s(-1, flags="S", ack=None).c(-1, flags="SA").s(0, ack=0)
    (one,) = wire.c(0, b"A").s(0, b"B").read(tmp_path)
    assert (one.c2s, one.s2c) == (b"A", b"B")


@pytest.mark.parametrize("jump", [1 << 31, 3 << 29, -(3 << 29), (1 << 30) + 1])
def test_a_forged_number_makes_no_gap(tmp_path, jump):
    wire = Wire(2_000_000_000).handshake().c(0, b"AB").s(0, ack=2).c(jump, b"EVIL").c(2, b"CD").s(0, ack=4)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.strays, one.gap) == (b"ABCD", [1, 0], [0, 0])


def test_a_forged_number_within_the_largest_window_is_not_believed_either(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, ack=2).c(500_000_000, b"EVIL").c(2, b"CD").s(0, ack=4)
    (one,) = wire.c(4, flags="FA").read(tmp_path)
    assert (one.c2s, one.strays, one.octets, one.out_of_order, one.close) == (b"ABCD", [1, 0], [4, 0], [0, 0], ("fin", 0))


def test_a_forged_fin_ends_nothing(tmp_path):
    wire = Wire().handshake().c(0, b"AB").c(500_000_000, flags="FA").c(2, b"CD").s(0, ack=4)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.octets, one.close) == (b"ABCD", [4, 0], ("open", -1))


def test_a_large_loss_that_nobody_acknowledged_is_a_gap(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, ack=2).c(100_000_000, b"CD").c(100_000_002, b"EF")
    (one,) = wire.read(tmp_path)
    assert (one.chunks[0], one.strays) == ([(0, b"AB"), (100_000_000, b"CDEF")], [0, 0])


def test_a_loss_beyond_the_largest_window_goes_on_as_another_stream(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, ack=2)
    for i in range(4):
        wire.c(1_500_000_000 + 2 * i, b"%02d" % i)
    one, two = wire.read(tmp_path)
    assert (one.c2s, one.strays, two.c2s) == (b"AB", [1, 0], b"010203")


def test_a_forged_acknowledgement_adds_no_octets(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB").s(0, ack=900_000_000).s(0, ack=2).read(tmp_path)
    assert one.octets == [2, 0]


def test_urgent_octets_stay_in_line_and_are_flagged(tmp_path):
    (one,) = Wire().handshake().c(0, b"AB", "UA").c(2, b"C").read(tmp_path)
    assert (one.c2s, one.history) == (b"ABC", "ShAUD")


def test_a_clock_that_steps_back_changes_no_order(tmp_path):
    wire = Wire().handshake()
    wire.c(0, b"AB", at_ns=START_NS + 90 * STEP_NS).c(2, b"CD", at_ns=START_NS - STEP_NS).c(0, b"XX", at_ns=START_NS)
    (one,) = wire.read(tmp_path)
    assert (one.c2s, one.steps_back) == (b"ABCD", 1)


def test_time_may_step_back_between_captures(tmp_path):
    frames = Wire().handshake().c(0, b"AB").frames
    later = Wire().c(2, b"CD", at_ns=START_NS).frames
    (one,) = streams_of([pcap(tmp_path / "a", frames), pcap(tmp_path / "b", later)])
    assert (one.c2s, one.steps_back) == (b"ABCD", 0)


def test_the_low_endpoint_may_be_either_side(tmp_path):
    wire = Wire()
    wire.isn = (7, 9)
    (one,) = wire.handshake().c(0, b"A").read(tmp_path)
    assert (one.client, one.history) == (1, "ShAD")
