"""Tunnels by kernels: the innermost flow, the same that scapy finds, in any nesting; what is odd never raises."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, IP, TCP, UDP, fragment
from scapy.layers.inet6 import HBHOptUnknown, IPv6, IPv6ExtHdrHopByHop, Jumbo, PadN
from scapy.layers.l2 import ARP, Dot1Q
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN

from stompcap.capture import SEGMENTS, read_segments, survey
from stompcap.capture.decode import decode, empty
from stompcap.capture.verdicts import FRAGMENT, MALFORMED, NOT_IP, NOT_TCP, REFUSED, USED
from tests.capture.by_scapy import dissect
from tests.capture.packaging import Frame, pcap
from tests.capture.test_dissect import COLUMNS
from tests.capture.test_segments import ETHER, PAYLOAD, check, read, tcp4, tcp6

OUTER = {"4": IP(src="1.1.1.1", dst="2.2.2.2", ttl=9), "6": IPv6(src="::2", dst="::3", hlim=9)}


def udp(port):
    return UDP(sport=50000, dport=port)


# each takes a packet that begins with IP to one that begins with IP
WRAPS = {
    "IP in IP": lambda p, outer: OUTER[outer] / p,
    "GRE": lambda p, outer: OUTER[outer] / GRE() / p,
    "GRE with a key": lambda p, outer: OUTER[outer] / GRE(key_present=1, key=7, seqnum_present=1, sequence_number=3) / p,
    "GRE with a checksum": lambda p, outer: OUTER[outer] / GRE(chksum_present=1) / p,
    "GRE with Ethernet": lambda p, outer: OUTER[outer] / GRE(proto=0x6558) / ETHER / p,
    "GRE with Ethernet and a tag": lambda p, outer: OUTER[outer] / GRE(proto=0x6558) / ETHER / Dot1Q(vlan=4) / p,
    "GRE with MPLS": lambda p, outer: OUTER[outer] / GRE(proto=0x8847) / MPLS(label=5, s=1) / p,
    "VXLAN": lambda p, outer: OUTER[outer] / udp(4789) / VXLAN(vni=5) / ETHER / p,
    "VXLAN of old": lambda p, outer: OUTER[outer] / udp(8472) / VXLAN(vni=5) / ETHER / p,
    "Geneve": lambda p, outer: OUTER[outer] / udp(6081) / GENEVE(vni=5) / ETHER / p,
    "Geneve with IP": lambda p, outer: OUTER[outer] / udp(6081) / GENEVE(vni=5, proto=0x86DD if isinstance(p, IPv6) else 0x800) / p,
}
LINKS = {
    "Ethernet": lambda p: ETHER / p,
    "tag": lambda p: ETHER / Dot1Q(vlan=7) / p,
    "MPLS": lambda p: ETHER / MPLS(label=5, s=0) / MPLS(label=6, s=1) / p,
    "MPLS in a tag": lambda p: ETHER / Dot1Q(vlan=7) / MPLS(label=6, s=1) / p,
    "PPPoE": lambda p: ETHER / PPPoE(sessionid=1) / PPP(proto=0x57 if isinstance(p, IPv6) else 0x21) / p,
}


def kernel(frame, original=None, link=1):
    """(verdict, columns) of one frame by the kernels alone."""
    data, out = np.frombuffer(frame, np.uint8), empty(1)
    decode(data, np.zeros(1, np.int64), np.array([len(data)]), np.array([original or len(data)]), np.array([link], np.int32), out)
    return int(out.verdict[0]), out


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("name", WRAPS)
@pytest.mark.parametrize("inner", [tcp4, tcp6], ids=["IPv4", "IPv6"])
def test_kernels_find_what_scapy_finds(link, outer, name, inner):
    frame = bytes(LINKS[link](WRAPS[name](inner(), outer)))
    verdict, ours = kernel(frame)
    assert verdict == USED
    theirs = empty(1)
    assert dissect(frame, len(frame), 1, 0, theirs) == (USED, PAYLOAD)
    for column in COLUMNS:
        assert np.array_equal(getattr(ours, column), getattr(theirs, column)), column
    place = int(ours.position[0])
    assert frame[place : place + int(ours.captured_octets[0])] == PAYLOAD


@given(
    st.lists(st.tuples(st.sampled_from(sorted(WRAPS)), st.sampled_from("46")), max_size=5),
    st.sampled_from(sorted(LINKS)),
    st.integers(0, 30),
)
def test_tunnels_in_tunnels_and_a_cut(wraps, link, cut):
    packet = tcp4()
    for name, outer in wraps:
        packet = WRAPS[name](packet, outer)
    whole = bytes(LINKS[link](packet))
    verdict, out = kernel(whole[: len(whole) - cut], len(whole))
    assert verdict == USED
    assert (out.wire_octets[0], out.captured_octets[0]) == (len(PAYLOAD), len(PAYLOAD) - cut)
    assert (out.ip_id[0], out.ttl[0]) == (77, 63)


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (OUTER["4"] / GRE() / IP() / UDP() / b"x", NOT_TCP),
        (OUTER["4"] / udp(4789) / VXLAN() / ETHER / ARP(), NOT_IP),
        (OUTER["4"] / udp(4789) / b"chance", NOT_TCP),
        (OUTER["4"] / udp(5353) / bytes(tcp4()), NOT_TCP),
        (OUTER["4"] / GRE() / fragment(tcp4(b"x" * 2000), 800)[0], FRAGMENT),
        (OUTER["4"] / bytes(tcp4())[:30], MALFORMED),
    ],
)
def test_what_kernels_leave_out_scapy_judges_no_better(tmp_path, packet, reason):
    if isinstance(packet, IP) and packet.proto == 0:
        packet.proto = 4
    verdict, _ = kernel(bytes(ETHER / packet))
    assert verdict in (reason, REFUSED)
    rows, _, facts = read(tmp_path, ETHER / packet)
    assert rows == []
    assert sum(facts["skipped"].values()) == 1


def test_fragments_in_a_tunnel_are_put_together(tmp_path):
    payload = bytes(range(256)) * 12
    frames = [Frame(bytes(ETHER / WRAPS["VXLAN"](piece, "4"))) for piece in fragment(tcp4(payload), 700)]
    path = pcap(tmp_path / "a", frames)
    (row,) = pa.Table.from_batches(read_segments(str(path), 0), SEGMENTS).to_pylist()
    assert (row["packet"], row["payload"]) == (len(frames), payload)
    assert survey(str(path), "s")["skipped"] == {"ip_fragment": len(frames) - 1}


V6 = b"\xfd" + bytes(14)  # of both addresses, but for their last octets


def authenticated(upper, protocol=6, words=6):
    """An authentication header of so many words of 32 bits before what it protects (RFC 4302, 2)."""
    return struct.pack(">BBHII", protocol, words - 2, 0, 1, 1) + bytes(4 * words - 12) + upper


@pytest.mark.parametrize("words", [3, 6, 11])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_authentication_headers_are_passed(tmp_path, words, times):
    upper, protocol = bytes(tcp4())[20:], 6
    for _ in range(times):
        upper, protocol = authenticated(upper, protocol, words), 51
    check(*read(tmp_path, ETHER / IP(src="10.0.0.2", dst="10.0.0.1", id=77, ttl=63, proto=51) / upper)[:2])


@pytest.mark.parametrize("times", [1, 2])
def test_authentication_headers_are_passed_in_ipv6(tmp_path, times):
    upper, protocol = bytes(tcp6())[40:], 6
    for _ in range(times):
        upper, protocol = authenticated(upper, protocol), 51
    check(*read(tmp_path, ETHER / IPv6(src="fd00::2", dst="fd00::1", hlim=63, nh=51) / upper)[:2], V6, -1)


def test_a_packet_that_is_authenticated_as_a_whole_is_looked_into(tmp_path):
    check(*read(tmp_path, ETHER / IP(src="1.1.1.1", dst="2.2.2.2", proto=51) / authenticated(bytes(tcp4()), 4))[:2])


@pytest.mark.parametrize("wrap", WRAPS)
def test_an_authentication_header_in_a_tunnel_is_passed(tmp_path, wrap):
    inner = IP(src="10.0.0.2", dst="10.0.0.1", id=77, ttl=63, proto=51) / authenticated(bytes(tcp4())[20:])
    check(*read(tmp_path, ETHER / WRAPS[wrap](inner, "4"))[:2])


def test_an_authentication_header_in_fragments_is_passed(tmp_path):
    payload = bytes(range(256)) * 12
    whole = IP(src="10.0.0.2", dst="10.0.0.1", id=77, ttl=63, proto=51) / authenticated(bytes(tcp4(payload))[20:])
    path = pcap(tmp_path / "a", [Frame(bytes(ETHER / piece)) for piece in fragment(whole, 700)])
    (row,) = pa.Table.from_batches(read_segments(str(path), 0), SEGMENTS).to_pylist()
    assert row["payload"] == payload


@pytest.mark.parametrize("octets", range(8))
def test_an_authentication_header_that_is_cut_off_is_malformed(octets):
    packet = IP(src="10.0.0.2", dst="10.0.0.1", proto=51) / authenticated(b"")[:octets]
    assert kernel(bytes(ETHER / packet))[0] == MALFORMED


LONGEST = 1 << 24


@pytest.mark.parametrize("original", [LONGEST + 1, 2**31, 2**32 - 1])
def test_what_claims_to_be_longer_than_any_link_delivers_is_not_believed(original):
    frame = bytearray(bytes(ETHER / tcp4()))
    frame[16:18] = b"\0\0"  # as segmentation offload leaves it: all that the frame has
    verdict, out = kernel(bytes(frame), original)
    assert (verdict, int(out.wire_octets[0])) == (USED, LONGEST - 54)


@pytest.mark.parametrize("size", [LONGEST + 1, 2**31, 2**32 - 1])
def test_a_jumbo_payload_longer_than_any_link_delivers_is_malformed(size):
    head = IPv6ExtHdrHopByHop(nh=6, options=[Jumbo(jumboplen=size)])
    frame = bytes(ETHER / IPv6(src="fd00::2", dst="fd00::1", plen=0, nh=0)) + bytes(head) + bytes(TCP()) + b"x"
    assert kernel(frame, 2**32 - 1)[0] == MALFORMED


@pytest.mark.parametrize("before", [[], [PadN(optdata=b"\0\0")], [HBHOptUnknown(otype=0x1E, optdata=b"abcd")]])
def test_a_jumbo_payload_is_as_long_as_its_option_says(tmp_path, before):
    big = b"x" * 70_000
    tcp = TCP(sport=40000, dport=61613, seq=5) / big
    head = IPv6ExtHdrHopByHop(nh=6, options=[*before, Jumbo(jumboplen=0)])
    size = len(bytes(head)) + len(bytes(tcp))
    head.options[-1].jumboplen = size
    frame = bytes(ETHER / IPv6(src="fd00::2", dst="fd00::1", plen=0, nh=0)) + bytes(head) + bytes(tcp) + b"trailer"
    rows, found, _ = read(tmp_path, frame)
    assert found == [big]
    assert rows[0]["wire_octets"] == len(big)


def test_a_hop_by_hop_header_and_a_length_of_zero_mean_all_that_was_captured(tmp_path):
    frame = ETHER / IPv6(src="fd00::2", dst="fd00::1", plen=0, nh=0) / IPv6ExtHdrHopByHop(nh=6) / TCP(sport=4, dport=5) / PAYLOAD
    assert read(tmp_path, frame)[1] == [PAYLOAD]


@given(
    st.sampled_from([b"\x88\x47", b"\x88\x64", b"\x65\x58", b"\x08\0\x45\0\0\x60\0\0\0\0\x09", b"\x86\xdd\x60\0\0\0\0\x60"]),
    st.sampled_from([b"", b"\x04", b"\x29", b"\x2f", b"\x89", b"\x11", b"\0"]),
    st.binary(max_size=150),
)
def test_odd_octets_never_leave_the_frame(kind, protocol, tail):
    frame = bytes(ETHER)[:12] + kind + protocol + tail
    verdict, out = kernel(frame)
    assert 0 <= verdict < 8
    if verdict == USED:
        place, size = int(out.position[0]), int(out.captured_octets[0])
        assert 0 <= place <= place + size <= len(frame) or size == 0


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\x48\x42\0\0" + bytes(22), NOT_IP),  # no data in it
        (b"\x08\x41\0\0" + bytes(60), NOT_IP),  # encrypted
        (b"\x80\0\0\0" + bytes(60), NOT_IP),  # a beacon
        (b"\x88\1\0\0" + bytes(20) + b"\x80\0" + bytes(60), REFUSED),  # several in one
        (b"\x08\1\0\0", MALFORMED),
    ],
)
def test_frames_of_radios_without_a_packet_are_counted(frame, reason, tmp_path):
    packet = ETHER / OUTER["4"] / GRE(proto=0x8200) / frame
    assert kernel(bytes(packet))[0] in (reason, REFUSED)
    rows, _, facts = read(tmp_path, packet)
    assert (rows, sum(facts["skipped"].values())) == ([], 1)


@pytest.mark.parametrize("extensions", [b"\0\0\0\x85\0\0\0\0", b"\0\0\0\x85\xff", b"\0\0\0\x85"])
def test_extension_headers_of_gtp_that_lead_nowhere_end(extensions, tmp_path):
    packet = ETHER / OUTER["4"] / udp(2152) / (b"\x34\xff\0\x20\0\0\0\1" + extensions)
    rows, _, facts = read(tmp_path, packet)
    assert (rows, sum(facts["skipped"].values())) == ([], 1)
