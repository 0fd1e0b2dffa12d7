"""Packets that two captures of one source have: of two capture points at different times, the same packets again at equal times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.segment_columns import ELSEWHERE
from stompcap.tcp import Reassembly, reassemble_columns
from stompcap.tcp.capture_points import CapturePoints
from stompcap.tcp.flows import in_wire_order

MS = 1_000_000
START = 1_700_000_000 * 1_000 * MS
SYN, ACK, PSH, FIN, RST = 2, 16, 8, 1, 4
LOW, HIGH = True, False
ENDS = bytes(range(16)) + b"\xef\x01" + bytes(range(16, 32)) + b"\xf0\x02"

Packet = dict[str, Any]


def packet(low: bool, seq: int, ack: int, flags: int, octets: int = 0, window: int = 500) -> Packet:
    return {"forward": low, "seq": seq % 2**32, "ack": ack % 2**32, "flags": flags, "wire_octets": octets, "window": window}


def conversation(rounds: int, isn: int = 1000, port: int = 0) -> list[Packet]:
    """A connection from its SYN to its FINs, with acknowledgements of their own."""
    low, high = isn + 1, isn + 70_001
    found = [packet(LOW, isn, 0, SYN), packet(HIGH, high - 1, low, SYN | ACK), packet(LOW, low, high, ACK)]
    for number in range(rounds):
        found += [packet(LOW, low, high, ACK | PSH, 100 + number), packet(HIGH, high, low + 100 + number, ACK)]
        low += 100 + number
        found += [packet(HIGH, high, low, ACK | PSH, 300), packet(LOW, low, high + 300, ACK)]
        high += 300
    found += [packet(LOW, low, high, FIN | ACK), packet(HIGH, high, low + 1, FIN | ACK), packet(LOW, low + 1, high + 1, ACK)]
    return [one | {"flow": port} for one in found]


def with_times(packets: Sequence[Packet], named: bool = True) -> list[Packet]:
    """Packets one after another, with identifications of their own, or none."""
    counts = {LOW: 100, HIGH: 40_000}
    found = []
    for number, one in enumerate(packets):
        counts[one["forward"]] += 1
        found.append(one | {"ts_ns": START + number * 7 * MS, "ip_id": counts[one["forward"]] if named else -1})
    return found


def segments(*captures: Sequence[Packet]) -> pa.Table:
    """The rows of captures, given in the order of their first packets."""
    rows = [
        {"capture": rank, "packet": number + 1, "endpoints": ENDS, "ttl": 64, "captured_octets": one["wire_octets"], "bad_checksum": False,
         "file_offset": number * 2000, "outer": 0, "earlier": 0, "payload": None} | one
        for rank, packets in enumerate(captures)
        for number, one in enumerate(packets)
    ]  # fmt: skip
    return in_wire_order(pa.Table.from_pylist(rows, SEGMENTS))


def told(*captures: Sequence[Packet]) -> tuple[Reassembly, dict[tuple[int, int], int]]:
    points = CapturePoints()
    return reassemble_columns(points.marked(segments(*captures))), dict(points.shared)


def seen(found: Reassembly, *, copies: bool = False) -> dict[str, Any]:
    """All that is known of the connections; of the packets that the capture has twice only with `copies`."""
    streams = found.streams
    columns = {one.name: getattr(streams, one.name) for one in fields(streams) if one.name not in ("stream_id", "history", "sides")}
    columns |= {one.name: getattr(streams.sides, one.name) for one in fields(streams.sides)}
    if not copies:
        del columns["duplicate_segments"]
    told_of = {name: column.tolist() for name, column in columns.items()}
    told_of |= {"ids": streams.stream_id.to_pylist(), "letters": streams.history}
    extents = [getattr(found.extents, name).tolist() for name in ("stream", "side", "offset", "length")]
    return told_of | {"extents": extents, "overlaps": len(found.overlaps), "again": len(found.retransmissions.ts_ns)}


def at_another_point(packets: Sequence[Packet], delay_ns: int, lost: Sequence[int] = ()) -> list[Packet]:
    """What another tap has of packets."""
    return [one | {"ts_ns": one["ts_ns"] + delay_ns, "ttl": 63} for number, one in enumerate(packets) if number not in lost]


@pytest.mark.parametrize("named", [True, False], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("delay_ns", [1, 200_000, 5 * MS, 3_600_000 * MS, -3_600_000 * MS])
def test_the_point_that_begins_first_gives_all_rows(named: bool, delay_ns: int) -> None:
    one = with_times(conversation(20), named)
    alone, _ = told(one)
    both, shared = told(one, at_another_point(one, delay_ns))
    assert seen(both) == seen(alone)
    assert both.streams.sides.duplicate_segments.tolist() == [[20, 20]]
    assert shared == {(0, 1): sum(named or packet["wire_octets"] > 0 or packet["flags"] & (SYN | FIN) != 0 for packet in one)}


@given(
    st.integers(3, 12), st.booleans(), st.integers(-10_000 * MS, 10_000 * MS).filter(bool), st.sets(st.integers(0, 60), max_size=12),
    st.sets(st.integers(0, 60), max_size=12), st.integers(0, 20), st.integers(0, 20),
)  # fmt: skip
def test_losses_and_beginnings_of_another_point_change_nothing(
    rounds: int, named: bool, delay_ns: int, lost: set[int], lost_there: set[int], begin: int, behind: int
) -> None:
    packets = with_times(conversation(rounds), named)
    one = [packet for number, packet in enumerate(packets) if number not in lost]
    other = at_another_point(packets, delay_ns, sorted(lost_there))[min(begin, 8) : len(packets) - min(behind, 8)]
    common = {packet["ip_id"] if named else (packet["seq"], packet["ack"], packet["flags"]) for packet in one}
    common &= {packet["ip_id"] if named else (packet["seq"], packet["ack"], packet["flags"]) for packet in other}
    if 3 * len(common) < 2 * max(len(one), len(other)) or len(common) < 8:
        return  # too little of both to tell
    both, _ = told(one, other)
    assert seen(both) == seen(told(one)[0])


@pytest.mark.parametrize("named", [True, False], ids=["IPv4", "IPv6"])
def test_files_that_overlap_have_each_packet_once(named: bool) -> None:
    packets = with_times(conversation(3000), named)
    whole = seen(told(packets)[0])
    for one, other in ((packets[:9000], packets[3000:]), (packets, packets[4000:5000]), (packets, packets)):
        both, shared = told(one, other)
        assert seen(both) == whole
        assert shared == {}
        twice = sum(packet["wire_octets"] > 0 for packet in other) - sum(packet["wire_octets"] > 0 for packet in packets[len(one) :])
        assert both.streams.sides.duplicate_segments.sum() == twice


def test_a_copy_with_more_octets_fills_what_the_first_lacks() -> None:
    packets = with_times(conversation(10))
    cut = [one | {"captured_octets": min(one["wire_octets"], 60)} for one in packets]
    both, _ = told(cut, packets)
    assert both.streams.sides.gap_octets.tolist() == [[0, 0]]


@pytest.mark.parametrize("named", [True, False], ids=["IPv4", "IPv6"])
def test_what_a_later_file_has_retransmitted_is_no_other_point(named: bool) -> None:
    packets = conversation(30)
    lost = [one for one in packets[40:70] if one["forward"] == LOW and one["wire_octets"]]
    probes = [packet(LOW, packets[-3]["seq"] - 1, packets[-3]["ack"], ACK) | {"flow": 0}] * 6
    later = with_times([*packets[:70], *lost, *packets[70:-3], *probes, *packets[-3:]], named)
    for cut in (68, 70, 72, len(later) - 7):
        both, shared = told(later[:cut], later[cut:])
        assert shared == {}
        assert not np.any(CapturePoints().marked(segments(later[:cut], later[cut:])).column("flags").to_numpy() & ELSEWHERE)
        assert seen(both, copies=True) == seen(told(later)[0], copies=True)


def test_rotated_files_of_two_points_are_told_file_by_file() -> None:
    packets = with_times(conversation(60))
    other = at_another_point(packets, 2 * MS)
    both, shared = told(packets[:100], other[:130], packets[100:], other[130:])
    assert seen(both) | {"first_capture": None} == seen(told(packets)[0]) | {"first_capture": None}
    assert set(shared) == {(0, 1), (2, 1), (2, 3)}


def test_what_only_the_other_point_has_stands() -> None:
    first, second = conversation(10), conversation(10, isn=900_000_000)
    one, other = with_times(first), at_another_point(with_times([*first, *second]), 3 * MS)
    both, _ = told(one, other)
    assert both.streams.sides.octets.tolist() == [[1045, 3000], [1045, 3000]]
    assert both.streams.sides.duplicate_segments.tolist() == [[10, 10], [0, 0]]
    assert seen(both)["gap_octets"] == [[0, 0], [0, 0]]


def test_other_flows_beside_it_stay_as_they_are() -> None:
    flows = [with_times(conversation(5, isn=1000 * port, port=port)) for port in range(1, 6)]
    one, other = [*flows[0], *flows[1], *flows[2]], [*at_another_point(flows[1], MS), *flows[3], *flows[4]]
    both, shared = told(one, other)
    of_lineage = {name: seen(both)[name] for name in ("first_capture", "first_packet")}
    assert seen(both) == seen(told([packet for flow in flows for packet in flow])[0]) | of_lineage
    assert shared == {(0, 1): len(flows[1])}


def test_captures_without_times_are_not_compared_by_them() -> None:
    packets = [one | {"ts_ns": 0} for one in with_times(conversation(10))]
    points = CapturePoints()
    assert not np.any(points.marked(segments(packets, packets)).column("flags").to_numpy() & ELSEWHERE)
    assert not points.shared


def test_packets_of_another_point_before_a_connection_wait_for_it() -> None:
    packets = with_times(conversation(5))
    table = segments(packets, at_another_point(packets, MS))
    marked = CapturePoints().marked(table)
    order = np.argsort(marked.column("ts_ns").to_numpy() - 9 * MS * (marked.column("capture").to_numpy() == 1), kind="stable")
    found = reassemble_columns(marked.take(pa.array(order)))
    assert seen(found)["octets"] == [[510, 1500]]
    assert found.streams.sides.duplicate_segments.tolist() == [[5, 5]]
    alone = reassemble_columns(marked.filter(marked.column("capture").to_numpy() == 1))
    assert len(alone.streams) == 1, "no packet is without a connection, though nothing else of the flow is here"
