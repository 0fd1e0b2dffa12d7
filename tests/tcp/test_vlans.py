"""Two VLANs may carry the same addresses: two connections where VLAN ids are part of the key, one flow where they are not."""

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1AD, Dot1Q
from scapy.layers.vxlan import VXLAN

from stompcap.options import Options
from stompcap.tcp import reassemble
from tests.capture.packaging import frames, pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import ETHER

FRAME = b"SEND\ndestination:/queue/%d\n\nhello\0"


def conversation(number, wrap):
    """A connection whose octets tell which it is, from the same two endpoints each time."""
    ends = {"sport": 40000, "dport": 61613}
    client, server = IP(src="10.0.0.2", dst="10.0.0.1"), IP(src="10.0.0.1", dst="10.0.0.2")
    packets = [
        client / TCP(**ends, seq=999, flags="S"),
        server / TCP(sport=61613, dport=40000, seq=4999, ack=1000, flags="SA"),
        client / TCP(**ends, seq=1000, ack=5000, flags="PA") / (FRAME % number),
    ]
    return [wrap(packet) for packet in packets]


def vlan(*ids):
    """A wrap in these VLANs, the outer one first."""
    return lambda packet: ETHER / _tags(ids, packet)


def _tags(ids, packet):
    for place, number in reversed(list(enumerate(ids))):
        packet = (Dot1AD if place < len(ids) - 1 else Dot1Q)(vlan=number) / packet
    return packet


def capture(folder, *wraps):
    """The same conversation once in each wrap, packet by packet in turn."""
    spoken = [conversation(number, wrap) for number, wrap in enumerate(wraps)]
    return str(pcap(folder / "a.pcap", frames([packet for turn in zip(*spoken, strict=True) for packet in turn])))


CASES = {
    "two tags": (vlan(1), vlan(2)),
    "a tag and none": (vlan(1), lambda packet: ETHER / packet),
    "outer tags alike": (vlan(7, 1), vlan(7, 2)),
    "inner tags alike": (vlan(1, 7), vlan(2, 7)),
    "tags in a tunnel": tuple(
        lambda packet, n=n: ETHER / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(dport=4789) / VXLAN() / ETHER / Dot1Q(vlan=n) / packet
        for n in (1, 2)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_vlans_are_told_apart_where_asked_for(tmp_path, name):
    path = capture(tmp_path, *CASES[name])
    found = list(reassemble(path, vlan=True))
    assert [c.c2s.chunks for c in found] == [[(0, FRAME % 0)], [(0, FRAME % 1)]]
    assert len({c.stream_id for c in found}) == 2
    (one,) = reassemble(path)
    assert one.c2s.chunks == [(0, FRAME % 0)]


def test_only_tagged_connections_are_named_anew(tmp_path):
    path = capture(tmp_path, lambda packet: ETHER / packet)
    assert [c.stream_id for c in reassemble(path)] == [c.stream_id for c in reassemble(path, vlan=True)]
    path = capture(tmp_path, vlan(3))
    assert [c.stream_id for c in reassemble(path)] != [c.stream_id for c in reassemble(path, vlan=True)]


def test_tables_tell_the_vlan_and_what_lay_around(tmp_path):
    path = capture(tmp_path, *CASES["inner tags alike"])
    streams = tables_of([path], Options(vlan=True))["streams"].select(["encapsulation", "vlan"]).to_pylist()
    assert sorted(row["vlan"] for row in streams) == ["1.7", "2.7"]
    assert {row["encapsulation"] for row in streams} == {"vlan/vlan"}
    assert len(tables_of([path], Options(vlan=True))["frames"]) == 2


def test_without_tunnels_only_outer_packets_are_connections(tmp_path):
    assert tables_of([capture(tmp_path, *CASES["tags in a tunnel"])], Options(tunnels=False)).get("streams") is None
