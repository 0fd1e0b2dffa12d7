"""Walking record and block headers: times, places, byte orders, what a file's end looks like."""

import struct
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture.files import open_capture
from stompcap.capture.records import Walk
from stompcap.capture.walk import LAST_S, nanoseconds
from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.timing import assert_linear

T = 1_700_000_000_123_456_789
FRAMES = [Frame(bytes([65 + i]) * (20 + i), T + i * 1_000_003, 20 + i + 5 * i) for i in range(7)]


def walked(path, batch=65536):
    """(octets, original length, time, link type) of each record, and the walk."""
    source = open_capture(str(path))
    walk = Walk(source, batch)
    seen = []
    for records in walk:
        assert records.first == len(seen) + 1
        for i in range(len(records)):
            at, size = int(records.position[i]), int(records.captured[i])
            assert records.begin <= at <= at + size <= records.end
            octets = source.octets[at : at + size].tobytes()
            seen.append((octets, int(records.original[i]), int(records.ts_ns[i]), int(records.links[i])))
    assert walk.packets == len(seen)
    return seen, walk


def expected(items, tick=1, link=1):
    return [(f.octets, f.wire, f.ts_ns // tick * tick, link) for f in items]


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("batch", [1, 3, 7, 100])
def test_pcap_in_both_byte_orders_and_resolutions(tmp_path, big, nano, batch):
    seen, walk = walked(p.pcap(tmp_path / "a", FRAMES, big=big, nano=nano, snaplen=77), batch)
    assert seen == expected(FRAMES, 1 if nano else 1000)
    assert (walk.status, walk.damage, walk.link_types, walk.snaplen) == ("complete", None, [1], 77)


def test_seconds_are_unsigned(tmp_path):
    late = [Frame(b"x", 4_000_000_000_000_000_000)]
    assert walked(p.pcap(tmp_path / "a", late))[0] == expected(late)


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_pcapng_in_both_byte_orders(tmp_path, big, batch):
    seen, walk = walked(p.pcapng(tmp_path / "a", FRAMES, big=big), batch)
    assert seen == expected(FRAMES)
    assert walk.status == "complete"


@pytest.mark.parametrize("resolution", [0, 3, 6, 9, 10, 0x80 | 10, 0x80 | 20, 0x80 | 30])
@pytest.mark.parametrize("offset_s", [0, 1000, -3600])
def test_if_tsresol_and_if_tsoffset(tmp_path, resolution, offset_s):
    base, power = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    count = p.ticks(T, resolution, offset_s)
    path = tmp_path / "a"
    path.write_bytes(p.section() + p.interface(resolution=resolution, offset_s=offset_s) + p.enhanced(FRAMES[0], count))
    assert walked(path)[0][0][2] == offset_s * 10**9 + count * 10**9 // base**power


@given(st.integers(0, 2**62), st.integers(0, 62))
def test_powers_of_two_lose_less_than_a_nanosecond(count, power):
    exact = count * 10**9 // 2**power
    if exact < (LAST_S - 1) * 10**9:
        assert int(nanoseconds(count, 0x80 | power, 0)) == exact


# if_tsresol, if_tsoffset, ticks
NO_TIMES = {
    "beyond 64 bits of nanoseconds": (9, 0, 2**63),
    "all ones": (9, 0, 2**64 - 1),
    "microseconds taken for seconds": (0, 0, T // 1000),
    "microseconds of a million years": (6, 0, 2**63),
    "whole seconds, as a power of two": (0x80, 0, 2**64 - 1),
    "the largest offset": (6, 2**63 - 1, T // 1000),
    "the least offset": (6, -(2**63), T // 1000),
    "before the epoch": (6, -4_000_000_000, 5),
}


@pytest.mark.parametrize("name", NO_TIMES)
@pytest.mark.parametrize("write", [p.enhanced, p.obsolete])
def test_a_time_that_no_packet_has_is_told_and_counts_as_none(tmp_path, name, write):
    resolution, offset_s, count = NO_TIMES[name]
    path = tmp_path / "a"
    path.write_bytes(p.section() + p.interface(resolution=resolution, offset_s=offset_s) + write(FRAMES[0], count) * 3)
    seen, walk = walked(path)
    assert [(octets, ts) for octets, _, ts, _ in seen] == [(FRAMES[0].octets, 0)] * 3
    assert (walk.status, walk.damage.split(" ")[0]) == ("damaged", "3")
    assert "time" in walk.damage


def ticks_at_the_ends():
    """The first and the last time a packet may have, and the ones before and behind."""
    return [(0, -1, 0, False), (0, 0, 0, True), (6, 0, (LAST_S - 1) * 10**6, True), (6, 0, (LAST_S + 1) * 10**6, False)]


@pytest.mark.parametrize(("resolution", "offset_s", "count", "good"), ticks_at_the_ends())
def test_times_from_1970_to_2106_are_times(resolution, offset_s, count, good):
    found = int(nanoseconds(count, resolution, offset_s))
    assert found == offset_s * 10**9 + count * 10**9 // 10**resolution if good else found < 0


@given(st.integers(0, 2**64 - 1), st.integers(0, 255), st.integers(-(2**63), 2**63 - 1))
def test_no_resolution_or_offset_makes_a_time_that_does_not_fit(count, resolution, offset_s):
    base, power = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    exact = offset_s * 10**9 + count * 10**9 // base**power
    found = int(nanoseconds(np.uint64(count).astype(np.int64), resolution, offset_s))
    if 0 <= exact < (LAST_S - 1) * 10**9:
        assert abs(found - exact) <= 1
    elif not -(10**9) <= exact < (LAST_S + 1) * 10**9:
        assert found < 0


@pytest.mark.parametrize("body", [b"", b"\1\0", b"\1\0\0\0"])
def test_an_interface_block_that_is_too_short_is_told_and_counts_as_one(tmp_path, body):
    path = tmp_path / "a"
    stray = p.enhanced(Frame(b"x" * 20, T, interface=1), T // 1000)
    path.write_bytes(p.section() + p.block(1, body) + p.interface() + stray)
    seen, walk = walked(path)
    assert len(seen) == 1
    assert (walk.status, walk.damage) == ("damaged", "the interface block at file offset 28 is too short to be one")


@pytest.mark.parametrize(
    "options",
    [
        struct.pack("<HH", 9, 0xFFFF) + b"\x09" * 4,
        struct.pack("<HH", 9, 4) + b"\x09" * 4,
        struct.pack("<HH", 14, 8) + b"\x7f" * 4,
        struct.pack("<HH", 14, 0xFFFF) + b"\x7f" * 8,
        struct.pack("<HHHH", 2, 0xFFFF, 9, 1) + b"\x09\0\0\0",
        b"\xff" * 3,
    ],
    ids=["resolution too long", "resolution of four octets", "offset cut off", "offset too long", "name beyond the block", "no option"],
)
def test_odd_options_of_an_interface_change_nothing(tmp_path, options):
    path = tmp_path / "a"
    path.write_bytes(p.section() + p.block(1, struct.pack("<HHI", 1, 0, 0) + options) + p.enhanced(FRAMES[0], T // 1000))
    assert walked(path)[0] == expected(FRAMES[:1], 1000)


def unpadded(block, octets):
    """A block that says its length without the padding in front of its trailer."""
    said = struct.pack("<I", len(block) - octets)
    return block[:4] + said + block[8:-4] + said


@pytest.mark.parametrize("octets", [1, 2, 3])
def test_blocks_that_leave_their_padding_out_of_their_length(tmp_path, octets):
    frames = [Frame(b"x" * (24 - octets), T + i) for i in range(3)]
    packets = [unpadded(p.obsolete(frame, frame.ts_ns), octets) for frame in frames]
    path = tmp_path / "a"
    path.write_bytes(p.section() + unpadded(p.interface(resolution=9), octets) + b"".join(packets) + unpadded(p.section(), 0))
    seen, walk = walked(path)
    assert seen == expected(frames)
    assert (walk.status, walk.damage) == ("complete", None)


def test_an_interface_before_every_packet_takes_linear_time(tmp_path):
    def seconds(count):
        path = tmp_path / str(count)
        path.write_bytes(p.section() + (p.interface(resolution=9) + p.enhanced(FRAMES[0], T)) * count)
        begun = time.process_time()
        assert len(walked(path)[0]) == count
        return time.process_time() - begun

    seconds(10)
    assert_linear(seconds, 1000)


def test_interfaces_have_their_own_link_type_and_clock(tmp_path):
    two = [Frame(b"a" * 33, T, interface=1), Frame(b"b" * 20, T + 5)]
    path = tmp_path / "a"
    path.write_bytes(
        p.section() + p.interface(1, 64, 9) + p.interface(101, 128, 6) + p.enhanced(two[0], T // 1000) + p.enhanced(two[1], T + 5)
    )
    seen, walk = walked(path)
    assert seen == [(b"a" * 33, 33, T // 1000 * 1000, 101), (b"b" * 20, 20, T + 5, 1)]
    assert (walk.link_types, walk.snaplen) == ([1, 101], 128)


def test_sections_of_mixed_byte_order_begin_anew(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(
        p.section() + p.interface(1, resolution=9) + p.enhanced(FRAMES[0], T)
        + p.section(True) + p.interface(113, resolution=9, big=True) + p.enhanced(FRAMES[1], T, True)
        + p.section() + p.interface(12) + p.obsolete(FRAMES[2], T // 1000)
    )  # fmt: skip
    seen, walk = walked(path)
    assert [(octets, link) for octets, _, _, link in seen] == [
        (FRAMES[0].octets, 1),
        (FRAMES[1].octets, 113),
        (FRAMES[2].octets, 12),
    ]
    assert walk.status == "complete"


@pytest.mark.parametrize("says", [-1, 0, 28, 1 << 40])
def test_the_length_that_a_section_says_is_not_relied_on(tmp_path, says):
    head = p.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, says))
    part = head + p.interface(resolution=9) + p.enhanced(FRAMES[0], FRAMES[0].ts_ns)
    path = tmp_path / "a"
    path.write_bytes(part + part)
    seen, walk = walked(path)
    assert (seen, walk.status) == (expected([FRAMES[0]] * 2), "complete")


def test_simple_packets_have_no_time_and_are_cut_by_the_snapshot_length(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(p.section() + p.interface(1, snaplen=10) + p.simple(Frame(b"0123456789", original=14)))
    assert walked(path)[0] == [(b"0123456789", 14, 0, 1)]


def test_other_blocks_are_skipped(tmp_path):
    other = p.block(4, b"names" * 3) + p.block(5, b"statistics..") + p.block(0x0BAD, b"custom") + p.block(0x80000001, b"")
    path = tmp_path / "a"
    path.write_bytes(p.section() + other + p.interface(resolution=9) + other + p.enhanced(FRAMES[0], T) + other)
    assert walked(path)[0] == expected([Frame(FRAMES[0].octets, T, FRAMES[0].wire)])


@pytest.mark.parametrize("write", [p.pcap, p.pcapng])
def test_a_file_cut_anywhere_gives_the_whole_records_before(tmp_path, write):
    whole = write(tmp_path / "whole", FRAMES).read_bytes()
    complete, _ = walked(tmp_path / "whole")
    for cut in range(16, len(whole)):
        path = tmp_path / "cut"
        path.write_bytes(whole[:cut])
        seen, walk = walked(path, 4)
        assert seen == complete[: len(seen)]
        if len(seen) < len(complete) and walk.status == "complete":
            assert cut in record_ends(whole, write)
        elif walk.status == "truncated":
            assert str(int(walk.damage.rsplit(" ", 1)[1])) in walk.damage


def record_ends(whole, write):
    """Where a file may end without looking cut."""
    ends, at = set(), 24 if write is p.pcap else 0
    while at < len(whole):
        ends.add(at)
        at += 16 + struct.unpack_from("<I", whole, at + 8)[0] if write is p.pcap else struct.unpack_from("<I", whole, at + 4)[0]
    return ends


def test_a_record_of_absurd_length_is_damage_at_its_offset(tmp_path):
    path = p.pcap(tmp_path / "a", FRAMES[:2])
    at = len(path.read_bytes())
    path.write_bytes(path.read_bytes() + b"\xff" * 40)
    seen, walk = walked(path)
    assert seen == expected(FRAMES[:2], 1000)
    assert walk.status == "damaged"
    assert str(at) in walk.damage


@pytest.mark.parametrize(
    "tail",
    [
        p.block(6, b"\0" * 8),  # too short for a packet
        p.enhanced(Frame(b"x", interface=9), 0),  # an interface never described
        struct.pack("<III", 6, 13, 13) + b"\0" * 8,  # a length no multiple of four
        struct.pack("<III", 5, 12, 16) + b"\0" * 8,  # lengths that differ
    ],
)
def test_an_impossible_block_is_damage(tmp_path, tail):
    path = p.pcapng(tmp_path / "a", FRAMES[:1])
    path.write_bytes(path.read_bytes() + tail)
    seen, walk = walked(path)
    assert len(seen) == 1
    assert walk.status == "damaged"


@given(st.binary(max_size=200), st.sampled_from([b"\xd4\xc3\xb2\xa1", b"\x0a\x0d\x0d\x0a"]))
def test_any_octets_behind_a_magic_end_the_walk(tmp_path_factory, tail, magic):
    path = tmp_path_factory.mktemp("fuzz") / "a"
    path.write_bytes(magic + tail)
    _, walk = walked(path)
    assert walk.status in ("complete", "truncated", "damaged")
