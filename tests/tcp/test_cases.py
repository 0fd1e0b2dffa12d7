"""The cases an off-line reassembler meets between the beginning of a connection and its end, one test each."""

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


def test_packets_seen_twice_change_only_counters(tmp_path):
    wire = Wire().handshake().c(0, b"AB").s(0, b"xy", ack=2).c(2, flags="FA").s(2, flags="FA")
    (once,) = wire.read(tmp_path)
    wire.frames = [frame for frame in wire.frames for _ in range(2)]
    (twice,) = wire.read(tmp_path)
    assert (twice.c2s, twice.s2c, twice.stream_id, twice.close) == (once.c2s, once.s2c, once.stream_id, once.close)
    assert (twice.copies, twice.again, twice.conflicts, twice.resent) == ([1, 1], [0, 0], [0, 0], 0)
    assert (twice.segments, twice.history, twice.out_of_order) == (once.segments, once.history, [0, 0])


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


@pytest.mark.parametrize(("close", "connections"), [("FA", 2), ("R", 2), ("", 1)], ids=["FIN", "RST", "none"])
def test_connections_that_are_alike_in_a_capture_without_times_have_ids_of_their_own(close, connections, tmp_path):
    """Same ports, same sequence numbers, no times: a SYN behind the close begins another one, one before it is a copy."""

    def connection(wire, at_ns):
        wire.c(-1, flags="S", ack=None, at_ns=at_ns).s(-1, flags="SA", at_ns=at_ns).c(0, at_ns=at_ns)
        wire.c(0, b"AB", at_ns=at_ns).s(0, b"C", ack=2, at_ns=at_ns)
        if close == "R":
            wire.c(2, flags="R", ack=1, at_ns=at_ns)
        elif close:
            wire.c(2, flags="FA", ack=1, at_ns=at_ns).s(1, flags="FA", ack=3, at_ns=at_ns).c(3, ack=2, at_ns=at_ns)

    wire = Wire()
    for _ in range(3):
        connection(wire, 0)
    one, *more = found = wire.read(tmp_path)
    assert len(found) == (3 if connections == 2 else 1)
    assert len({stream.stream_id for stream in found}) == len(found)
    assert all((stream.c2s, stream.s2c) == (b"AB", b"C") for stream in found)
    first = Wire()
    connection(first, 0)
    [alone] = first.read(tmp_path)
    assert alone.stream_id == one.stream_id, "the number of the first is 0, which changes no id"
    numbered = [stream.stream_id for stream in more]
    paths = [pcap(tmp_path / name, frames, nano=True) for name, frames in (("b", wire.frames[:11]), ("a", wire.frames[11:]))]
    again = [stream.stream_id for stream in streams_of(paths)]
    assert again == [one.stream_id, *numbered], "however they are cut into files"


def test_octets_with_impossible_numbers_are_counted(tmp_path):
    """A jump of more than 1 GiB: the first segment behind it is left out, the next confirms it and begins another connection."""
    wire = Wire().handshake().c(0, b"AB").s(0, b"x", ack=2)
    for number in range(3):
        wire.c(1_500_000_000 + 10 * number, b"0123456789", ack=1)
    one, two = wire.read(tmp_path)
    assert (one.c2s, one.strays, one.stray_octets) == (b"AB", [1, 0], [10, 0])
    assert (two.c2s, two.strays, two.stray_octets) == (b"0123456789" * 2, [0, 0], [0, 0])
