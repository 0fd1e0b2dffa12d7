"""The order in which packets crossed the wire, of flows whose files, clocks or buffers lost it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.rotation import STEPS
from stompcap.capture.segment_columns import ACK, STEPPED, SYN
from stompcap.codes import BOTH
from stompcap.tcp import WIRE_ORDER, as_they_crossed, reassemble_columns

ENDPOINTS = bytes(10) + b"\xff\xff\x7f\0\0\1" + b"\x10\0" + bytes(10) + b"\xff\xff\x7f\0\0\1" + b"\xf0\xad"
US = 1000
START_NS = 1_700_000_000 * 10**9


@dataclass(frozen=True)
class Packet:
    """A segment as a tap saw it: of the low side or not; `file` and `number` say where it was written."""

    at_ns: int
    low: bool
    seq: int
    ack: int
    size: int
    flags: int = ACK
    file: int = 0
    number: int = 0


@st.composite
def conversations(draw: st.DrawFn, most: int = 30) -> list[Packet]:
    """A connection from its handshake on, on a wire that loses nothing: each side acknowledges what it was sent, or less."""
    sent, heard = [1001, 5001], [1001, 5001]  # next numbers of the low and the high side, and what the other has acknowledged of them
    found = [Packet(START_NS, True, 1000, 0, 0, SYN), Packet(START_NS + US, False, 5000, 1001, 0, SYN | ACK),
             Packet(START_NS + 2 * US, True, 1001, 5001, 0)]  # fmt: skip
    now = START_NS + 2 * US
    for low, pause, size, all_of_it in draw(
        st.lists(st.tuples(st.booleans(), st.integers(1, 10**6), st.integers(0, 500), st.booleans()), min_size=1, max_size=most)
    ):
        now += pause * US
        side = 0 if low else 1
        heard[1 - side] = sent[1 - side] if all_of_it else (heard[1 - side] + sent[1 - side]) // 2
        found.append(Packet(now, low, sent[side], heard[1 - side], size))
        sent[side] += size
    return found


def written(files: Sequence[Sequence[Packet]]) -> list[Packet]:
    """Packets with the place where they are written."""
    return [replace(one, file=file, number=number) for file, some in enumerate(files) for number, one in enumerate(some, 1)]


def table_of(packets: Sequence[Packet]) -> pa.Table:
    """Rows of SEGMENTS in wire order; `place` has the index of each packet."""
    zero = np.zeros(len(packets), np.int64)
    given = {
        "capture": [one.file for one in packets], "packet": [one.number for one in packets], "ts_ns": [one.at_ns for one in packets],
        "endpoints": [ENDPOINTS] * len(packets), "forward": [one.low for one in packets], "seq": [one.seq for one in packets],
        "ack": [one.ack for one in packets], "flags": [one.flags for one in packets], "wire_octets": [one.size for one in packets],
        "captured_octets": [one.size for one in packets], "file_offset": list(range(len(packets))), "payload": [None] * len(packets),
        "bad_checksum": [False] * len(packets),
    }  # fmt: skip
    arrays = [pa.array(given[field.name], field.type) if field.name in given else pa.array(zero).cast(field.type) for field in SEGMENTS]
    return pa.Table.from_arrays(arrays, schema=SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()


def ordered(packets: Sequence[Packet], clocks: Sequence[int] = ()) -> list[Packet]:
    """The packets in the order in which they are taken."""
    found = as_they_crossed(table_of(packets), np.array(clocks, np.int64))
    return [packets[row] for row in found.column("file_offset").to_pylist()]


def numbers(packets: Sequence[Packet]) -> list[tuple[bool, int, int, int, int]]:
    return [(one.low, one.seq, one.ack, one.size, one.flags) for one in packets]


def cut(packets: Sequence[Packet], places: Sequence[int]) -> list[list[Packet]]:
    edges = [0, *sorted({place % len(packets) for place in places} - {0}), len(packets)]
    return [list(packets[begin:end]) for begin, end in pairwise(edges)]


def assert_possible(found: Sequence[Packet]) -> None:
    """Each side's packets are in order, and none is before octets that it acknowledges."""
    reach = {True: 0, False: 0}
    for side in (True, False):
        mine = [(one.seq, one.ack) for one in found if one.low == side]
        assert mine == sorted(mine)
    for one in found:
        reach[one.low] = max(reach[one.low], one.seq + one.size + (one.flags & SYN != 0))
        assert not one.flags & ACK or one.ack <= reach[not one.low]


@given(conversations(), st.lists(st.integers(0, 100), max_size=4))
def test_files_that_were_cut_anywhere_change_nothing(packets, places):
    assert numbers(ordered(written(cut(packets, places)))) == numbers(packets)


@given(conversations(), st.booleans())
def test_a_file_a_direction_changes_nothing_where_times_are_right(packets, low_first):
    sides = [[one for one in packets if one.low == low] for low in (low_first, not low_first)]
    assert numbers(ordered(written(sides))) == numbers(packets)


@given(conversations(), st.integers(-(10**10), 10**10), st.booleans())
def test_nothing_is_before_what_it_acknowledges_however_far_clocks_are_apart(packets, ahead, low_first):
    moved = [replace(one, at_ns=one.at_ns + (0 if one.low else ahead)) for one in packets]
    found = ordered(written([[one for one in moved if one.low == low] for low in (low_first, not low_first)]))
    assert sorted(numbers(found)) == sorted(numbers(packets))
    assert_possible(found)


@given(conversations(), st.lists(st.integers(0, 100), min_size=1, max_size=4), st.data())
def test_a_clock_that_steps_between_files_changes_nothing_where_that_is_known(packets, places, data):
    files, back, clocks = cut(packets, places), 0, []
    moved = []
    for number, some in enumerate(files):
        back += data.draw(st.integers(0, 10**10)) if number else 0
        clocks.append(7 << STEPS | number)
        moved.append([replace(one, at_ns=one.at_ns - back) for one in some])
    assert numbers(ordered(written(moved), clocks)) == numbers(packets)
    marks = as_they_crossed(table_of(written(moved)), np.array(clocks)).column("flags").to_numpy() & STEPPED
    assert np.flatnonzero(marks).tolist() == np.cumsum([len(some) for some in files])[:-1].tolist()


@given(conversations(), st.integers(-(10**9), 10**9))
def test_files_taken_at_once_that_are_named_as_a_rotation_have_no_step(packets, ahead):
    """As eth0.pcap and eth1.pcap are."""
    moved = [replace(one, at_ns=one.at_ns + (0 if one.low else ahead)) for one in packets]
    sides = written([[one for one in moved if one.low == low] for low in (True, False)])
    assert_possible(ordered(sides, [7 << STEPS, 7 << STEPS | 1]))
    last_of_low = max(one.ack for one in packets if one.low)
    if last_of_low > 5001:  # the low side has acknowledged octets, which only a file taken at the same time can have
        assert numbers(ordered(sides, [7 << STEPS, 7 << STEPS | 1])) == numbers(ordered(sides))
        marked = as_they_crossed(table_of(sides), np.array([7 << STEPS, 7 << STEPS | 1])).column("flags").to_numpy() & STEPPED
        assert not marked.any()


@given(conversations(), st.integers(1, 100), st.integers(1, 10**10))
def test_where_files_show_a_step_both_clocks_stepped_before_the_next_packet(packets, place, back):
    """Whatever the connection's own times do."""
    files = cut(packets, [place])
    moved = [files[0], *([replace(one, at_ns=one.at_ns - back) for one in some] for some in files[1:])]
    segments = as_they_crossed(table_of(written(moved)), np.arange(len(files)))
    steps = reassemble_columns(segments, "tap").clock_steps
    if len(files) > 1:
        assert (steps.place[0], steps.side[0]) == (len(files[0]) + 1, BOTH)
    assert (steps.side == BOTH).sum() == len(files) - 1 == len(steps.side)
