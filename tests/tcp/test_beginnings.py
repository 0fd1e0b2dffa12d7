"""How connections begin: handshakes, ports that are used again, data with the first packet."""

from tests.tcp.wire import START_NS, STEP_NS, Wire


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
