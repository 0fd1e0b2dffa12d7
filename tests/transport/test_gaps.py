"""What a hole in TCP hides of the octets inside: as many as it has, where their record's head was seen; else nobody knows how many."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from stompcap.assembly import redecode
from stompcap.codes import FRAME, GAP, JUNK, PARTIAL
from stompcap.options import Options
from stompcap.stomp import Runs, Syntax, delimit
from tests.capture.packaging import pcap
from tests.e2e.pure import wire_of
from tests.tcp.wire import Wire
from tests.transport.made_up import HEAD, Ended

CONNECT = b"CONNECT\naccept-version:1.2\nhost:/\n\n\0"
BODY = b"SEND\ndestination:/a\ncontent-length:200\n\n" + b"x" * 200 + b"\0"
SEND = b"SEND\ndestination:/b\n\nhello\0"
UNKNOWN = int(Syntax.LENGTH_UNKNOWN)


def record(octets: bytes) -> bytes:
    return (0xC000 | len(octets)).to_bytes(2, "big") + octets


def tables(octets: bytes, lost: range, cuts: list[int], folder):
    """The tables of a client that sends these octets in segments, of which those within `lost` were not captured."""
    wire = Wire().handshake()
    edges = sorted({0, *cuts, lost.start, lost.stop, len(octets)})
    for begin, end in pairwise(edges):
        if begin not in lost:
            wire.c(begin, octets[begin:end])
    return wire_of([str(pcap(folder / "wire.pcap", wire.frames, nano=True))]).tables(assembly=Ended)


def raw(found):
    rows = found["raw_frames"].sort_by("stream_offset").to_pylist()
    return [(row["stream_offset"], row["length_octets"], row["kind"], bool(row["syntax"] & UNKNOWN)) for row in rows]


def test_a_hole_within_a_record_hides_as_many_octets(tmp_path):
    before, after = record(CONNECT), record(BODY) + record(SEND)
    begin = len(before) + 100
    found = tables(before + after, range(begin, begin + 30), [len(before), len(before) + 242 + 1], tmp_path)
    at, torn = len(CONNECT), 100 - HEAD
    assert raw(found) == [
        (0, at, "frame", False), (at, torn, "partial", False), (at + torn, 30, "gap", False),
        (at + torn + 30, len(BODY) - torn - 30, "junk", False), (at + len(BODY), len(SEND), "frame", False),
    ]  # fmt: skip
    [stream] = found["streams"].to_pylist()
    inner, outer = at + len(BODY) + len(SEND), len(before + after)
    assert [stream[name] for name in ("octets_c2s", "outer_octets_c2s", "gap_octets_c2s")] == [inner, outer, 30]


def test_of_a_hole_over_a_record_s_head_the_outer_length_is_told(tmp_path):
    """The frame whose end is expected in 200 octets does not swallow those that follow."""
    first, torn, last = record(CONNECT), record(BODY[:100]), record(SEND)
    hidden = record(BODY[100:])
    begin = len(first + torn)
    found = tables(first + torn + hidden + last, range(begin, begin + len(hidden)), [len(first), begin], tmp_path)
    at = len(CONNECT) + 100
    assert raw(found) == [
        (0, len(CONNECT), "frame", False), (len(CONNECT), 100, "partial", False), (at, len(hidden), "gap", True),
        (at + len(hidden), len(SEND), "frame", False),
    ]  # fmt: skip
    [stream] = found["streams"].to_pylist()
    assert stream["octets_c2s"] == at + len(hidden) + len(SEND)
    again = redecode(found["raw_frames"], Options())
    assert again.to_pylist() == found["frames"].to_pylist()


def test_octets_are_read_by_the_packet_that_completes_their_record(tmp_path):
    first, second = record(CONNECT), record(SEND)
    found = tables(first + second, range(0), [10, len(first), len(first) + 5], tmp_path)
    sent = [(row["first_packet"], row["last_packet"]) for row in found["frames"].to_pylist()]
    assert sent == [(5, 5), (7, 7)]
    segments = [(row["packet"], row["stream_offset"], row["new_octets"]) for row in found["segments"].to_pylist()]
    assert segments == [(5, 0, len(CONNECT)), (7, len(CONNECT), len(SEND))]


@pytest.mark.parametrize("unsure", [False, True])
def test_no_end_is_expected_behind_a_gap_of_unknown_length(unsure):
    """Were the gap as long as it seems, the first frame behind it would be the end of the body."""
    octets, behind = BODY[:100] + SEND + SEND, len(BODY) - len(SEND)
    runs = Runs(
        np.zeros(2, np.int32), np.array([0, 100]), np.array([100, 2 * len(SEND)]), np.array([0, behind]), np.ones(1, bool),
        np.ones(1, bool), np.array([behind + 2 * len(SEND)]), np.array([False, unsure]),
    )  # fmt: skip
    found = delimit(np.frombuffer(octets, np.uint8), runs)
    assert found.kind.tolist() == [PARTIAL, GAP, FRAME if unsure else JUNK, FRAME]
    assert found.syntax[1] == (UNKNOWN if unsure else 0)
