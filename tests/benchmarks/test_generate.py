"""Benchmark captures are sound captures: cloned sessions are whole, apart from each other, in time order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

from benchmarks.generate import generate
from benchmarks.salted import Salted
from benchmarks.sessions import busy
from stompcap.generate.group import FILE_HEADER, Group
from stompcap.generate.wire import STOMP_PORT, Session


def streams(path: Path) -> dict[tuple[str, int, bool], bytes]:
    """The payload of each direction in capture order, by client endpoint, read by scapy; times must not go back."""
    found: dict[tuple[str, int, bool], bytes] = defaultdict(bytes)
    latest = 0.0
    with PcapReader(str(path)) as reader:
        for packet in reader:
            assert packet.time >= latest
            latest = packet.time
            ip, tcp = packet[IP], packet[TCP]
            from_client = tcp.dport == STOMP_PORT
            client = (ip.src, tcp.sport) if from_client else (ip.dst, tcp.dport)
            payload = bytes(tcp.payload)[: ip.len - ip.ihl * 4 - tcp.dataofs * 4]
            found[(*client, from_client)] += payload
    return found


def test_busy_session_counts_its_frames(tmp_path: Path) -> None:
    session = busy(messages=20)
    client = b"".join(packet.octets[54:] for packet in session.packets if packet.from_client)
    server = b"".join(packet.octets[54:] for packet in session.packets if not packet.from_client)
    assert client.count(b"\0") + server.count(b"\0") == session.frames
    assert server.count(b"MESSAGE\n") == client.count(b"ACK\n") == 20


def test_clones_are_whole_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = busy(messages=50)
    monkeypatch.setattr("benchmarks.generate.profile", lambda _: [session, session])
    made = generate(tmp_path / "made.pcap", 0)
    assert made.clones == 0
    group = Group([session, session])
    path = tmp_path / "two.pcap"
    monkeypatch.setattr("benchmarks.generate.MEGA", len(group.octets))
    made = generate(path, 2)
    found = streams(path)
    assert made.clones == 4
    assert Counter(from_client for *_, from_client in found) == {True: 4, False: 4}
    assert len(set(found.values())) == 2
    assert sum(map(len, found.values())) == made.payload_octets
    assert sum(octets.count(b"\0") for octets in found.values()) == made.frames


def test_wire_length_of_cut_packets_is_kept() -> None:
    whole = busy(messages=5)
    cut = [type(p)(p.ns, p.octets[:60], p.wire_octets, p.from_client) for p in whole.packets]
    group = Group([Session("cut", tuple(cut), whole.frames)])
    captured, wire = group.octets[group.start[3] + 8 :][:8].view("<u4")
    assert (captured, wire) == (60, whole.packets[3].wire_octets)


@pytest.mark.slow
def test_clones_of_recorded_traffic_have_bodies_of_their_own_and_sound_checksums(tmp_path: Path) -> None:
    session = busy(messages=50)
    group, path = Salted([session, session]), tmp_path / "two.pcap"
    path.write_bytes(FILE_HEADER + b"".join(bytes(group.clone(number)) for number in range(2)))
    found = streams(path)
    assert len({octets for (*_, from_client), octets in found.items() if from_client}) == 2
    heads = {re.sub(rb"\n\n[^\0]*", b"\n\n", octets) for (*_, from_client), octets in found.items() if from_client}
    assert len(heads) == 1
    with PcapReader(str(path)) as reader:
        for packet in reader:
            sums = packet[IP].chksum, packet[TCP].chksum
            del packet[IP].chksum, packet[TCP].chksum
            anew = IP(bytes(packet[IP]))
            assert sums == (anew.chksum, anew[TCP].chksum)
