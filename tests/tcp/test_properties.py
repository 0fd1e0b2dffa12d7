"""The stream depends on the octets captured, never on how they were cut, ordered or repeated; checked against a model octet by octet."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.tcp import count_conflicts, gather, reassemble_columns

LOW, HIGH = b"\0" * 10 + b"\xff\xff\x0a\0\0\1\0\x50", b"\0" * 10 + b"\xff\xff\x0a\0\0\2\xf0\0"
DATA = bytes(i % 251 for i in range(4000))


def table(rows, flow=1, endpoints=LOW + HIGH, acks=(0, 0)):
    """Segments of one flow; a row is (side, seq, flags, payload, octets captured of it); `acks`: what each side acknowledges."""
    return pa.Table.from_pylist(
        [
            {
                "capture": 0, "packet": i + 1, "ts_ns": i * 1000, "flow": flow, "endpoints": endpoints, "forward": side == 0,
                "seq": seq % 2**32, "ack": acks[side] % 2**32, "flags": flags, "window": 100, "ip_id": i, "ttl": 64,
                "wire_octets": len(payload), "captured_octets": kept, "file_offset": -1, "outer": 0, "payload": payload[:kept],
                "bad_checksum": False, "earlier": 0,
            }
            for i, (side, seq, flags, payload, kept) in enumerate(rows)
        ],
        SEGMENTS,
    )  # fmt: skip


def known(result, segments, stream, side):
    """Octets of one side by offset."""
    extents = result.extents.take((result.extents.stream == stream) & (result.extents.side == side))
    octets = gather(extents, segments, {}).tobytes()
    found, at = {}, 0
    for offset, length in zip(extents.offset.tolist(), extents.length.tolist(), strict=True):
        for i in range(length):
            assert offset + i not in found
            found[offset + i] = octets[at + i]
        at += length
    return found


@st.composite
def cuts(draw):
    """Segments that cover all octets: any cuts, overlaps, repetitions, order."""
    size = draw(st.integers(1, 300))
    edges = sorted({0, size, *draw(st.lists(st.integers(0, size), max_size=8))})
    pieces = list(pairwise(edges))
    more = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(1, 60)), max_size=6))
    pieces += [(a, min(size, a + n)) for a, n in more]
    return size, draw(st.permutations(pieces))


@given(cuts(), cuts(), st.integers(0, 2**32 - 1), st.sampled_from(["first", "last"]))
def test_any_order_repetition_and_segmentation_gives_the_same_stream(client, server, isn, overlap):
    rows = [(1, isn, 2, b"", 0), (0, isn + 7, 18, b"", 0)]
    sides = [(1, isn + 1, a, b) for a, b in client[1]], [(0, isn + 8, a, b) for a, b in server[1]]
    for pair in zip(*sides, strict=False):
        rows += [(side, start + a, 24, DATA[a:b], b - a) for side, start, a, b in pair]
    for rest in (sides[0][len(sides[1]) :], sides[1][len(sides[0]) :]):
        rows += [(side, start + a, 24, DATA[a:b], b - a) for side, start, a, b in rest]
    segments = table(rows, acks=(isn + 1, isn + 8))
    result = reassemble_columns(segments, "s", overlap)
    assert len(result.streams) == 1
    for side, size in ((1, client[0]), (0, server[0])):
        assert known(result, segments, 0, side) == dict(enumerate(DATA[:size]))
        assert result.streams.sides.octets[0, side] == size
        assert result.streams.sides.gap_octets[0, side] == 0
    assert count_conflicts(result, segments, {}).tolist() == [[0, 0]]
    sent = sum(len(row[3]) for row in rows)
    probes = sent - int(result.extents.length.sum()) - int(result.streams.sides.retransmitted_octets.sum())
    assert 0 <= probes <= len(rows)  # a repeated last octet is taken for a keep-alive


pieces = st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=2, max_size=20), st.integers(0, 20)), min_size=1, max_size=12)


@given(pieces, st.sampled_from(["first", "last"]))
def test_overlaps_and_gaps_follow_the_policy(items, overlap):
    segments = table([(1, 99, 2, b"", 0)] + [(1, 100 + at, 24, data, min(kept, len(data))) for at, data, kept in items])
    result = reassemble_columns(segments, "s", overlap)
    model, again, conflicts, wire = {}, 0, 0, set()
    for at, data, kept in items if overlap == "first" else reversed(items):
        wire.update(range(at, at + len(data)))
        for i, octet in enumerate(data[:kept]):
            again += at + i in model
            conflicts += model.setdefault(at + i, octet) != octet
    sides = result.streams.sides
    assert known(result, segments, 0, 1) == model
    assert sides.octets[0, 1] == max(wire) + 1
    assert sides.gap_octets[0, 1] == max(wire) + 1 - len(model)
    assert sides.truncated_octets[0, 1] == len(wire - model.keys())
    assert sides.retransmitted_octets[0, 1] == again
    assert count_conflicts(result, segments, {})[0, 1] == conflicts


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2**32 - 1), st.integers(0, 63), st.binary(max_size=30)), max_size=30))
def test_any_segments_at_all_are_accounted_for(rows):
    segments = table([(side, seq, flags, data, len(data)) for side, seq, flags, data in rows])
    result = reassemble_columns(segments, "s")
    extents, sides = result.extents, result.streams.sides
    assert (result.stream_of >= 0).all()
    assert (extents.length > 0).all()
    assert int(extents.length.sum()) <= sum(len(row[3]) for row in rows)
    for stream in range(len(result.streams)):
        for side in (0, 1):
            have = len(known(result, segments, stream, side))
            assert sides.octets[stream, side] == have + sides.gap_octets[stream, side]
            assert sides.octets[stream, side] < 2**36
    assert len(set(result.streams.stream_id.to_pylist())) == len(result.streams)


def test_many_flows_are_the_flows_one_by_one():
    def rows(k):
        return [(1, k, 2, b"", 0), (1, k + 1, 24, DATA[:k], k), (1, k + 1 + k // 2, 24, DATA[k // 2 : 2 * k], 2 * k - k // 2)]

    single = [table(rows(k), flow=k, endpoints=LOW + HIGH[:-1] + bytes([k])) for k in range(1, 60)]
    segments = pa.concat_tables(single)
    together = reassemble_columns(segments, "s")
    apart = [reassemble_columns(one, "s") for one in single]
    assert together.streams.stream_id.to_pylist() == [one.streams.stream_id[0].as_py() for one in apart]
    assert np.array_equal(together.extents.offset, np.concatenate([one.extents.offset for one in apart]))
    assert np.array_equal(together.streams.sides.octets, np.concatenate([one.streams.sides.octets for one in apart]))


def test_no_segments():
    result = reassemble_columns(SEGMENTS.empty_table(), "s")
    assert (len(result.streams), len(result.extents), len(result.stream_of)) == (0, 0, 0)
