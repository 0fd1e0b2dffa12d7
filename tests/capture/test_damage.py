"""Damage inside a capture: what is good on both sides of it is read, and `damage` says where it lies."""

import bz2
import gzip
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import survey
from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.capture.test_records import expected, walked
from tests.capture.test_segments import ETHER, tcp4
from tests.shared import program

T = 1_700_000_000_000_000_000
FRAMES = [Frame(bytes(ETHER / tcp4(bytes([i]) * (i * 7 % 50))), T + i * 1_000_000) for i in range(20)]
WRITERS = {"pcap": p.pcap, "modified": p.modified_pcap, "pcapng": p.pcapng}
HEAD = {"pcap": 16, "modified": 24, "pcapng": 28}


def starts(kind):
    """Where each frame's record or block begins."""
    at, places = {"pcap": 24, "modified": 24, "pcapng": len(p.section() + p.interface(resolution=9))}[kind], []
    for frame in FRAMES:
        places.append(at)
        at += HEAD[kind] + len(frame.octets) if kind != "pcapng" else len(p.enhanced(frame, 0))
    return places


def damaged(tmp_path, kind, at, octets, insert=False):
    """(packets read, the walk) of a file with these octets written over those at `at`, or put in between."""
    path = WRITERS[kind](tmp_path / "a", FRAMES)
    content = path.read_bytes()
    path.write_bytes(content[:at] + octets + content[at + (0 if insert else len(octets)) :])
    return walked(path, 5)


def kept(seen):
    """Which of the frames were read, by their time."""
    times = {frame.ts_ns: i for i, frame in enumerate(FRAMES)}
    return [times[ts] for _, _, ts, _ in seen if ts in times]


@pytest.mark.parametrize("big", [False, True])
def test_modified_headers_are_longer(tmp_path, big):
    seen, walk = walked(p.modified_pcap(tmp_path / "a", FRAMES, big=big))
    assert seen == expected(FRAMES, 1000)
    assert walk.status == "complete"


def test_wireshark_reads_the_modified_headers_that_the_tests_write(tmp_path):
    path = p.modified_pcap(tmp_path / "a", FRAMES)
    said = subprocess.run([program("capinfos"), "-Mc", path], capture_output=True, text=True, check=True).stdout
    assert said.split()[-1] == str(len(FRAMES))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("length", [0xFFFFFFFF, 0x01000001, 0x00800000, 1, 3, 90, 1500])
@pytest.mark.parametrize("which", [0, 7, 18])
def test_a_wrong_length_costs_one_packet_at_most(tmp_path, kind, length, which):
    field = 4 if kind == "pcapng" else 8
    seen, walk = damaged(tmp_path, kind, starts(kind)[which] + field, struct.pack("<I", length))
    assert set(range(20)) - set(kept(seen)) <= {which}
    assert walk.status == "damaged"
    assert "offset" in walk.damage
    assert walk.packets == len(seen)


@pytest.mark.parametrize("kind", WRITERS)
def test_the_place_is_named(tmp_path, kind):
    places = starts(kind)
    _, walk = damaged(tmp_path, kind, places[7] + (4 if kind == "pcapng" else 8), b"\xff" * 4)
    assert walk.damage == f"no valid record at file offset {places[7]}, the next at file offset {places[8]}"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("junk", [b"\xff" * 300, bytes(300), b"lorem ipsum " * 50, b"x"], ids=["ones", "zeros", "text", "one octet"])
def test_octets_put_between_records_are_passed_over(tmp_path, kind, junk):
    seen, walk = damaged(tmp_path, kind, starts(kind)[9], junk, insert=True)
    assert set(kept(seen)) == set(range(20))
    assert walk.status == "damaged"


@pytest.mark.parametrize("kind", WRITERS)
def test_damage_and_a_cut_are_both_told(tmp_path, kind):
    path = WRITERS[kind](tmp_path / "a", FRAMES)
    content = bytearray(path.read_bytes())
    at = starts(kind)[4] + (4 if kind == "pcapng" else 8)
    content[at : at + 4] = b"\xff" * 4
    path.write_bytes(content[:-3])
    row = survey(str(path), "s")
    assert (row["status"], row["packets"]) == ("damaged", 18)
    assert row["tcp_segments"] + sum(row["skipped"].values()) == 18
    assert "cut off" in row["damage"]


def test_many_flaws_are_counted(tmp_path):
    path = tmp_path / "a"
    bad = b"".join(p.block(5, b"....") * 4 + b"\xff" * 20 for _ in range(12))
    path.write_bytes(p.section() + p.interface(resolution=9) + bad + b"".join(p.enhanced(f, f.ts_ns) for f in FRAMES))
    seen, walk = walked(path)
    assert len(seen) == 20
    assert walk.damage.count("no valid record") == 8
    assert walk.damage.endswith("; and 4 more")


def test_a_packet_of_an_interface_never_described_costs_itself_alone(tmp_path):
    path = tmp_path / "a"
    stray = p.enhanced(Frame(b"x", interface=9), 0)
    path.write_bytes(p.section() + p.interface(resolution=9) + b"".join(p.enhanced(f, f.ts_ns) + stray for f in FRAMES))
    seen, walk = walked(path)
    assert kept(seen) == list(range(20))
    assert walk.damage.startswith("20 packet blocks that cannot be, the first at file offset")


def test_a_section_header_that_is_damaged(tmp_path):
    one = p.section() + p.interface(resolution=9) + b"".join(p.enhanced(f, f.ts_ns) for f in FRAMES[:10])
    two = bytearray(p.section() + p.interface(resolution=9) + b"".join(p.enhanced(f, f.ts_ns) for f in FRAMES[10:]))
    two[8:12] = b"\0\0\0\0"
    path = tmp_path / "a"
    path.write_bytes(one + two)
    seen, walk = walked(path)
    assert kept(seen) == list(range(20))
    assert walk.status == "damaged"


@pytest.mark.parametrize(
    "odd",
    [
        {"step": 400 * 86400 * 10**9},  # days between records
        {"longer": -5},  # more captured than was on the wire
    ],
)
def test_odd_headers_of_sound_files_are_believed(tmp_path, odd):
    items = [Frame(f.octets, T + i * odd.get("step", 1000), len(f.octets) + odd.get("longer", 0)) for i, f in enumerate(FRAMES[:5])]
    seen, walk = walked(p.pcap(tmp_path / "a", items), 2)
    assert seen == expected(items, 1000)
    assert walk.status == "complete"


@pytest.mark.parametrize("kind", WRITERS)
def test_room_never_written_to_holds_no_packets(tmp_path, kind):
    path = WRITERS[kind](tmp_path / "a", FRAMES)
    path.write_bytes(path.read_bytes() + bytes(4096))
    row = survey(str(path), "s")
    assert (row["status"], row["packets"], row["first_ns"]) == ("damaged", 20, T)


def test_a_record_of_no_octets_is_one_if_it_has_a_time(tmp_path):
    """As capinfos counts; what is all zeros was never written to."""
    path = p.pcap(tmp_path / "a", FRAMES[:3])
    path.write_bytes(path.read_bytes() + struct.pack("<IIII", 0, 3_841_916_976, 0, 0))
    seen, walk = walked(path)
    assert len(seen) == 4
    assert walk.status == "complete"


def test_odd_records_among_others_are_of_a_piece_with_them(tmp_path):
    items = [Frame(f.octets, f.ts_ns, len(f.octets) - (4 if i in (5, 6, 12, 13, 14) else 0)) for i, f in enumerate(FRAMES)]
    seen, walk = walked(p.pcap(tmp_path / "a", items), 3)
    assert seen == expected(items, 1000)
    assert walk.status == "complete"


def test_captures_put_one_behind_the_other_as_they_are(tmp_path):
    one, two = p.pcap(tmp_path / "one", FRAMES[:10]).read_bytes(), p.pcap(tmp_path / "two", FRAMES[10:]).read_bytes()
    path = tmp_path / "a"
    path.write_bytes(one + two)
    seen, walk = walked(path)
    assert kept(seen) == list(range(20))
    assert walk.status == "damaged"


def test_a_fraction_of_a_whole_second_is_believed(tmp_path):
    path = p.pcap(tmp_path / "a", FRAMES)
    content = bytearray(path.read_bytes())
    at = starts("pcap")[6]
    content[at + 4 : at + 8] = struct.pack("<I", 1_000_000)
    path.write_bytes(content)
    seen, walk = walked(path)
    assert (len(seen), walk.status) == (20, "complete")


LONGEST_RECORD = 160  # octets of the longest one of FRAMES, in any of the formats


@given(st.sampled_from(sorted(WRITERS)), st.integers(0, 1700), st.binary(min_size=1, max_size=40), st.booleans())
def test_damage_anywhere_leaves_the_rest(tmp_path_factory, kind, at, octets, insert):
    folder = tmp_path_factory.mktemp("damage")
    whole, path = WRITERS[kind](folder / "whole", FRAMES).read_bytes(), folder / "a"
    at = 120 + at % (len(whole) - 120)  # behind the file's headers
    content = whole[:at] + octets + whole[at + (0 if insert else len(octets)) :]
    path.write_bytes(content)
    seen, _ = walked(path, 7)
    touched = {i for i, start in enumerate(starts(kind)) if start - 1 <= at + len(octets) and at <= start + LONGEST_RECORD}
    before_and_behind = set(range(20)) - touched
    assert before_and_behind - set(kept(seen)) <= {18, 19}  # a chain needs more records than are left there
    assert walked(path, 1)[0] == seen


def test_damage_in_a_compressed_capture_and_any_window(tmp_path, monkeypatch):
    frames = [Frame(f.octets, T + i * 1_000_000) for i, f in enumerate(FRAMES * 30)]
    content = bytearray(p.pcap(tmp_path / "plain", frames, nano=True).read_bytes())
    for at in (5000, 20000, 33000):
        content[at : at + 60] = b"\xff" * 60
    plain, path = tmp_path / "plain", tmp_path / "a"
    plain.write_bytes(content)
    path.write_bytes(bz2.compress(bytes(content)))
    expected_octets = [octets for octets, *_ in walked(plain)[0]]
    monkeypatch.setattr("stompcap.capture.compressed.CHUNK_OCTETS", 97)
    for window in (200, 1000, 7000):
        monkeypatch.setattr("stompcap.capture.compressed.Decompressed.more.__defaults__", (window,))
        row = survey(str(path), "s")
        assert (row["status"], row["packets"]) == ("damaged", len(expected_octets))
        assert "decompressed offset" in row["damage"]


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_the_place_of_damage_without_an_end_is_where_it_begins(tmp_path, kind, compressed):
    """Behind it more is searched than a window of decompressed octets holds: its place is of all octets, not of that window."""
    content = WRITERS[kind](tmp_path / "a", FRAMES).read_bytes()
    octets = content + b"\xff" * (1 << 25)
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(octets, 1) if compressed else octets)
    row = survey(str(path), "default")
    assert row["packets"] == len(FRAMES)
    assert f"at {'decompressed' if compressed else 'file'} offset {len(content)}" in row["damage"]
