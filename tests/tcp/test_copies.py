"""Packets that a mirror port, or a capture on all interfaces, shows more than once: kept once, counted, and nothing else is moved."""

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from tests.capture.packaging import Frame, pcap, pcapng
from tests.tcp.wire import CLIENT, ETHER, START_NS, STEP_NS, Wire, streams_of

SOON_NS = 40_000


def talk() -> Wire:
    wire = Wire().handshake().c(0, b"CONNECT").s(0, b"CONNECTED", ack=7).c(7, b"\n", ack=9).s(9, ack=8)
    return wire.c(8, b"SEND", ack=9).s(9, flags="FA", ack=12).c(12, flags="FA", ack=10).s(10, ack=13)


def numbered(wire: Wire) -> list[Frame]:
    """The frames with an IP identification each, as senders give them."""
    found = []
    for i, frame in enumerate(wire.frames):
        packet = Ether(frame.octets)
        packet[IP].id = 100 + i
        del packet[IP].chksum
        found.append(Frame(bytes(packet), frame.ts_ns, len(packet)))
    return found


def again(frame: Frame, after_ns: int = SOON_NS, interface: int = 0, **fields) -> Frame:
    """The same packet once more, with other fields of its IP header."""
    packet = Ether(frame.octets)
    for name, value in fields.items():
        setattr(packet[IP], name, value)
    del packet[IP].chksum
    return Frame(bytes(packet), frame.ts_ns + after_ns, frame.wire, interface)


def in_vlan(frame: Frame) -> Frame:
    packet = Ether(frame.octets)
    tagged = Ether(src=packet.src, dst=packet.dst) / Dot1Q(vlan=7) / packet.payload
    return Frame(bytes(tagged), frame.ts_ns + SOON_NS)


SHOWN_TWICE = {
    "both ways through a mirror port": lambda f: [f, again(f)],
    "before and behind a router": lambda f: [f, again(f, ttl=63)],
    "before and behind a VLAN tag": lambda f: [f, in_vlan(f)],
    "on three interfaces": lambda f: [f, again(f, interface=1), again(f, 2 * SOON_NS, interface=2, ttl=63)],
    "with clocks that differ": lambda f: [f, again(f, -SOON_NS)],
}


@pytest.mark.parametrize("how", sorted(SHOWN_TWICE))
def test_copies_are_dropped_and_counted(tmp_path, how):
    frames = numbered(talk())
    (once,) = streams_of([pcapng(tmp_path / "once", frames)])
    shown = [one for frame in frames for one in SHOWN_TWICE[how](frame)]
    (found,) = streams_of([pcapng(tmp_path / "twice", shown)])
    extra = len(SHOWN_TWICE[how](frames[0])) - 1
    assert found.copies == [3 * extra, extra]
    assert (found.again, found.out_of_order, found.resent, found.conflicts) == ([0, 0], [0, 0], 0, [0, 0])
    for name in ("chunks", "segments", "history", "close", "stream_id", "octets", "gap", "zero_windows", "steps_back"):
        assert getattr(found, name) == getattr(once, name), name


def test_copies_may_come_some_packets_later(tmp_path):
    frames = [Frame(f.octets, START_NS + i * 10_000, f.wire) for i, f in enumerate(numbered(talk()))]
    shown = [*frames, *[again(frame, 200_000) for frame in frames]]
    (found,) = streams_of([pcap(tmp_path / "a", shown, nano=True)])
    assert (found.copies, found.again, found.c2s) == ([3, 1], [0, 0], b"CONNECT\nSEND")


def test_what_comes_later_than_a_copy_can_is_a_retransmission(tmp_path):
    wire = Wire().handshake().c(0, b"AB").c(0, b"AB", at_ns=START_NS + 3 * STEP_NS + 3_000_001)
    (found,) = wire.read(tmp_path)
    assert (found.copies, found.again, found.resent) == ([0, 0], [2, 0], 1)


def test_another_identification_is_another_packet(tmp_path):
    frames = numbered(Wire().handshake().c(0, b"AB"))
    (found,) = streams_of([pcap(tmp_path / "a", [*frames, again(frames[-1], id=999)], nano=True)])
    assert (found.copies, found.again) == ([0, 0], [2, 0])


@pytest.mark.parametrize("kind", ["IPv6", "identification 0"])
def test_without_an_identification_the_time_tells(tmp_path, kind):
    def packet(tcp):
        return ETHER / (IPv6(src="fe80::1", dst="fe80::2") if kind == "IPv6" else IP(src="10.0.0.1", dst="10.0.0.9", id=0)) / tcp

    ports = {"sport": 61613, "dport": CLIENT[1]}
    sent = [TCP(**ports, flags="S", seq=9), TCP(**ports, flags="PA", seq=10) / b"AB", TCP(**ports, flags="A", seq=12)]
    times = [0, 1, 1 + SOON_NS, STEP_NS, 2 * STEP_NS, 2 * STEP_NS + 1]
    shown = [sent[0], sent[1], sent[1], sent[1], sent[2], sent[2]]
    frames = [Frame(bytes(packet(tcp)), START_NS + ns) for tcp, ns in zip(shown, times, strict=True)]
    (found,) = streams_of([pcap(tmp_path / "a", frames, nano=True)])
    low = 1 if kind == "IPv6" else 0
    assert sorted(found.copies) == [0, 1], low
    assert sorted(found.again) == [0, 2]
    assert found.resent == 1


def test_a_copy_cut_less_by_the_snapshot_length_fills_what_is_missing(tmp_path):
    frame = numbered(Wire().c(0, b"ABCDEFGH"))[0]
    short = Frame(frame.octets[:-6], frame.ts_ns, frame.wire)
    (found,) = streams_of([pcap(tmp_path / "a", [short, again(frame)], nano=True)])
    assert (found.c2s, found.copies, found.gap, found.truncated) == (b"ABCDEFGH", [1, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("overlap", ["first", "last"])
def test_other_octets_under_the_same_header_are_a_conflict(tmp_path, overlap):
    one, two = (numbered(Wire().c(0, octets))[0] for octets in (b"GOOD", b"EVIL"))
    (found,) = streams_of([pcap(tmp_path / "a", [one, again(two)], nano=True)], overlap)
    assert (found.c2s, found.copies, found.conflicts) == (b"GOOD", [1, 0], [4, 0])
