"""A flow fed piece by piece gives what it gives in one piece, whatever was lost, moved, doubled or forged; and no state grows."""

from dataclasses import fields, is_dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.tcp import Reassembler, count_conflicts, join, reassemble_columns
from stompcap.tcp.idle import IDLE_NS
from tests.examples import one_in
from tests.tcp.test_properties import HIGH, LOW, known

MS = 1_000_000
FIN, SYN, RST, ACK = 1, 2, 4, 16


def rows_of(packets):
    """SEGMENTS of one flow; a packet is (side, seq, ack, flags, window, payload, octets captured of it, identification, ms)."""
    return pa.Table.from_pylist(
        [
            {
                "capture": 0, "packet": i + 1, "ts_ns": int(ms * MS), "flow": 7, "endpoints": LOW + HIGH, "forward": side == 0,
                "seq": seq % 2**32, "ack": ack % 2**32, "flags": flags, "window": window, "ip_id": ip_id, "ttl": 64,
                "wire_octets": len(payload), "captured_octets": min(kept, len(payload)), "file_offset": -1, "outer": 0,
                "payload": payload[:kept], "bad_checksum": i % 3 == 0, "earlier": 0,
            }
            for i, (side, seq, ack, flags, window, payload, kept, ip_id, ms) in enumerate(packets)
        ],
        SEGMENTS,
    )  # fmt: skip


@st.composite
def connections(draw):
    """The packets of one connection in the order they were sent."""
    isn = [draw(st.sampled_from([0, 5000, 2**31 - 20, 2**32 - 30, 2**32 - 1])), draw(st.integers(0, 2**32 - 1))]
    at, packets = [isn[0] + 1, isn[1] + 1], []
    if draw(st.booleans()):
        packets += [(0, isn[0], 0, SYN, 9, b""), (1, isn[1], isn[0] + 1, SYN | ACK, 9, b"")]
    for side, octets, window in draw(
        st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=6), st.sampled_from([9, 9, 9, 0])), max_size=14)
    ):
        packets.append((side, at[side], at[1 - side], ACK, window, octets))
        at[side] += len(octets)
    for side in draw(st.lists(st.integers(0, 1), max_size=2)):
        packets.append((side, at[side], at[1 - side], draw(st.sampled_from([FIN | ACK, FIN | ACK, RST | ACK])), 9, b""))
    return packets


@st.composite
def mangled(draw):
    """Connections on the same ports one after the other: packets lost, doubled, moved, cut, changed, forged."""
    sent = [packet for connection in draw(st.lists(connections(), min_size=1, max_size=3)) for packet in connection]
    found, silences = [], 0
    for i, (side, seq, ack, flags, window, octets) in enumerate(sent):
        silences += draw(st.sampled_from([0] * 12 + [239_000, 241_000, 90_000_000]))
        fate = draw(st.sampled_from(["kept", "kept", "kept", "kept", "lost", "copied", "again", "changed", "moved", "cut", "forged"]))
        ms = 10.0 * i + silences
        packet = (side, seq, ack, flags, window, octets, draw(st.integers(0, 6)) if fate == "cut" else 99, i + 1, ms)
        if fate == "moved":
            found.insert(draw(st.integers(max(0, len(found) - 12), len(found))), packet)
        elif fate != "lost":
            found.append(packet)
        if fate == "copied":
            found.append((*packet[:-1], ms + 1))
        elif fate in ("again", "changed"):
            other = octets if fate == "again" else octets[::-1] + b"!"
            found.append((side, seq, ack, flags, window, other, 99, 0, ms + draw(st.sampled_from([1, 5, 300]))))
        elif fate == "forged":
            jump = draw(st.sampled_from([3, 70_000, 1 << 25, 1 << 27, (1 << 30) + 5, 1 << 31]))
            found += [(side, seq + jump, ack, ACK, window, b"forged", 99, 0, ms)] * draw(st.integers(1, 2))
    return found


def same(one, two) -> bool:
    """Whether two records of columns are equal throughout."""
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(two, field.name)) for field in fields(one))
    return bool(np.array_equal(one, two)) if isinstance(one, np.ndarray) else one == two


def fed(segments, edges, block, overlap, *, save=False, idle_ns=IDLE_NS):
    """All that a machine gives for a flow cut at these rows."""
    machine, found = Reassembler("s", overlap, block, idle_ns), []
    for begin, end in pairwise([0, *sorted(edges), segments.num_rows]):
        found += machine.feed(segments.slice(begin, end - begin))
        if save:
            machine = Reassembler.restored(machine.save())
    return [*found, machine.finish()]


blocks, policies = st.integers(1, 12), st.sampled_from(["first", "last"])


FORGED_BEFORE = [
    (0, 4, 1, ACK, 9, b"forged", 99, 0, 10.0), (0, 1, 1, ACK, 9, bytes(4), 99, 3, 20.0), (0, 1, 1, ACK, 9, bytes(4), 99, 3, 21.0),
]  # fmt: skip


@one_in(2)
@example(FORGED_BEFORE, [], 6, "first")
@given(mangled(), st.lists(st.integers(0, 60), max_size=5), blocks, policies)
def test_any_cutting_gives_the_same(packets, edges, block, overlap):
    segments = rows_of(packets)
    edges = [min(edge, segments.num_rows) for edge in edges]
    whole = reassemble_columns(segments, "s", overlap, block)
    assert same(join.blocks(fed(segments, edges, block, overlap, save=True)), whole)
    if block > 3:
        assert same(join.blocks(fed(segments, range(segments.num_rows), block, overlap)), whole)


@given(mangled(), blocks, policies)
def test_what_is_handed_on_stands(packets, block, overlap):
    """Offsets ascend from block to block, ids and beginnings do not change, and octets with conflicts add up to those of the whole."""
    segments = rows_of(packets)
    whole = reassemble_columns(segments, "s", overlap, block)
    ids, synced, reached, conflicts = whole.streams.stream_id.to_pylist(), whole.streams.sides.synced, {}, 0
    for step in fed(segments, [], block, overlap):
        found = step.reassembly
        assert step.segments.num_rows == len(step.number) == len(found.stream_of)
        assert step.segments.column("packet").to_pylist() == (step.number + 1).tolist()
        conflicts += count_conflicts(found, step.segments, {}).sum()
        for stream, side, offset, length in zip(
            found.extents.stream, found.extents.side, found.extents.offset, found.extents.length, strict=True
        ):
            key = int(stream) + step.first, int(side)
            assert offset >= reached.get(key, 0)
            reached[key] = offset + length
            assert found.streams.stream_id[int(stream)].as_py() == ids[key[0]]
            assert found.streams.sides.octets[stream, side] >= offset + length
            assert found.streams.sides.synced[stream, side] == synced[key]
    assert conflicts == count_conflicts(whole, segments, {}).sum()


@given(mangled(), policies)
def test_a_flow_of_no_more_than_a_block_is_reassembled_at_once(packets, overlap):
    segments = rows_of(packets)
    assert same(reassemble_columns(segments, "s", overlap, max(1, segments.num_rows)), reassemble_columns(segments, "s", overlap))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=120), st.integers(5, 20), policies)
def test_losses_and_small_moves_cost_nothing_in_any_block(fates, block, overlap):
    """Holes stay holes and what is late by less than a block is in its place."""
    came = sorted((i for i, (lost, _) in enumerate(fates) if not lost), key=lambda i: i + fates[i][1])
    packets = [(1, 100 + 3 * i, 0, ACK, 9, b"%03d" % i, 99, i + 2, 10.0 * i) for i in came]
    segments = rows_of([(1, 99, 0, SYN, 9, b"", 0, 1, 0.0), *packets])
    whole, small = reassemble_columns(segments, "s", overlap), reassemble_columns(segments, "s", overlap, block)
    assert known(small, segments, 0, 1) == known(whole, segments, 0, 1)
    assert same(small.streams, whole.streams)


def transfer(count: int, lost: int, size: int = 100, ack: int = 0) -> pa.Table:
    """A SYN and segments of one side, every so many lost."""
    number = np.arange(count)
    table = rows_of([(1, 99, 0, SYN, 9, b"", 0, 1, 0.0)]).take(np.zeros(count, np.int64))
    columns = {
        "packet": number + 1, "ts_ns": number * MS, "seq": np.where(number == 0, 99, 100 + (number - 1) * size) % 2**32,
        "flags": np.where(number == 0, SYN, ACK).astype(np.int32), "ip_id": (number % 60_000 + 1).astype(np.int32),
        "ack": np.full(count, ack), "wire_octets": np.where(number == 0, 0, size), "captured_octets": np.where(number == 0, 0, size),
        "file_offset": number * size,
    }  # fmt: skip
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), SEGMENTS.field(name), pa.array(values))
    return table.filter(pa.array((number % lost != lost - 1) | (number == 0)))


@pytest.mark.parametrize("lost", [2, 10, 97, 100_000])
def test_state_does_not_grow_with_the_flow(lost):
    segments, block = transfer(40_000, lost), 500
    machine, most, octets = Reassembler("s", "first", block), 0, 0
    for begin in range(0, segments.num_rows, 700):
        for step in machine.feed(segments.slice(begin, 700)):
            most = max(most, step.segments.num_rows)
            octets += int(step.reassembly.extents.length.sum())
    saved = machine.save()
    assert sum(values.nbytes for values in saved.numbers.values()) < 100_000
    assert saved.held.num_rows <= 2 * block
    assert saved.waiting.num_rows <= block
    step = machine.finish()
    assert max(most, step.segments.num_rows) <= 4 * block
    octets += int(step.reassembly.extents.length.sum())
    assert octets == 100 * (segments.num_rows - 1)
    (sides,) = step.reassembly.streams.sides.octets.tolist()
    assert sides == [0, 100 * int(segments.column("packet")[-1].as_py() - 1)]


def test_state_does_not_grow_with_forged_numbers_nor_are_they_believed():
    """Two that confirm each other, far ahead, again and again: what this side really sends goes on before them."""
    true = transfer(20_000, 100_000).to_pylist()
    forged = [{**true[1], "seq": 100 + 30_000_000 + 50 * i, "ip_id": 0, "ts_ns": 20 * MS * i} for i in range(2000)]
    mixed = [row for i, row in enumerate(true) for row in ([row] if i % 10 or not i else [row, forged[i // 10]])]
    segments = pa.Table.from_pylist([{**row, "packet": i + 1} for i, row in enumerate(mixed)], SEGMENTS)
    steps = fed(segments, range(0, segments.num_rows, 999), 500, "first")
    assert max(step.segments.num_rows for step in steps) <= 4 * 500
    found = join.blocks(steps)
    real = found.extents.offset < 2_000_000
    assert int(found.extents.length[real].sum()) == 100 * 19_999


def test_connections_on_the_same_ports_without_end():
    packets = []
    for i in range(1500):
        isn = 1_000_000 * i
        packets += [(0, isn, 0, SYN, 9, b"", 0, 1, i), (0, isn + 1, 0, ACK, 9, b"%04d" % i, 9, 2, i + 0.1)]
    segments = rows_of(packets)
    machine, found = Reassembler("s", "first", 100), []
    for begin in range(0, segments.num_rows, 64):
        found += machine.feed(segments.slice(begin, 64))
        assert max([len(step.reassembly.streams) for step in found[-2:]], default=0) <= 256 + 100
    whole = join.blocks([*found, machine.finish()])
    assert whole.streams.sides.octets[:, 0].tolist() == [4] * 1500
    assert len(set(whole.streams.stream_id.to_pylist())) == 1500


def test_large_and_small_flows_together():
    large, small = transfer(300, 50), transfer(20, 7)
    flows = []
    for number, rows in enumerate((small, large, small, small, large), 1):
        flow = pa.array([number] * rows.num_rows, pa.int64())
        ends = pa.array([LOW + HIGH[:-1] + bytes([number])] * rows.num_rows, pa.binary())
        flows.append(rows.set_column(3, SEGMENTS.field(3), flow).set_column(4, SEGMENTS.field(4), ends))
    together, apart = reassemble_columns(pa.concat_tables(flows), "s", "first", 100), []
    for rows in flows:
        apart.append(reassemble_columns(rows, "s", "first", 100))
    assert same(together, join.flows(apart, np.cumsum([0, *[rows.num_rows for rows in flows[:-1]]]).tolist()))
    assert together.streams.sides.octets[:, 1].tolist() == [1900, 29800, 1900, 1900, 29800]
    alike = [rows.set_column(3, SEGMENTS.field(3), pa.array([1] * rows.num_rows, pa.int64())) for rows in flows]  # hashes that agree
    assert same(reassemble_columns(pa.concat_tables(alike), "s", "first", 100), together)


def test_octets_that_come_after_they_were_final():
    """Above a hole given up: not taken in, counted as sent again, and a stall where they are later than copies of a packet."""
    packets = [(1, 99, 0, SYN, 9, b"", 0, 1, 0.0)]
    packets += [(1, 100 + 2 * i, 0, ACK, 9, b"%02d" % i, 9, i + 2, 10.0 * i) for i in range(40) if i != 5]
    packets += [(1, 110, 0, ACK, 9, b"05", 9, 90, 900.0), (1, 112, 0, ACK, 9, b"06", 9, 91, 901.0), (1, 114, 0, ACK, 9, b"07", 9, 92, 70.0)]
    segments = rows_of(packets)
    found = reassemble_columns(segments, "s", "last", 10)
    sides = found.streams.sides
    assert (sides.gap_octets[0, 1], sides.octets[0, 1], sides.retransmitted_octets[0, 1]) == (2, 80, 6)
    assert found.retransmissions.ts_ns.tolist() == [900 * MS, 901 * MS]
    assert 10 not in known(found, segments, 0, 1)
    assert reassemble_columns(segments, "s", "last").streams.sides.gap_octets[0, 1] == 0


def test_another_policy_is_refused():
    with pytest.raises(ValueError, match="first"):
        Reassembler("s", "middle")
