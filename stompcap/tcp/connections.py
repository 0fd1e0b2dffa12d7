"""A capture's TCP connections one by one, of any protocol, without Spark: the readable face of the column machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

from stompcap.capture import SEGMENTS, octets, read_segments
from stompcap.capture.files import Source
from stompcap.capture.packet_rows import address
from stompcap.options import STOMP_PORTS
from stompcap.tables.words import CLOSE_KINDS
from stompcap.tcp.history import history_for
from stompcap.tcp.octets import gather
from stompcap.tcp.reassembly import reassemble_columns
from stompcap.tcp.results import Extents, Streams

WIRE_ORDER = [("flow", "ascending"), ("endpoints", "ascending"), ("capture", "ascending"), ("packet", "ascending")]


@dataclass(frozen=True)
class ByteStream:
    """One direction of a connection: `length` octets; what no chunk covers is a gap."""

    length: int
    _extents: Extents = field(repr=False)
    _segments: pa.Table = field(repr=False)
    _sources: Mapping[int, Source] = field(repr=False)

    @property
    def chunks(self) -> list[tuple[int, bytes]]:
        """(offset, octets) of each stretch without a gap, ascending; read from the capture at each call."""
        extents = self._extents
        if not len(extents):
            return []
        cuts = np.flatnonzero(extents.offset[1:] != extents.offset[:-1] + extents.length[:-1]) + 1
        edges = [0, *cuts.tolist(), len(extents)]
        return [
            (
                int(extents.offset[begin]),
                gather(extents.take(slice(begin, end)), self._segments, self._sources).tobytes(),
            )
            for begin, end in pairwise(edges)
        ]


@dataclass(frozen=True)
class Connection:
    """One TCP connection. Endpoints are (address, port); times are nanoseconds since the epoch.

    The client is who opened it; where no handshake was captured, the side without a known STOMP port, else with the
    larger port.
    """

    stream_id: str
    client: tuple[str, int]
    server: tuple[str, int]
    c2s: ByteStream
    s2c: ByteStream
    first_ns: int
    last_ns: int
    history: str  # Zeek's letters, upper case the client's
    close_kind: str  # fin, rst, open


def reassemble(path: str, source: str = "default", overlap: str = "first") -> Iterator[Connection]:
    """The TCP connections of a capture file, in order of their first packet.

    Where segments overlap with other octets, the `first` captured stand, or the `last`.

    Raises CaptureError for a file that cannot be read; a truncated or damaged one gives what it has.
    """
    segments = pa.Table.from_batches(read_segments(path, 0), SEGMENTS).sort_by(WIRE_ORDER).combine_chunks()
    if not segments.num_rows:
        return
    result = reassemble_columns(segments, source, overlap)
    sources = {0: octets(path)}
    groups = result.extents.stream.astype(np.int64) * 2 + result.extents.side
    edges = np.searchsorted(groups, np.arange(2 * len(result.streams) + 1))
    for stream in np.argsort(result.streams.first_packet, kind="stable").tolist():
        begin, middle, end = edges[2 * stream : 2 * stream + 3].tolist()
        extents = (result.extents.take(slice(begin, middle)), result.extents.take(slice(middle, end)))
        octets_sent = result.streams.sides.octets[stream].tolist()
        sides = [ByteStream(octets_sent[side], extents[side], segments, sources) for side in (0, 1)]
        yield _connection(result.streams, stream, sides)


def _connection(streams: Streams, stream: int, sides: list[ByteStream]) -> Connection:
    ends = (
        (address(streams.low[stream].tobytes()), int(streams.low_port[stream])),
        (address(streams.high[stream].tobytes()), int(streams.high_port[stream])),
    )
    client = int(streams.initiator[stream])
    if client < 0:
        known = [port in STOMP_PORTS for _, port in ends]
        client = int(known[0]) if known[0] != known[1] else int(ends[0][1] <= ends[1][1])
    return Connection(
        stream_id=streams.stream_id[stream].as_py(),
        client=ends[client],
        server=ends[1 - client],
        c2s=sides[client],
        s2c=sides[1 - client],
        first_ns=int(streams.first_ns[stream]),
        last_ns=int(streams.last_ns[stream]),
        history=history_for(streams.history[stream], client),
        close_kind=CLOSE_KINDS[int(streams.close_kind[stream])],
    )
