"""Link layers and IP: the same TCP segment comes out of every packaging, and what is left out is counted by its reason."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN

from stompcap.capture import SEGMENTS, octets, read_segments, survey
from tests.capture.packaging import Frame, pcap
from tests.examples import one_in

PAYLOAD = b"SEND\ndestination:/queue/a\n\nhello\0"
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def tcp4(payload=PAYLOAD, **ip):
    return IP(src="10.0.0.2", dst="10.0.0.1", id=77, ttl=63, **ip) / TCP(
        sport=40000, dport=61613, seq=4294967290, ack=17, flags="PA", window=501
    ) / payload  # fmt: skip


def tcp6(payload=PAYLOAD, extension=None):
    tcp = TCP(sport=40000, dport=61613, seq=4294967290, ack=17, flags="PA", window=501) / payload
    ip = IPv6(src="fd00::2", dst="fd00::1", hlim=62)
    return ip / tcp if extension is None else ip / extension / tcp


def read(tmp_path, frame, link=1, original=None):
    """(rows, payloads, survey) of a capture with one frame."""
    path = pcap(tmp_path / "one.pcap", [Frame(bytes(frame), original=original)], link)
    table = pa.Table.from_batches(read_segments(str(path), 3), SEGMENTS)
    rows, data = table.to_pylist(), octets(str(path))
    at = [r["file_offset"] for r in rows]
    found = [r["payload"] if i < 0 else data[i : i + r["captured_octets"]].tobytes() for i, r in zip(at, rows, strict=True)]
    facts = survey(str(path), "s")
    assert facts["tcp_segments"] + sum(facts["skipped"].values()) == facts["packets"] == 1
    assert facts["tcp_segments"] == len(rows)
    return rows, found, facts


LINKS = {
    "Ethernet": (1, ETHER / tcp4()),
    "802.1Q": (1, ETHER / Dot1Q(vlan=5) / tcp4()),
    "802.1ad and 802.1Q": (1, ETHER / Dot1AD(vlan=7) / Dot1Q(vlan=5) / tcp4()),
    "three tags": (1, ETHER / Dot1Q(vlan=7) / Dot1Q(vlan=5) / Dot1Q(vlan=6) / tcp4()),
    "Linux cooked": (113, bytes(10) + b"\0\6" + b"\0\0" + b"\x08\0" + bytes(tcp4())),
    "Linux cooked, a tag": (113, bytes(14) + b"\x81\0\0\5\x08\0" + bytes(tcp4())),
    "Linux cooked 2": (276, b"\x08\0" + bytes(18) + bytes(tcp4())),
    "raw 101": (101, tcp4()),
    "raw 12": (12, tcp4()),
    "raw 14": (14, tcp4()),
    "IPv4": (228, tcp4()),
    "null, little endian": (0, b"\2\0\0\0" + bytes(tcp4())),
    "null, big endian": (0, b"\0\0\0\2" + bytes(tcp4())),
    "loop": (108, b"\0\0\0\2" + bytes(tcp4())),
    "IP options": (1, ETHER / tcp4(options=b"\x94\4\0\0")),
    "padding": (1, bytes(ETHER / tcp4()) + b"\0" * 11),
}
TUNNELS = {
    "SNAP": Dot3(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=0x800) / tcp4(),
    "MPLS": ETHER / MPLS(label=5, s=0) / MPLS(label=6, s=1) / tcp4(),
    "PPPoE": ETHER / PPPoE(sessionid=1) / PPP(proto=0x21) / tcp4(),
    "IP in IP": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / tcp4(),
    "IP in IPv6": ETHER / IPv6(src="::2", dst="::3") / tcp4(),
    "GRE": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / GRE() / tcp4(),
    "GRE with Ethernet": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / GRE(proto=0x6558) / ETHER / tcp4(),
    "VXLAN": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=9, dport=4789) / VXLAN(vni=5) / ETHER / tcp4(),
    "Geneve": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=9, dport=6081) / GENEVE(vni=5) / ETHER / tcp4(),
    "GTP-U": ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / tcp4(),
}


def check(rows, found, address=b"\0" * 10 + b"\xff\xff\x0a\0\0", ip_id=77, ttl=63):
    (row,) = rows
    assert found == [PAYLOAD]
    assert row["endpoints"] == address + b"\1" + (61613).to_bytes(2, "big") + address + b"\2" + (40000).to_bytes(2, "big")
    assert (row["capture"], row["packet"], row["ts_ns"]) == (3, 1, 1_700_000_000_000_000_000)
    assert (row["forward"], row["seq"], row["ack"], row["flags"], row["window"]) == (False, 4294967290, 17, 24, 501)
    assert (row["ip_id"], row["ttl"]) == (ip_id, ttl)
    assert row["wire_octets"] == row["captured_octets"] == len(PAYLOAD)


@pytest.mark.parametrize("name", LINKS)
def test_every_link_layer_gives_the_same_segment_in_place(tmp_path, name):
    link, frame = LINKS[name]
    rows, found, _ = read(tmp_path, frame, link)
    assert rows[0]["file_offset"] >= 0
    check(rows, found)


@pytest.mark.parametrize("name", TUNNELS)
def test_the_flow_in_a_tunnel_is_the_one_that_counts(tmp_path, name):
    rows, found, _ = read(tmp_path, TUNNELS[name])
    assert rows[0]["file_offset"] >= 0
    check(rows, found)


@pytest.mark.parametrize(
    "extension",
    [None, IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(), IPv6ExtHdrRouting(), IPv6ExtHdrFragment(offset=0, m=0)],
    ids=["none", "hop by hop", "destination", "routing", "atomic fragment"],
)
@pytest.mark.parametrize(("link", "head"), [(1, bytes(ETHER)[:12] + b"\x86\xdd"), (229, b""), (101, b""), (0, b"\x1c\0\0\0")])
def test_ipv6_and_its_extension_headers(tmp_path, extension, link, head):
    rows, found, _ = read(tmp_path, head + bytes(tcp6(extension=extension)), link)
    check(rows, found, b"\xfd" + bytes(14), -1, 62)


@pytest.mark.parametrize(
    ("link", "frame", "reason"),
    [
        (1, ETHER / ARP(), "not_ip"),
        (1, Dot3(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / LLC(dsap=0x42, ssap=0x42, ctrl=3) / b"spanning tree", "not_ip"),
        (0, b"\x07\0\0\0" + bytes(60), "not_ip"),
        (1, ETHER / IP() / UDP() / b"x", "not_tcp"),
        (1, ETHER / IP() / ICMP(), "not_tcp"),
        (1, ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / GRE() / IP() / UDP(), "not_tcp"),
        (1, ETHER / tcp4(flags="MF"), "ip_fragment"),
        (1, ETHER / tcp4(frag=4), "ip_fragment"),
        (1, ETHER / tcp6(extension=IPv6ExtHdrFragment(offset=0, m=1)), "ip_fragment"),
        (1, ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / tcp4(flags="MF"), "ip_fragment"),
        (1, b"\0" * 13, "malformed"),
        (1, bytes(ETHER / tcp4())[:40], "malformed"),
        (1, bytes(ETHER)[:12] + b"\x08\0" + b"\x75" + bytes(60), "malformed"),
        (1, ETHER / IP(src="10.0.0.2", dst="10.0.0.1") / TCP(dataofs=3) / b"x", "malformed"),
        (1, ETHER / IP(src="10.0.0.2", dst="10.0.0.1", len=30) / TCP() / b"x", "malformed"),
        (9999, b"whatever", "link_type"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_counted_by_reason(tmp_path, link, frame, reason):
    rows, _, facts = read(tmp_path, frame, link)
    assert rows == []
    assert facts["skipped"] == {reason: 1}


@pytest.mark.parametrize("frame", [ETHER / tcp4(), TUNNELS["VXLAN"], TUNNELS["GTP-U"]], ids=["plain", "tunnel", "scapy"])
def test_the_snapshot_length_cuts_octets_but_not_the_length(tmp_path, frame):
    whole = bytes(frame)
    rows, found, _ = read(tmp_path, whole[:-9], original=len(whole))
    assert found == [PAYLOAD[:-9]]
    assert (rows[0]["wire_octets"], rows[0]["captured_octets"]) == (len(PAYLOAD), len(PAYLOAD) - 9)


def test_an_ip_length_of_zero_means_all_that_was_captured(tmp_path):
    whole = bytes(ETHER / tcp4(len=0))
    assert read(tmp_path, whole)[1] == [PAYLOAD]
    rows, found, _ = read(tmp_path, whole[:-3], original=len(whole))
    assert (found, rows[0]["wire_octets"]) == ([PAYLOAD[:-3]], len(PAYLOAD))


def test_segments_above_64_kib_are_read_whole(tmp_path):
    big = b"x" * 100_000
    ip = IPv6(src="fd00::2", dst="fd00::1", plen=0) / TCP(sport=40000, dport=61613) / big
    rows, found, _ = read(tmp_path, ETHER / ip)
    assert found == [big]
    assert rows[0]["wire_octets"] == 100_000


@one_in(3)
@given(st.integers(1, 40), st.lists(st.sampled_from(sorted(TUNNELS) + ["arp"] + ["plain"] * 3), max_size=20))
def test_any_batch_size_gives_the_same_segments(tmp_path_factory, batch, names):
    folder = tmp_path_factory.mktemp("batches")
    known = {"arp": ETHER / ARP(), "plain": ETHER / tcp4(), **TUNNELS}
    path = pcap(folder / "a.pcap", [Frame(bytes(known[name]), 10**18 + i) for i, name in enumerate(names)], nano=True)
    whole = pa.Table.from_batches(read_segments(str(path), 0), SEGMENTS).combine_chunks()
    parts = pa.Table.from_batches(read_segments(str(path), 0, batch), SEGMENTS).combine_chunks()
    assert parts.equals(whole)
