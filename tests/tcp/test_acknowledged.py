"""When octets were acknowledged first, and the round trips of handshakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stompcap.capture import SEGMENTS, read_segments
from stompcap.columns import column
from stompcap.tcp import WIRE_ORDER, Reassembly, reassemble_columns
from tests.capture.packaging import pcap
from tests.e2e.truth import DATA
from tests.examples import slow_behind
from tests.tcp.wire import START_NS, STEP_NS, Wire, table_of

RECORDED = sorted(path.name for path in DATA.glob("*.pcap*"))


def reassembled(wire: Wire, folder: Path) -> Reassembly:
    return reassemble_columns(table_of([pcap(folder / "wire.pcap", wire.frames, nano=True)]), "tap")


def of_octets(found: Reassembly, side: int) -> list[int | None]:
    """Per extent of a side, in order of its octets, the number of the packet that acknowledged it."""
    e = found.extents
    ns = found.acked_ns[e.row[e.side == side]].tolist()
    return [None if one < 0 else (one - START_NS) // STEP_NS for one in ns]


CASES = {  # what the client (the high endpoint) does behind the handshake, packets 0 to 2; what acknowledged each extent
    "each by one": (lambda w: w.c(0, b"ab").s(0, ack=2).c(2, b"cd").s(0, ack=4), [4, 6]),
    "several by one": (lambda w: w.c(0, b"ab").c(2, b"cd").s(0, ack=4), [5, 5]),
    "by data": (lambda w: w.c(0, b"ab").s(0, b"xy", ack=2), [4]),
    "the first counts": (lambda w: w.c(0, b"ab").s(0, ack=2).s(0, ack=2).s(0, b"x", ack=2), [4]),
    "a part is not all": (lambda w: w.c(0, b"abcd").s(0, ack=2).s(0, ack=4), [5]),
    "what came before it does not count": (lambda w: w.s(0, ack=0).c(0, b"ab"), [None]),
    "never": (lambda w: w.c(0, b"ab").c(2, b"cd").s(0, ack=2), [5, None]),
    "sent again, as it was lost behind the capture": (lambda w: w.c(0, b"ab").c(2, b"cd").s(0, ack=0).c(0, b"ab").s(0, ack=4), [7, 7]),
    "a hole filled late": (lambda w: w.c(2, b"cd").s(0, ack=0).c(0, b"ab").s(0, ack=2).s(0, ack=4), [6, 7]),
    "by FIN": (lambda w: w.c(0, b"ab").s(0, flags="FA", ack=2), [4]),
    "not by RST": (lambda w: w.c(0, b"ab").s(0, flags="RA", ack=2), [None]),
    "impossible ones do not count": (lambda w: w.c(0, b"ab").s(0, ack=2**30 + 5).s(0, ack=2), [5]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_acknowledgement_of_all_of_a_segment_counts(case, tmp_path: Path) -> None:
    does, expected = case
    assert of_octets(reassembled(does(Wire().handshake()), tmp_path), 1) == expected


def test_sequence_numbers_may_wrap(tmp_path: Path) -> None:
    wire = Wire(client_isn=2**32 - 4).handshake().c(0, b"abcdef").s(0, ack=6).c(6, b"g").s(0, ack=7)
    assert of_octets(reassembled(wire, tmp_path), 1) == [4, 6]


def recorded(name: str) -> pa.Table:
    return pa.Table.from_batches(list(read_segments(str(DATA / name), 0)), SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()


@pytest.mark.parametrize("name", RECORDED)
def test_it_is_what_a_search_packet_by_packet_finds_on_recordings(name: str) -> None:
    """Numbers of recorded connections do not wrap, and nothing of them is out of order by more than a retransmission."""
    segments = recorded(name)
    found = reassemble_columns(segments, "tap")
    seq, ack, ts_ns, flags, octets = (column(segments, one) for one in ("seq", "ack", "ts_ns", "flags", "wire_octets"))
    forward, stream = column(segments, "forward"), found.stream_of
    for row in np.unique(found.extents.row).tolist():
        later = np.flatnonzero((stream == stream[row]) & (forward != forward[row]) & (flags & 16 != 0) & (flags & 4 == 0))
        covers = later[(later > row) & (ack[later] >= seq[row] + octets[row])]
        assert found.acked_ns[row] == (ts_ns[covers[0]] if len(covers) else -1)


@pytest.mark.parametrize("block", slow_behind(2, [7, 64, 1]))
@pytest.mark.parametrize("name", RECORDED[:3])
def test_it_is_the_same_block_by_block(name: str, block: int) -> None:
    segments = recorded(name)
    whole, blocks = reassemble_columns(segments, "tap"), reassemble_columns(segments, "tap", block=block)
    kept = np.intersect1d(whole.extents.row, blocks.extents.row)
    assert len(kept) > len(whole.extents) * 0.9
    certain = blocks.acked_ns[kept] >= 0  # a block of one packet is final before any acknowledgement
    assert (blocks.acked_ns[kept] == whole.acked_ns[kept])[certain].all()


HANDSHAKES = {  # milliseconds from SYN to SYN-ACK, and from there to its acknowledgement
    "captured": (lambda w: w.handshake().c(0, b"x"), (10, 10)),
    "no SYN": (lambda w: w.s(-1, flags="SA").c(0), (None, 10)),
    "no SYN-ACK": (lambda w: w.c(-1, flags="S", ack=None).c(0, b"x"), (None, None)),
    "middle of a stream": (lambda w: w.c(0, b"x").s(0, b"y", ack=1), (None, None)),
    "SYN came again": (lambda w: w.c(-1, flags="S", ack=None).handshake(), (None, 10)),
    "SYN-ACK came again": (lambda w: w.c(-1, flags="S", ack=None).s(-1, flags="SA").s(-1, flags="SA").c(0), (10, None)),
    "SYN-ACK came again when it was acknowledged": (lambda w: w.handshake().s(-1, flags="SA").c(0), (10, 10)),
    "acknowledged by data": (lambda w: w.c(-1, flags="S", ack=None).s(-1, flags="SA").c(0, b"x"), (10, 10)),
    "the server spoke first": (lambda w: w.c(-1, flags="S", ack=None).s(-1, flags="SA").s(0, b"x").c(0), (10, 20)),
    "refused": (lambda w: w.c(-1, flags="S", ack=None).s(0, flags="RA", ack=0), (None, None)),
}


@pytest.mark.parametrize("case", HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_round_trip_is_known_where_it_is_clear_what_was_answered(case, tmp_path: Path) -> None:
    does, expected = case
    streams = reassembled(does(Wire()), tmp_path).streams
    found = [ns.tolist() for ns in (streams.syn_rtt_ns, streams.synack_rtt_ns)]
    assert found == [[-1 if one is None else one * 1_000_000] for one in expected]
