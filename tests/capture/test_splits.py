"""A capture read in parts gives the rows that it gives in one piece: any format, any size of the parts, damage and fragments included."""

import struct
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from stompcap.capture import PACKETS, SEGMENTS, examine, packets, read_segments
from stompcap.capture.fragments import Defragmenter, Fragment
from stompcap.capture.splits import SMALLEST_OCTETS
from tests.capture import packaging as p
from tests.examples import slow_behind

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def traffic(count=60, size=700):
    """Segments of both IP versions, every third of them in four fragments that lie between the packets behind it."""
    found, waiting = [], []
    for i in range(count):
        tcp = TCP(sport=1000 + i % 7, dport=61613, seq=i * size) / (bytes([i % 256]) * size)
        if i % 3:
            found.append(ETHER / (IPv6(src="fd00::1", dst="fd00::2") if i % 2 else IP(src="10.0.0.1", dst="10.0.0.2")) / tcp)
        else:
            waiting += fragment(ETHER / IP(src="10.0.0.3", dst="10.0.0.4", id=i) / tcp, 200)
        found += [waiting.pop(0) for _ in range(2) if waiting and i > 5]
    return p.frames(found + waiting)


FRAMES = traffic()


def swapped(path):
    """Two sections of different byte order, the second one's interfaces other ones."""
    half = len(FRAMES) // 2
    p.pcapng(path, FRAMES[:half])
    first = path.read_bytes()
    p.pcapng(path, [p.Frame(f.octets, f.ts_ns, interface=1) for f in FRAMES[half:]], resolution=6, big=True)
    path.write_bytes(first + path.read_bytes())
    return path


def damaged(path, write, at=(0.3, 0.7), width=30):
    """A file with octets overwritten in some places, and its end cut off."""
    octets = bytearray(write(path).read_bytes())
    for share in at:
        begin = int(len(octets) * share)
        octets[begin : begin + width] = b"\xff" * width
    path.write_bytes(octets[:-11])
    return path


WRITERS = {
    "pcap": lambda path: p.pcap(path, FRAMES, nano=True),
    "big endian": lambda path: p.pcap(path, FRAMES, big=True),
    "modified": lambda path: p.modified_pcap(path, FRAMES),
    "pcapng": lambda path: p.pcapng(path, FRAMES),
    "sections": swapped,
    "damaged pcap": lambda path: damaged(path, WRITERS["pcap"]),
    "damaged pcapng": lambda path: damaged(path, WRITERS["pcapng"]),
}


def rows(batches):
    return pa.Table.from_batches(batches, SEGMENTS).to_pylist()


@pytest.fixture(scope="module", params=list(WRITERS))
def capture(request, tmp_path_factory):
    path = str(WRITERS[request.param](tmp_path_factory.mktemp("splits") / "a"))
    return path, rows(read_segments(path, 3)), request.param


@pytest.mark.parametrize(
    ("every", "batch"),
    slow_behind(3, [(100, 1), (1000, 65_536), (1 << 30, 1), (1, 65_536), (5000, 1), (1 << 30, 65_536)], several=True),
)
def test_the_parts_give_what_the_whole_gives(capture, every, batch):
    path, whole, name = capture
    found = examine(path, "s", every)
    assert found.row == examine(path, "s").row
    assert found.row["tcp_segments"] == len(whole) > 15
    assert (found.row["status"] == "complete") == ("damaged" not in name)
    assert rows(one for split in found.splits for one in read_segments(split, 3, batch)) == whole
    assert sum(split.octets for split in found.splits) == found.row["used_octets"]
    if every == 1:
        assert len(found.splits) == found.row["packets"]
    friendly = [pa.Table.from_batches((part for one in what for part in packets(one)), PACKETS) for what in ([path], found.splits)]
    assert friendly[0].to_pylist() == friendly[1].to_pylist()


@given(st.sampled_from(["pcap", "pcapng"]), st.lists(st.tuples(st.floats(0, 1), st.integers(1, 60)), max_size=4), st.integers(1, 4000))
def test_any_damage_is_the_same_in_parts(tmp_path_factory, kind, places, every):
    path = WRITERS[kind](tmp_path_factory.mktemp("damage") / "a")
    octets = bytearray(path.read_bytes())
    for share, width in places:
        begin = 24 + int((len(octets) - 24) * share)
        octets[begin : begin + width] = np.random.default_rng(width).integers(0, 256, width, np.uint8).tobytes()[: len(octets) - begin]
    path.write_bytes(octets)
    found = examine(str(path), "s", every)
    assert rows(one for split in found.splits for one in read_segments(split, 0)) == rows(read_segments(str(path), 0))


def test_a_part_ends_where_the_next_begins(tmp_path):
    path = str(p.pcap(tmp_path / "a", FRAMES * 40))
    parts = examine(path, "s", SMALLEST_OCTETS).splits
    assert len(parts) > 10
    for one, other in pairwise(parts):
        assert one.end == other.begin
        assert SMALLEST_OCTETS <= one.octets < SMALLEST_OCTETS + 1000


def test_what_is_written_behind_the_surveyed_octets_is_left_out(tmp_path):
    path = p.pcap(tmp_path / "a", FRAMES)
    parts = examine(str(path), "s").splits
    before = rows(read_segments(parts[0], 0))
    with path.open("ab") as file:
        file.write(path.read_bytes()[24:])
    assert rows(one for split in parts for one in read_segments(split, 0)) == before


def fragments(count, octets=1000):
    """First fragments of datagrams that never get another one."""
    return [Fragment((struct.pack(">I", i),), b"\x45" + bytes(19), 0, octets, bytes(octets), False) for i in range(count)]


def test_a_place_with_too_many_fragments_is_no_end(tmp_path, monkeypatch):
    monkeypatch.setattr("stompcap.capture.splits.PENDING_OCTETS", 500)
    path = str(p.pcap(tmp_path / "a", FRAMES))
    found = examine(path, "s", 1)
    assert 1 < len(found.splits) < found.row["packets"]
    assert rows(one for split in found.splits for one in read_segments(split, 0)) == rows(read_segments(path, 0))


def test_a_saved_state_goes_on():
    one = Defragmenter()
    for i, piece in enumerate(fragments(20)):
        one.add(piece, i)
    two = Defragmenter.restored(one.saved(1 << 20))
    assert (two.octets, list(two.datagrams.items())) == (one.octets, list(one.datagrams.items()))
    assert one.saved(19_999) is None
    assert Defragmenter.restored(Defragmenter().saved(0)).datagrams == {}


def test_fragments_that_waited_a_minute_are_given_up():
    one = Defragmenter()
    for i, piece in enumerate(fragments(20)):
        one.add(piece, i * 10_000_000_000)
    assert len(one.datagrams) == 7
    assert one.octets == 7000
