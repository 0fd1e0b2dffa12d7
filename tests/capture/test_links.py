"""Every link type and tunnel leads to the same segment; what leads nowhere is counted; hostile octets cost little and raise nothing."""

import random
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.erspan import ERSPAN_I
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.dot11 import Dot11
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q
from scapy.layers.ppp import HDLC, PPP

from stompcap.capture.dissect import HEAD_OCTETS, locate
from stompcap.capture.outer import encapsulation, joined, tagged, vlan_ids, within
from stompcap.capture.segments import decode_frames
from stompcap.capture.verdicts import REFUSED, TUNNEL, USED
from stompcap.tables.words import SKIPPED
from tests.capture.linked import FRAMES, OUTER, WIFI, pktap
from tests.capture.packaging import Frame, pcap
from tests.capture.test_fragments import LONG
from tests.capture.test_fragments import read as read_all
from tests.capture.test_segments import ETHER, PAYLOAD, check, read, tcp4


def outer_of(frame, link):
    """The layers that were found around a frame's segment."""
    octets = np.frombuffer(bytes(frame), np.uint8)
    size = np.array([len(octets)])
    found, _ = decode_frames(octets, np.zeros(1, np.int64), size, size, np.array([link], np.int32), True)
    return encapsulation(int(found.outer[0])), vlan_ids(int(found.outer[0]))


@pytest.mark.parametrize("name", FRAMES)
def test_every_link_type_and_tunnel_leads_to_the_same_segment(tmp_path, name):
    link, frame, outer = FRAMES[name]
    rows, found, _ = read(tmp_path, frame, link)
    if "Teredo" in name or name == "6in4":
        check(rows, found, b"\xfd" + bytes(14), -1, 62)
    else:
        check(rows, found)
    assert outer_of(frame, link)[0] == outer


@pytest.mark.parametrize("name", FRAMES)
def test_a_snapshot_length_cuts_octets_and_not_the_length_behind_any_header(tmp_path, name):
    link, frame, _ = FRAMES[name]
    whole = bytes(frame)
    end = whole.index(PAYLOAD) + len(PAYLOAD)
    rows, found, _ = read(tmp_path, whole[: end - 9], link, original=len(whole))
    assert (found, rows[0]["wire_octets"], rows[0]["captured_octets"]) == ([PAYLOAD[:-9]], len(PAYLOAD), len(PAYLOAD) - 9)


@pytest.mark.parametrize("name", FRAMES)
def test_every_cut_of_every_frame_is_counted_once(tmp_path, name):
    link, frame, _ = FRAMES[name]
    whole = bytes(frame)
    found, skipped = read_cuts(tmp_path, [whole[:cut] for cut in range(0, len(whole), 3)], link)
    assert found + sum(skipped.values()) == len(range(0, len(whole), 3))
    assert set(skipped) <= set(SKIPPED)


def read_cuts(folder, frames, link):
    """How many were used, and why the others were not."""
    from stompcap.capture import survey

    facts = survey(str(pcap(folder / "cuts", [Frame(f) for f in frames], link)), "s")
    assert facts["packets"] == len(frames)
    return facts["tcp_segments"], facts["skipped"]


@pytest.mark.parametrize("wrap", ["GTP-U", "PPP", "ERSPAN II"])
def test_fragments_behind_any_header_are_put_together(tmp_path, wrap):
    link, frame, _ = FRAMES[wrap]
    head = bytes(frame)[: bytes(frame).index(bytes(tcp4()))]
    for piece_size in (700, 1480):
        frames = []
        for piece in fragment(tcp4(LONG), piece_size):
            if wrap == "PPP":
                frames.append(Frame(head + bytes(piece)))
                continue
            packet = ETHER.__class__(head) / bytes(piece)
            frames.append(Frame(bytes(packet)))
        path = pcap(tmp_path / "a", frames, link)
        from stompcap.capture import read_segments

        (row,) = [row for batch in read_segments(str(path), 0) for row in batch.to_pylist()]
        assert (row["packet"], row["payload"]) == (len(frames), LONG)


@pytest.mark.parametrize(
    ("link", "frame", "reason"),
    [
        (220, bytes(tcp4()), "link_type"),  # USB
        (201, b"\0\0\0\0\4\1\2\3", "link_type"),  # Bluetooth
        (195, bytes(tcp4()), "link_type"),  # IEEE 802.15.4
        (227, bytes(16), "link_type"),  # CAN
        (147, bytes(tcp4()), "link_type"),  # kept for private use
        (258, pktap(258, bytes(200)), "malformed"),
        (258, pktap(220, bytes(200)), "link_type"),
        (258, pktap(1, bytes(ETHER / tcp4()), record=0), "malformed"),
        (239, b"\2\0\0\0\0\0\1\0", "malformed"),
        (9, PPP(proto=0xC021) / b"\1\1\0\4", "not_ip"),
        (105, Dot11(type=0, subtype=8, **WIFI) / bytes(12), "not_ip"),  # a beacon
        (105, Dot11(type=2, subtype=0, FCfield="protected", **WIFI) / (bytes(8) + bytes(tcp4())), "not_ip"),
        (9, PPP() / IP(src="10.0.0.2", dst="10.0.0.1") / ICMP(type=3, code=3) / bytes(tcp4())[:28], "not_tcp"),
        (1, ETHER / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / OUTER / ICMP(type=3) / bytes(tcp4()), "not_tcp"),
        (1, ETHER / OUTER / UDP(sport=2152, dport=2152) / b"chance", "not_tcp"),
        (1, ETHER / OUTER / UDP(sport=3544, dport=3544) / b"chance", "not_tcp"),
        (1, ETHER / OUTER / GRE(proto=0x88BE) / ERSPAN_I() / ETHER / ARP(), "not_tcp"),
        (1, ETHER / MPLS(label=5, s=1) / b"\xf0 neither IP nor Ethernet", "not_ip"),
        (1, ETHER / IP(src="1.1.1.1", dst="2.2.2.2", proto=50) / bytes(40), "not_tcp"),  # encrypted
    ],
)  # fmt: skip
def test_what_leads_nowhere_is_counted_with_its_reason(tmp_path, link, frame, reason):
    rows, _, facts = read(tmp_path, frame, link)
    assert rows == []
    assert facts["skipped"] == {reason: 1}


TUNNELLED = [name for name, (_, _, outer) in FRAMES.items() if outer and {"gre", "gtp", "l2tp", "teredo", "ipip"} & set(outer.split("/"))]


@pytest.mark.parametrize("name", TUNNELLED)
def test_without_tunnels_a_packet_is_what_its_outermost_header_says(tmp_path, name):
    from stompcap.capture import read_segments, survey

    link, frame, _ = FRAMES[name]
    path = str(pcap(tmp_path / "a", [Frame(bytes(frame)), Frame(bytes(ETHER / Dot1Q(vlan=3) / tcp4()))], link))
    kept = 1 if link == 1 else 0
    assert sum(len(batch) for batch in read_segments(path, 0, tunnels=False)) == kept
    facts = survey(path, "s", tunnels=False)
    assert facts["tcp_segments"] == kept
    assert facts["skipped"]["not_tcp"] == 1
    assert sum(facts["skipped"].values()) + kept == 2


def test_fragments_of_a_tunnel_deeper_than_anyone_builds_end():
    packet = tcp4(b"x" * 40)
    for number in range(40):
        packet = IP(src="1.1.1.1", dst="2.2.2.2", id=number, proto=4) / bytes(packet)
    out = look_at(bytes(packet), 101)
    assert out in set(range(8)) - {REFUSED}


def look_at(frame, link):
    """What becomes of one frame."""
    octets = np.frombuffer(frame, np.uint8)
    size = np.array([len(octets)])
    found, _ = decode_frames(octets, np.zeros(1, np.int64), size, size, np.array([link], np.int32), True)
    assert found.verdict[0] != REFUSED
    assert found.verdict[0] != TUNNEL
    if found.verdict[0] == USED:
        assert 0 <= found.position[0] <= found.position[0] + found.captured_octets[0] <= max(len(frame), found.position[0])
    return int(found.verdict[0])


@given(st.sampled_from(sorted(FRAMES)), st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=6), st.integers(0, 200))
def test_changed_octets_never_raise(name, changes, cut):
    link, frame, _ = FRAMES[name]
    octets = bytearray(bytes(frame)[: cut or None])
    for at, value in changes:
        if at < len(octets):
            octets[at] = value
    look_at(bytes(octets), link)
    for number in (link, 9, 105, 127, 192, 258):
        assert locate(bytes(octets[:HEAD_OCTETS]), number)[0] in range(8)


@pytest.mark.slow
def test_hostile_frames_cost_no_more_than_their_head():
    rng = random.Random(7)
    seeds = [(link, bytes(frame)) for link, frame, _ in FRAMES.values()]
    longest, verdicts = 0.0, Counter()
    for turn in range(20_000):
        link, frame = rng.choice(seeds)
        octets = bytearray(frame)
        for _ in range(rng.choice((1, 2, 4, 30))):
            octets[rng.randrange(len(octets))] = rng.choice((0, 1, 4, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if turn % 5 == 0:  # the same piece again and again, as deep as it goes
            begin = rng.randrange(len(octets))
            octets = octets[:begin] + octets[begin : begin + rng.randrange(1, 60)] * 4000
        started = time.process_time()
        verdicts[look_at(bytes(octets), link)] += 1
        longest = max(longest, time.process_time() - started)
    assert longest < 2
    assert set(verdicts) <= set(range(8))


def test_layers_are_kept_outermost_first_and_no_more_than_eight():
    outer = 0
    for _ in range(12):
        outer = int(within(outer, 1))
    assert encapsulation(outer) == "/".join(["vlan"] * 8)
    assert encapsulation(int(joined(int(within(0, 6)), int(tagged(0, 7))))) == "gre/vlan"


@pytest.mark.parametrize(
    ("frame", "words", "ids"),
    [
        (ETHER / tcp4(), None, None),
        (ETHER / Dot1Q(vlan=0) / tcp4(), "vlan", None),
        (ETHER / Dot1Q(vlan=7) / tcp4(), "vlan", "7"),
        (ETHER / Dot1AD(vlan=100) / Dot1Q(vlan=7) / tcp4(), "vlan/vlan", "100.7"),
        (ETHER / Dot1AD(vlan=4095) / Dot1Q(vlan=100) / Dot1Q(vlan=7) / tcp4(), "vlan/vlan/vlan", "100.7"),
        (ETHER / Dot1Q(vlan=5) / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header() / tcp4(), "vlan/gtp", "5"),
    ],
)
def test_vlan_ids_are_told_outer_first(frame, words, ids):
    assert outer_of(frame, 1) == (words, ids)


def test_fragments_of_two_vlans_are_two_datagrams(tmp_path):
    pieces = fragment(tcp4(LONG), 1000)
    tagged_frames = [ETHER / Dot1Q(vlan=vlan) / piece for piece in pieces for vlan in (1, 2)]
    found, skipped = read_all(tmp_path, tagged_frames)
    assert [payload for _, payload, _ in found] == [LONG, LONG]
    assert skipped == {"ip_fragment": 2 * len(pieces) - 2}


def test_tcp_is_not_what_an_icmp_error_quotes(tmp_path):
    quoted = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2)
    rows, _, facts = read(tmp_path, HDLC() / PPP() / OUTER / ICMP(type=11) / quoted, 50)
    assert rows == []
    assert facts["skipped"] == {"not_tcp": 1}
