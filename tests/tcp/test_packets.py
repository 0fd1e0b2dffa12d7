"""What a stream must not notice of its packets: padding, lengths of zero, checksums, fragments; one case each, through the whole way."""

import pytest
from scapy.layers.inet import IP, TCP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Dot1Q

from tests.capture.packaging import Frame, pcap
from tests.tcp.wire import ETHER, START_NS, STEP_NS, streams_of

PARTS = (b"CONNECT\n", b"x", b"accept-version:1.2\n\n\0")


def segments(network):
    """The packets of a small stream over an IP layer."""
    found, at = [network() / TCP(sport=61613, dport=50000, flags="S", seq=999)], 1000
    for part in PARTS:
        found.append(network() / TCP(sport=61613, dport=50000, flags="PA", seq=at) / part)
        at += len(part)
    return found


def ipv4():
    return IP(src="10.0.0.1", dst="10.0.0.9")


def ipv6():
    return IPv6(src="fe80::1", dst="fe80::9")


def ethernet(packets, tail=b""):
    return [bytes(ETHER / packet) + tail for packet in packets]


def without_length(packet):
    octets = bytearray(bytes(ETHER / packet))
    octets[16:18] = octets[18:20] = b"\0\0" if packet.version == 4 else octets[18:20]
    if packet.version == 6:
        octets[18:20] = b"\0\0"
    return bytes(octets)


def wrong_checksum(packet):
    packet[TCP].chksum = 0xBAD
    return packet


def in_fragments(packets):
    return [piece for packet in packets for piece in (fragment(packet, 8) if packet.version == 4 else fragment6(packet, 72))]


PACKETS = {
    "padded to the least of Ethernet": lambda: ethernet(segments(ipv4), b"\0" * 12),
    "padded to the least of Ethernet, IPv6": lambda: ethernet(segments(ipv6), b"\0" * 12),
    "with a frame check sequence": lambda: ethernet(segments(ipv4), b"\xde\xad\xbe\xef"),
    "with trailers of a switch": lambda: ethernet(segments(ipv4), b"trailer of any length at all"),
    "with a total length of 0 (TSO)": lambda: [without_length(packet) for packet in segments(ipv4)],
    "with a payload length of 0 (BIG TCP)": lambda: [without_length(packet) for packet in segments(ipv6)],
    "with checksums left to the card": lambda: ethernet(wrong_checksum(packet) for packet in segments(ipv4)),
    "with checksums left to the card, IPv6": lambda: ethernet(wrong_checksum(packet) for packet in segments(ipv6)),
    "in two VLAN tags": lambda: [bytes(ETHER / Dot1Q(vlan=7) / Dot1Q(vlan=9) / packet) for packet in segments(ipv4)],
    "with an extension header": lambda: ethernet(segments(lambda: ipv6() / IPv6ExtHdrDestOpt())),
    "as an atomic fragment": lambda: ethernet(segments(lambda: ipv6() / IPv6ExtHdrFragment(id=7))),
    "in fragments": lambda: ethernet(in_fragments(segments(ipv4))),
    "in fragments, last first": lambda: ethernet(in_fragments(segments(ipv4))[::-1]),
    "in fragments of IPv6": lambda: ethernet(in_fragments(segments(lambda: ipv6() / IPv6ExtHdrFragment(id=7)))),
}


@pytest.mark.parametrize("how", sorted(PACKETS))
def test_the_stream_is_the_same(tmp_path, how):
    frames = [Frame(octets, START_NS + i * STEP_NS) for i, octets in enumerate(PACKETS[how]())]
    (one,) = streams_of([pcap(tmp_path / "a", frames, nano=True)])
    sent = [octets for chunks in one.chunks for _, octets in chunks]
    assert (sent, sum(one.gap), sum(one.strays), sum(one.conflicts)) == ([b"".join(PARTS)], 0, 0, 0)
    assert sum(one.bad_checksums) == (4 if "left to the card" in how else 0)


def test_the_checksum_of_a_segment_cut_by_the_snapshot_length_is_not_judged(tmp_path):
    whole = ethernet(wrong_checksum(packet) for packet in segments(ipv4))
    frames = [Frame(octets[:60], START_NS + i * STEP_NS, len(octets)) for i, octets in enumerate(whole)]
    (one,) = streams_of([pcap(tmp_path / "a", frames, nano=True)])
    assert one.bad_checksums == [2, 0]  # SYN and one octet lie within 60, the other two do not
