"""Between blocks, what both sides of a connection have left behind is final: as it would be later, and nothing of it is held."""

from dataclasses import fields
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stompcap.tcp import Reassembler, join, reassemble_columns
from tests.tcp.test_machine import ACK, SYN, blocks, mangled, rows_of, same


def greeted(packets) -> bool:
    """Whether each side's SYNs come before all octets of their connections."""
    for side in (0, 1):
        sent = [(seq, flags) for of, seq, _, flags, *_ in packets if of == side]
        if sent and not sent[0][1] & SYN:
            return False
        for i, (seq, flags) in enumerate(sent):
            if flags & SYN and any(0 < (other - seq) % 2**32 < 4000 for other, _ in sent[:i]):
                return False
    return True


COUNTERS = {  # of copies, and of what was compared with octets that were final by then
    "retransmitted_octets", "duplicate_segments", "stray_segments", "stray_octets", "segments", "out_of_order_segments",
    "bad_checksum_segments", "clock_steps_back", "sides",
}  # fmt: skip


@given(mangled(), st.lists(st.integers(0, 60), max_size=5), blocks)
def test_what_both_sides_have_left_behind_is_as_it_would_be_at_the_end_of_its_block(packets, edges, block):
    segments = rows_of(packets)
    whole = reassemble_columns(segments, "s", "first", block)
    if not greeted(packets) or not whole.streams.sides.synced.all():
        return  # a beginning that was not captured, or came late, is final when its first octets are
    machine, steps = Reassembler("s", "first", block), []
    for begin, end in pairwise([0, *sorted(min(edge, segments.num_rows) for edge in edges), segments.num_rows]):
        steps += [*machine.feed(segments.slice(begin, end - begin)), machine.finalise()]
        machine = Reassembler.restored(machine.save())
    found = join.blocks([*steps, machine.finish()])
    assert same(found.extents, whole.extents)
    for one, two in ((found.streams, whole.streams), (found.streams.sides, whole.streams.sides)):
        names = {field.name for field in fields(one)} - COUNTERS
        assert [name for name in names if not same(getattr(one, name), getattr(two, name))] == []


@given(st.integers(1, 300), st.integers(0, 3))
def test_of_what_was_acknowledged_nothing_is_held(count, unacknowledged):
    """From the first packet on, and only what was not acknowledged yet is saved."""
    packets = [(0, 0, 0, SYN, 9, b"", 0, 1, 0.0), (1, 0, 1, SYN | ACK, 9, b"", 0, 1, 0.1)]
    for i in range(count):
        packets.append((0, 1 + 4 * i, 1, ACK, 9, b"%04d" % i, 9, i + 2, 10.0 * i))
        if i < count - unacknowledged:
            packets.append((1, 1, 5 + 4 * i, ACK, 9, b"", 0, 0, 10.0 * i + 1))
    machine = Reassembler("s")
    [*_] = machine.feed(rows_of(packets))
    octets = machine.finalise().reassembly.extents.length.sum()
    saved = machine.save()
    held = min(count, unacknowledged)
    assert (octets, saved.held.num_rows, saved.waiting.num_rows) == (4 * (count - held), held, 0)
