"""A wire to put segments on: scapy packets in, reassembled streams out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from stompcap.capture import SEGMENTS, octets, read_segments
from stompcap.tcp import WIRE_ORDER, Reassembly, count_conflicts, gather, history_for, reassemble_columns
from tests.capture.packaging import Frame, pcap

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")  # told, or scapy asks the network for a second or two
START_NS = 1_700_000_000_000_000_000
STEP_NS = 10_000_000
CLIENT, SERVER = ("10.0.0.9", 40000), ("10.0.0.1", 61613)
CLIENT_ISN, SERVER_ISN = 1000, 5000


class Wire:
    """Segments of one flow in wire order. Sequence numbers are relative: the client's first octet is at 1001, the server's at 5001."""

    def __init__(self, client_isn: int = CLIENT_ISN, server_isn: int = SERVER_ISN, client_port: int = CLIENT[1]) -> None:
        self.frames: list[Frame] = []
        self.isn = (client_isn, server_isn)
        self.client_end = (CLIENT[0], client_port)

    def put(self, side, offset, payload=b"", flags="A", ack=None, cut=0, at_ns=None, window=1000, seq=None) -> Wire:
        """One segment: `offset` from the first octet of its side's stream, `ack` of the other's; `cut` octets were not captured."""
        (src, sport), (dst, dport) = (self.client_end, SERVER) if side == 0 else (SERVER, self.client_end)
        number = (self.isn[side] + 1 + offset) if seq is None else seq
        other = 0 if ack is None else self.isn[1 - side] + 1 + ack
        tcp = TCP(sport=sport, dport=dport, seq=number % 2**32, ack=other % 2**32, flags=flags, window=window)
        whole = bytes(ETHER / IP(src=src, dst=dst) / tcp / payload)
        when = START_NS + len(self.frames) * STEP_NS if at_ns is None else at_ns
        self.frames.append(Frame(whole[: len(whole) - cut], when, len(whole)))
        return self

    def c(self, offset, payload=b"", flags="A", ack=0, **more) -> Wire:
        """The client sends."""
        return self.put(0, offset, payload, flags, ack, **more)

    def s(self, offset, payload=b"", flags="A", ack=0, **more) -> Wire:
        """The server sends."""
        return self.put(1, offset, payload, flags, ack, **more)

    def handshake(self) -> Wire:
        """SYN, SYN-ACK, ACK."""
        return self.c(-1, flags="S", ack=None).s(-1, flags="SA").c(0)

    def read(self, folder: Path, overlap: str = "first") -> list[Stream]:
        """The connections found, in order of their first packet."""
        return streams_of([pcap(folder / "wire.pcap", self.frames, nano=True)], overlap)


@dataclass
class Stream:
    """One connection; pairs are (client, server), a side's chunks are (offset, octets)."""

    client: int
    history: str
    close: tuple[str, object]
    reset: int
    chunks: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]
    octets: list[int]
    gap: list[int]
    truncated: list[int]
    again: list[int]
    copies: list[int]
    out_of_order: list[int]
    strays: list[int]
    stray_octets: list[int]
    segments: list[int]
    bad_checksums: list[int]
    synced: list[bool]
    conflicts: list[int]
    resent: int
    zero_windows: list[tuple[int, int, int]]
    steps_back: int
    stream_id: str
    row: int

    @property
    def c2s(self) -> bytes:
        """The client's octets where they have no gap."""
        return whole(self.chunks[0], self.octets[0])

    @property
    def s2c(self) -> bytes:
        """The server's octets where they have no gap."""
        return whole(self.chunks[1], self.octets[1])


def whole(chunks: list[tuple[int, bytes]], length: int) -> bytes:
    """One chunk that is the whole stream."""
    if not length:
        return b""
    ((offset, octets),) = chunks
    assert (offset, len(octets)) == (0, length)
    return octets


def table_of(paths) -> pa.Table:
    """The segments of captures in the order reassembly wants."""
    batches = [batch for rank, path in enumerate(paths) for batch in read_segments(str(path), rank)]
    return pa.Table.from_batches(batches, SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()


def streams_of(paths, overlap="first") -> list[Stream]:
    """The connections of some captures."""
    table = table_of(paths)
    sources = {rank: octets(str(path)) for rank, path in enumerate(paths)}
    result = reassemble_columns(table, "tap", overlap)
    conflicts = count_conflicts(result, table, sources)
    found = [view(result, i, table, sources, conflicts) for i in range(len(result.streams))]
    return sorted(found, key=lambda stream: stream.row)


def view(result: Reassembly, i: int, table, sources, conflicts) -> Stream:
    """One connection of a reassembly, its sides in the order client, server."""
    streams, client = result.streams, int(result.streams.initiator[i])
    if client < 0:
        client = 0 if streams.low_port[i] != SERVER[1] else 1
    way = [client, 1 - client]
    sides = streams.sides
    zero = result.zero_windows
    stalls = [
        (way.index(int(s)), (int(b) - START_NS) // STEP_NS, (int(e) - START_NS) // STEP_NS)
        for n, s, b, e in zip(zero.stream, zero.side, zero.begin_ns, zero.end_ns, strict=True)
        if n == i
    ]
    chunks = tuple(chunks_of(result, i, side, table, sources) for side in way)
    closed_by, rst_by = int(streams.closed_by[i]), int(streams.rst_by[i])
    return Stream(
        client=client,
        history=history_for(streams.history[i], client),
        close=(("fin", "rst", "open")[streams.close_kind[i]], way.index(closed_by) if closed_by in way else closed_by),
        reset=way.index(rst_by) if rst_by in way else rst_by,
        chunks=chunks,
        octets=sides.octets[i][way].tolist(),
        gap=sides.gap_octets[i][way].tolist(),
        truncated=sides.truncated_octets[i][way].tolist(),
        again=sides.retransmitted_octets[i][way].tolist(),
        copies=sides.duplicate_segments[i][way].tolist(),
        out_of_order=sides.out_of_order_segments[i][way].tolist(),
        strays=sides.stray_segments[i][way].tolist(),
        stray_octets=sides.stray_octets[i][way].tolist(),
        segments=sides.segments[i][way].tolist(),
        bad_checksums=sides.bad_checksum_segments[i][way].tolist(),
        synced=sides.synced[i][way].tolist(),
        conflicts=conflicts[i][way].tolist(),
        resent=int(np.count_nonzero(result.retransmissions.stream == i)),
        zero_windows=stalls,
        steps_back=int(streams.clock_steps_back[i]),
        stream_id=streams.stream_id[i].as_py(),
        row=int(streams.first_capture[i]) << 32 | int(streams.first_packet[i]),
    )


def chunks_of(result: Reassembly, i: int, side: int, table, sources) -> list[tuple[int, bytes]]:
    """(offset, octets) of each stretch without a gap."""
    extents = result.extents.take((result.extents.stream == i) & (result.extents.side == side))
    chunks: list[tuple[int, bytes]] = []
    for k in range(len(extents)):
        offset, piece = int(extents.offset[k]), gather(extents.take(slice(k, k + 1)), table, sources).tobytes()
        if chunks and chunks[-1][0] + len(chunks[-1][1]) == offset:
            chunks[-1] = (chunks[-1][0], chunks[-1][1] + piece)
        else:
            assert not chunks or chunks[-1][0] + len(chunks[-1][1]) < offset
            chunks.append((offset, piece))
    return chunks
