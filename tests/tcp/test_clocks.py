"""How far apart the clocks of both directions may be: bounds by acknowledgements, and steps."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS, read_segments
from stompcap.codes import BOTH
from stompcap.tcp import WIRE_ORDER, Reassembly, reassemble_columns
from stompcap.tcp.clocks import MOST_STEPS
from stompcap.tcp.state import UNBOUNDED
from tests.capture.packaging import pcap
from tests.e2e.truth import DATA
from tests.tcp.wire import START_NS, Wire, table_of

MS = 1_000_000
SHIFTS = (200_000, -200_000, MS, -MS, 3 * MS, -3 * MS)


@cache
def recorded(name: str) -> pa.Table:
    return pa.Table.from_batches(list(read_segments(str(DATA / name), 0)), SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()


def timed(segments: pa.Table, ts_ns: np.ndarray) -> pa.Table:
    at = segments.schema.get_field_index("ts_ns")
    return segments.set_column(at, segments.schema.field(at), pa.array(ts_ns))


def times(segments: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Times, and which segments are of the high side."""
    return segments.column("ts_ns").to_numpy(), ~segments.column("forward").to_numpy(zero_copy_only=False).astype(bool)


def shifted(segments: pa.Table, ahead: int) -> Reassembly:
    """The connections of segments where the high side's clock is ahead."""
    ts_ns, high = times(segments)
    return reassemble_columns(timed(segments, ts_ns + np.where(high, ahead, 0)), "tap")


@pytest.mark.parametrize("ahead", SHIFTS)
def test_a_shift_as_large_as_that_is_seen_on_every_recorded_connection(ahead):
    streams = shifted(recorded("rabbitmq_dialogue.pcap"), ahead).streams
    assert len(streams) > 30
    assert ((streams.clock_min_ns > 0) | (streams.clock_max_ns < 0)).all()


def test_clocks_that_agree_are_never_found_to_differ():
    found = shifted(recorded("rabbitmq_dialogue.pcap"), 0)
    assert ((found.streams.clock_min_ns <= 0) & (found.streams.clock_max_ns >= 0)).all()
    assert not len(found.clock_steps.stream)


@given(ahead=st.integers(-3600 * 10**9, 3600 * 10**9), loss=st.floats(0, 0.9), seed=st.integers(0, 2**32))
def test_the_true_difference_is_within_the_bounds_whatever_is_lost(ahead, loss, seed):
    segments = recorded("activemq_library.pcap")
    kept = np.random.default_rng(seed).random(segments.num_rows) >= loss
    found = shifted(segments.filter(pa.array(kept)), ahead)
    streams = found.streams
    assert ((streams.clock_min_ns <= ahead) & (ahead <= streams.clock_max_ns)).all()
    assert not len(found.clock_steps.stream)


def bounds(wire: Wire, tmp_path) -> tuple[list[int | None], list[tuple[int, int]]]:
    """Of one connection the bounds of the server's clock less the client's in ms, and steps: side, packet."""
    found = reassemble_columns(table_of([pcap(tmp_path / "wire.pcap", wire.frames, nano=True)]), "tap")
    assert len(found.streams) == 1
    least, most = int(found.streams.clock_min_ns[0]), int(found.streams.clock_max_ns[0])
    client = int(found.streams.low_port[0] == 61613)  # which side the client is
    if client == 1:
        least, most = -most, -least
    steps = [
        (int(side) if side == BOTH else int(side) ^ client, int(place) & 0xFFFF)
        for side, place in zip(found.clock_steps.side, found.clock_steps.place, strict=True)
    ]
    return [None if abs(one) == UNBOUNDED else one // MS for one in (least, most)], steps


def at(ms: int) -> dict[str, int]:
    return {"at_ns": START_NS + ms * MS}


OPEN = ((0, -1, b"", "S", None, 0), (1, -1, b"", "SA", 0, 2), (0, 0, b"", "A", 0, 3))
CASES = {
    "the handshake bounds both ways": (OPEN, [-1, 2], []),
    "a SYN-ACK alone bounds one way": (OPEN[:2], [None, 2], []),
    "pure acknowledgements alone bound nothing": (
        ((0, 5, b"", "A", 5, 0), (1, 5, b"", "A", 5, 1), (0, 5, b"", "A", 5, 2)), [None, None], []),
    "without the handshake octets and their acknowledgements bound": (
        ((0, 0, b"AB", "A", 0, 0), (1, 0, b"", "A", 2, 4), (1, 0, b"CD", "A", 2, 9), (0, 2, b"", "A", 2, 12)), [-3, 4], []),
    "a delayed acknowledgement bounds less": (
        ((0, 0, b"AB", "A", 0, 0), (1, 0, b"", "A", 2, 40), (0, 2, b"CD", "A", 0, 50), (1, 0, b"", "A", 4, 51)), [None, 1], []),
    "octets that are sent again bound by their first copy": (
        ((0, 0, b"AB", "A", 0, 0), (0, 0, b"AB", "A", 0, 200), (1, 0, b"", "A", 2, 201)), [None, 201], []),
    "of octets under way some are waited for": (
        ((0, 0, b"AB", "A", 0, 0), (0, 2, b"CD", "A", 0, 5), (1, 0, b"", "A", 2, 8)), [None, 8], []),
    "an acknowledgement of what the capture lost is later than what it has": (
        ((0, 0, b"AB", "A", 0, 0), (1, 0, b"", "A", 9, 8)), [None, 8], []),
    "a direction that goes on at an earlier time has stepped": (
        (*OPEN, (0, 0, b"AB", "A", 0, 9), (1, 0, b"", "A", 2, 10), (0, 2, b"CD", "A", 0, 4)), [None, None], [(0, 6)]),
    "neighbours of one direction that are swapped are no step": (
        (*OPEN, (0, 2, b"CD", "A", 0, 9), (0, 0, b"AB", "A", 0, 8), (1, 0, b"", "A", 4, 10)), [-1, 1], []),
    "acknowledgements that are swapped are no step": (
        (*OPEN, (0, 0, b"ABCD", "A", 0, 8), (1, 0, b"", "A", 4, 10), (1, 0, b"", "A", 2, 9)), [-1, 2], []),
    "where both clocks step at once an acknowledgement shows it": (
        (*OPEN, (1, 0, b"AB", "A", 0, 9), (0, 0, b"CD", "A", 2, 5)), [None, None], [(BOTH, 2), (BOTH, 5)]),
    "a clock that steps forward contradicts what was known": (
        (*OPEN, (1, 0, b"AB", "A", 0, 1009), (0, 0, b"CD", "A", 2, 10)), [None, None], [(BOTH, 2), (BOTH, 5)]),
    "behind a step the clocks are compared anew": (
        (*OPEN, (0, 0, b"AB", "A", 0, -90), (1, 0, b"", "A", 2, 10), (1, 0, b"CD", "A", 2, 11), (0, 2, b"", "A", 2, -80)),
        [91, 100], [(0, 4)]),
}  # fmt: skip


@pytest.mark.parametrize(("packets", "expected", "steps"), CASES.values(), ids=CASES)
def test_what_bounds_the_difference_of_the_clocks(packets, expected, steps, tmp_path):
    wire = Wire()
    for side, offset, payload, flags, ack, ms in packets:
        wire.put(side, offset, payload, flags, ack, **at(ms))
    assert bounds(wire, tmp_path) == (expected, steps)


def test_clocks_that_step_all_the_time_cannot_be_compared(tmp_path):
    wire = Wire().handshake()
    for number in range(2 * MOST_STEPS):
        wire.c(2 * number, b"AB", **at(-10 * number))
    (least, most), steps = bounds(wire, tmp_path)
    assert len(steps) == MOST_STEPS
    assert least is None is most
