"""Fragments put together before TCP: in any order, over batches, cut, overlapping, lost; the same as scapy makes of them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import GRE, IP, TCP, UDP, defrag, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, defragment6, fragment6
from scapy.layers.l2 import Dot1Q, Ether

from stompcap.capture import SEGMENTS, octets, read_segments, survey
from stompcap.capture.fragments import MAX_DATAGRAMS, Defragmenter, Fragment
from tests.capture.packaging import Frame, pcap
from tests.capture.test_segments import ETHER, tcp4, tcp6

T = 1_700_000_000_000_000_000
LONG = bytes(range(256)) * 20


def pieces4(payload=LONG, size=1000, **ip):
    return [ETHER / piece for piece in fragment(tcp4(payload, **ip), size)]


def pieces6(payload=LONG, size=1000, number=9):
    whole = tcp6(payload, IPv6ExtHdrFragment(id=number))
    return [ETHER / piece for piece in fragment6(whole, size)]


def read(folder, packets, batch=65536, step_ns=1_000_000):
    """(packet number, payload, wire octets) of each segment, and the survey."""
    frames = [p if isinstance(p, Frame) else Frame(bytes(p), T + i * step_ns) for i, p in enumerate(packets)]
    path = pcap(folder / "a.pcap", frames, nano=True)
    table = pa.Table.from_batches(read_segments(str(path), 0, batch), SEGMENTS)
    data, found = octets(str(path)), []
    for row in table.to_pylist():
        place = row["file_offset"]
        payload = row["payload"] if place < 0 else data[place : place + row["captured_octets"]].tobytes()
        assert len(payload) == row["captured_octets"]
        assert row["ts_ns"] == frames[row["packet"] - 1].ts_ns
        found.append((row["packet"], payload, row["wire_octets"]))
    facts = survey(str(path), "s")
    assert facts["tcp_segments"] + sum(facts["skipped"].values()) == facts["packets"] == len(frames)
    assert facts["tcp_segments"] == len(found)
    return found, facts["skipped"]


KINDS = {"IPv4": pieces4, "IPv6": pieces6}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_the_fragment_that_completes_a_packet_stands_for_it(tmp_path, kind, batch):
    pieces = KINDS[kind]()
    found, skipped = read(tmp_path, pieces, batch)
    assert found == [(len(pieces), LONG, len(LONG))]
    assert skipped == {"ip_fragment": len(pieces) - 1}


@pytest.mark.parametrize("kind", KINDS)
def test_headers_of_the_whole_are_those_of_the_packet(tmp_path, kind):
    whole = {"IPv4": ETHER / tcp4(LONG), "IPv6": ETHER / tcp6(LONG)}[kind]
    one = pcap(tmp_path / "whole", [Frame(bytes(whole), T)])
    many = pcap(tmp_path / "pieces", [Frame(bytes(piece), T) for piece in KINDS[kind]()])
    rows = [pa.Table.from_batches(read_segments(str(path), 0), SEGMENTS).drop(["packet", "file_offset", "payload"]) for path in (one, many)]
    assert rows[0].equals(rows[1])


@given(
    st.sampled_from(sorted(KINDS)), st.integers(0, 3000), st.integers(60, 1400), st.randoms(use_true_random=False), st.integers(1, 9),
    st.booleans(),
)  # fmt: skip
def test_any_order_and_batch_and_duplicates(tmp_path_factory, kind, octets_, size, random, batch, twice):
    payload = bytes(i * 7 % 251 for i in range(octets_))
    pieces = KINDS[kind](payload, size)
    if len(pieces) == 1:
        return
    random.shuffle(pieces)
    if twice:
        pieces = [piece for piece in pieces[:-1] for _ in (0, 1)] + pieces[-1:]
    found, skipped = read(tmp_path_factory.mktemp("order"), pieces, batch)
    assert found == [(len(pieces), payload, len(payload))]
    assert skipped == {"ip_fragment": len(pieces) - 1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("octets_", "size"), [(5120, 700), (3000, 64), (40_000, 1400)])
def test_scapy_puts_the_same_together(tmp_path, kind, order, octets_, size):
    pieces = KINDS[kind](bytes(i * 7 % 251 for i in range(octets_)), size)[::order]
    read_back = [Ether(bytes(piece)) for piece in pieces]
    whole = defrag(read_back[::order])[1][0] if kind == "IPv4" else defragment6(read_back)
    found, _ = read(tmp_path, pieces)
    assert [payload for _, payload, _ in found] == [bytes(whole[TCP].payload)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lost", [0, 1, -1])
def test_a_packet_that_lacks_a_fragment_is_left_out(tmp_path, kind, lost):
    pieces = KINDS[kind]()
    del pieces[lost]
    assert read(tmp_path, pieces) == ([], {"ip_fragment": len(pieces)})


def test_packets_with_fragments_of_several_are_told_apart(tmp_path):
    first, second, other = pieces4(b"a" * 3000), pieces4(b"b" * 3000), pieces4(b"c" * 3000)
    for piece in second:
        piece[IP].id = 78
    for piece in other:
        piece[IP].dst = "10.0.0.7"
        del piece[IP].chksum
    found, _ = read(tmp_path, [piece for triple in zip(first, second, other, strict=True) for piece in triple])
    assert [payload[:1] for _, payload, _ in found] == [b"a", b"b", b"c"]


def test_vlans_with_the_same_addresses_are_told_apart(tmp_path):
    one, two = ([ETHER / Dot1Q(vlan=vlan) / p[IP] for p in pieces4(bytes([vlan]) * 3000)] for vlan in (5, 6))
    found, _ = read(tmp_path, [piece for pair in zip(one, two, strict=True) for piece in pair])
    assert [payload[:1] for _, payload, _ in found] == [b"\5", b"\6"]


def test_what_is_older_than_a_minute_is_another_packet(tmp_path):
    old, new = pieces4(b"a" * 3000)[:1], pieces4(b"b" * 3000)
    packets = [Frame(bytes(old[0]), T)] + [Frame(bytes(p), T + 61_000_000_000 + i) for i, p in enumerate(new)]
    found, _ = read(tmp_path, packets)
    assert [payload for _, payload, _ in found] == [b"b" * 3000]


def test_the_first_octets_captured_stand_where_fragments_of_ipv4_overlap(tmp_path):
    good, evil = pieces4(b"G" * 3000), pieces4(b"E" * 3000, 1200)
    found, skipped = read(tmp_path, [good[0], evil[1], *good[1:]])
    ((_, payload, _),) = found
    assert len(payload) == 3000
    assert payload[: len(bytes(good[0][IP].payload)) - 20] == b"G" * (len(bytes(good[0][IP].payload)) - 20)
    assert b"E" in payload
    assert skipped["ip_fragment_overlap"] >= 1


def test_a_packet_whose_fragments_overlap_in_ipv6_is_discarded(tmp_path):
    good, evil = pieces6(b"G" * 3000), pieces6(b"E" * 3000, 1200)
    found, skipped = read(tmp_path, [good[0], evil[1], *good[1:]])
    assert found == []
    assert skipped["ip_fragment_overlap"] >= 1


@pytest.mark.parametrize("which", [0, 1, -1])
def test_a_fragment_cut_by_the_snapshot_length_cuts_the_packet(tmp_path, which):
    pieces = [bytes(p) for p in pieces4()]
    frames = [Frame(p, T + i) for i, p in enumerate(pieces)]
    frames[which] = Frame(pieces[which][:-30], frames[which].ts_ns, len(pieces[which]))
    ((_, payload, wire),), _ = read(tmp_path, frames)
    reached = sum(len(p) - 34 for p in pieces[: which % len(pieces) + 1]) - 20 - 30
    assert (payload, wire) == (LONG[:reached], len(LONG))


def test_extension_headers_before_the_fragment_header(tmp_path):
    pieces = [ETHER / IPv6(src="fd00::2", dst="fd00::1") / IPv6ExtHdrHopByHop() / p[IPv6].payload for p in pieces6()]
    assert read(tmp_path, pieces)[0] == [(len(pieces), LONG, len(LONG))]


def test_a_tunnel_in_fragments_is_put_together_and_looked_into(tmp_path):
    whole = IP(src="1.1.1.1", dst="2.2.2.2", id=5) / GRE() / tcp4(LONG)
    pieces = [ETHER / piece for piece in fragment(whole, 900)]
    assert read(tmp_path, pieces)[0] == [(len(pieces), LONG, len(LONG))]


def test_other_protocols_in_fragments_are_no_tcp(tmp_path):
    pieces = [ETHER / piece for piece in fragment(IP(src="1.1.1.1", dst="2.2.2.2", id=5) / UDP() / LONG, 900)]
    assert read(tmp_path, pieces) == ([], {"ip_fragment": len(pieces) - 1, "not_tcp": 1})


def test_a_fragment_is_compared_with_its_neighbours_alone():
    """Overlapping fragments cost what others do: those that touch each other stand as one stretch."""
    begun = Defragmenter()
    for number in range(8000):
        overlap, whole = begun.add(Fragment((1,), b"\x45" + bytes(19), number * 8, 16, bytes(16), last=False), T + number)
        assert (overlap, whole) == (number > 0, None)
    [datagram] = begun.datagrams.values()
    assert (datagram.begins, datagram.ends) == ([0], [8001 * 8])


def test_fragments_without_octets_are_none(tmp_path):
    empty = ETHER / IPv6() / IPv6ExtHdrFragment(id=9, offset=8, m=1, nh=6)
    found, skipped = read(tmp_path, [empty, *pieces6()])
    assert [payload for _, payload, _ in found] == [LONG]
    assert sum(skipped.values()) == len(pieces6())


def test_memory_is_bounded():
    defragmenter = Defragmenter()
    for number in range(3 * MAX_DATAGRAMS):
        defragmenter.add(Fragment((number.to_bytes(8, "big"),), b"\x45" * 20, 0, 60_000, bytes(60_000), False), number)
        assert len(defragmenter.datagrams) <= MAX_DATAGRAMS + 1
        assert defragmenter.octets <= 1 << 26
    again = Fragment((b"x",), b"\x45" * 20, 0, 8, bytes(8), False)
    before = defragmenter.octets
    for _ in range(1000):
        defragmenter.add(again, 0)
    assert defragmenter.octets <= before + 8


@given(st.binary(max_size=120), st.integers(0, 3))
def test_odd_octets_never_raise(tmp_path_factory, tail, version):
    head = bytes(ETHER)[:12] + (b"\x08\0\x45\0\0\x50\0\1\x20\1" if version % 2 else b"\x86\xdd\x60\0\0\0\0\x50\x2c\x40")
    read(tmp_path_factory.mktemp("odd"), [head + tail, head + tail[:10]])


def test_the_rows_come_in_the_order_of_the_file(tmp_path):
    pieces = pieces4(b"f" * 1500)
    found, _ = read(tmp_path, [ETHER / tcp4(b"1"), pieces[0], ETHER / tcp4(b"2"), pieces[1], ETHER / tcp4(b"3")])
    assert np.array_equal([number for number, *_ in found], [1, 3, 4, 5])
