"""Where a flow goes on as another connection: behind a silence, and behind a FIN."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.tcp import join, reassemble_columns
from stompcap.tcp.idle import IDLE_NS, LINGER_NS
from tests.tcp.test_machine import ACK, FIN, RST, SYN, fed, rows_of

SECOND = 1000  # in milliseconds, as rows_of takes them
OPENED = [(0, 10, 0, SYN, b""), (1, 50, 11, SYN | ACK, b""), (0, 11, 51, ACK, b"ab")]
CLOSED = [(0, 13, 51, FIN | ACK, b""), (1, 51, 14, FIN | ACK, b"")]
LATE = (1, 51, 13, ACK, b"cd")


def rows(before, silence, after):
    """Segments of a flow: some, a silence in milliseconds, then one more."""
    packets = [(*packet, i) for i, packet in enumerate(before)]
    packets.append((*after, len(before) - 1 + silence))
    return rows_of([(side, seq, ack, flags, 9, octets, 99, 1, ms) for side, seq, ack, flags, octets, ms in packets])


@pytest.mark.parametrize(
    ("before", "silence", "idle", "connections"),
    [
        (OPENED, 86_400 * SECOND, IDLE_NS, 1),
        (OPENED, 86_400 * SECOND + 1, IDLE_NS, 2),
        (OPENED, 366 * 86_400 * SECOND, IDLE_NS, 1),  # a clock was set
        (OPENED, 60 * SECOND, 60 * 10**9, 1),
        (OPENED, 60 * SECOND + 1, 60 * 10**9, 2),
        (OPENED + CLOSED, 120 * SECOND, IDLE_NS, 1),
        (OPENED + CLOSED, 120 * SECOND + 1, IDLE_NS, 2),
        (OPENED + CLOSED[:1], 120 * SECOND + 1, IDLE_NS, 1),
        ([*OPENED, (1, 51, 13, RST | ACK, b"")], 120 * SECOND + 1, IDLE_NS, 2),
        (OPENED[:1], 120 * SECOND + 1, IDLE_NS, 2),
        (OPENED[:2], 120 * SECOND + 1, IDLE_NS, 2),
        (OPENED + CLOSED, 61 * SECOND, 60 * 10**9, 2),
    ],
)
def test_silence(before, silence, idle, connections):
    """An open connection ends after the idle timeout, a closed one after two minutes, and so does one that nobody acknowledged."""
    assert LINGER_NS == 120 * SECOND * 10**6
    segments = rows(before, silence, LATE)
    found = reassemble_columns(segments, "s", idle_ns=idle)
    assert len(found.streams) == connections
    assert found.streams.sides.octets[-1].tolist() == ([0, 2] if connections == 2 else found.streams.sides.octets[0].tolist())
    pieces = join.blocks(fed(segments, [len(before)], 2, "first", save=True, idle_ns=idle))
    assert pieces.streams.stream_id.equals(found.streams.stream_id)
    assert np.array_equal(pieces.stream_of, found.stream_of)


def test_a_syn_sent_again_after_a_silence_begins_a_connection():
    """Not even the same initial sequence number leads back over the silence."""
    found = reassemble_columns(rows(OPENED, 86_401 * SECOND, OPENED[0]), "s")
    assert found.stream_of.tolist() == [0, 0, 0, 1]


def test_octets_behind_a_fin_are_of_another_connection():
    """A port that is used again at once begins 65,537 octets behind the FIN; its SYN may not be captured."""
    reused = (0, 14 + 65_537, 900_000, ACK, b"ef")
    found = reassemble_columns(rows(OPENED + CLOSED, 1, reused), "s")
    assert found.stream_of.tolist() == [0, 0, 0, 0, 0, 1]
    assert found.streams.sides.octets.tolist() == [[2, 0], [2, 0]]


def test_a_late_segment_before_the_fin_is_of_the_connection_that_closed():
    late = (0, 11, 51, ACK, b"ab")
    found = reassemble_columns(rows(OPENED + CLOSED, 300, late), "s")
    assert found.stream_of.tolist() == [0] * 6
    assert found.streams.sides.retransmitted_octets[0, 0] == 2
