"""A capture's TCP connections one by one, for any protocol, without Spark: the public interface of the reassembler."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stompcap.capture import open_capture, read_segments
from stompcap.capture.files import Mapped, Source
from stompcap.capture.packet_rows import address
from stompcap.capture.payload_spill import PayloadSpill, scratch_folder
from stompcap.capture.segment_columns import SPILLED
from stompcap.columns import I64
from stompcap.options import STOMP_PORTS
from stompcap.tables.words import CLOSE_KINDS
from stompcap.tcp.history import history_for
from stompcap.tcp.machine import demand_policy
from stompcap.tcp.pieces import PIECE, read
from stompcap.tcp.sorted_runs import sorted_runs

READ_OCTETS = 1 << 24  # of a stream, read at a time


@dataclass(frozen=True)
class ByteStream:
    """One direction of a connection: `length` octets, gaps included. Octets are read from the capture when they are asked for."""

    length: int
    _offset: I64 = field(repr=False)
    _lengths: I64 = field(repr=False)
    _file_offset: I64 = field(repr=False)
    _ts_ns: I64 = field(repr=False)
    _sources: Mapping[int, Source] = field(repr=False)

    @property
    def chunks(self) -> list[tuple[int, bytes]]:
        """(offset, octets) of each stretch without a gap, ascending."""
        found = []
        for begin, end in pairwise(self._edges()):
            part = slice(begin, end)
            found.append((int(self._offset[begin]), read(self._file_offset[part], self._lengths[part], self._sources).tobytes()))
        return found

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """(offset, octets) of each stretch missing from the capture, ascending."""
        edges = self._edges()
        begins = [0, *(int(self._offset[last - 1] + self._lengths[last - 1]) for last in edges[1:])]
        ends = [*(int(self._offset[first]) for first in edges[:-1]), self.length]
        return [(begin, end - begin) for begin, end in zip(begins, ends, strict=True) if end > begin]

    def pieces(self) -> Iterator[tuple[int, int, bytes]]:
        """(offset, time, octets) of the new octets that each segment brought, by offset; in bounded memory.

        Times are nanoseconds since the epoch, and need not ascend.
        """
        begin = 0
        while begin < len(self._offset):
            taken = int(np.searchsorted(np.cumsum(self._lengths[begin : begin + (READ_OCTETS >> 4)]), READ_OCTETS, "right"))
            part = slice(begin, begin + max(taken, 1))
            octets = read(self._file_offset[part], self._lengths[part], self._sources)
            at = 0
            for offset, ts_ns, length in zip(
                self._offset[part].tolist(), self._ts_ns[part].tolist(), self._lengths[part].tolist(), strict=True
            ):
                yield offset, ts_ns, octets[at : at + length].tobytes()
                at += length
            begin = part.stop

    def _edges(self) -> list[int]:
        """The first piece of each stretch without a gap, and one past the last."""
        if not len(self._offset):
            return [0]
        cuts = np.flatnonzero(self._offset[1:] != self._offset[:-1] + self._lengths[:-1]) + 1
        return [0, *cuts.tolist(), len(self._offset)]


@dataclass(frozen=True)
class Connection:
    """One TCP connection. Endpoints are (address, port); times are nanoseconds since the epoch.

    The client is the side that opened it; where no handshake was captured, the side without a known STOMP port, else the one with the
    larger port. `incarnation`, counted from 0, distinguishes connections of the same endpoints.
    """

    stream_id: str
    incarnation: int
    client: tuple[str, int]
    server: tuple[str, int]
    c2s: ByteStream
    s2c: ByteStream
    first_packet: int  # its number in the file, from 1
    first_ns: int
    last_ns: int
    history: str  # Zeek's letters, upper case the client's
    close_kind: str  # fin, rst, open


def reassemble(
    path: str, source: str = "default", overlap: str = "first", *, vlan: bool = False, tunnels: bool = True
) -> Iterator[Connection]:
    """The TCP connections of a capture file, in order of their first packet.

    Where overlapping segments differ, the octets captured `first` are kept, or the `last`. `vlan`: VLAN ids separate connections.
    `tunnels`: the innermost packet of a tunnel counts, not the outer one. For a large capture, the columns that describe its segments are
    spilled to temporary files, and so is the payload of a compressed one.

    Raises CaptureError for a file that cannot be read; a truncated or damaged one gives the connections it has.
    """
    demand_policy(overlap)
    spill = PayloadSpill()
    segments = (spill.take(pa.Table.from_batches([batch])) for batch in read_segments(path, 0, vlan=vlan, tunnels=tunnels))
    with ExitStack() as until_done:
        runs = sorted_runs(segments, source, overlap, lambda: Path(until_done.enter_context(scratch_folder())))
        if not runs:
            return
        window = open_capture(path)
        sources = {0: window if isinstance(window, Mapped) else window.raw, SPILLED: spill.octets}
        yield from heapq.merge(*(_connections(run, sources) for run in runs), key=lambda connection: connection.first_packet)


def _connections(batches: Iterator[pa.RecordBatch], sources: Mapping[int, Source]) -> Iterator[Connection]:
    for batch in batches:
        lists = batch.column("pieces")
        columns = [lists.values.field(i).to_numpy() for i in range(PIECE.num_fields)]
        edges = lists.offsets.to_numpy()
        rows = batch.drop_columns("pieces").to_pylist()
        for row, begin, end in zip(rows, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            middle = begin + row["low_pieces"]
            low, high = ([column[part] for column in columns] for part in (slice(begin, middle), slice(middle, end)))
            offset, lengths, file_offset, ts_ns = low
            sides = [ByteStream(row["low_octets"], offset, lengths, file_offset, ts_ns, sources)]
            offset, lengths, file_offset, ts_ns = high
            sides.append(ByteStream(row["high_octets"], offset, lengths, file_offset, ts_ns, sources))
            yield _connection(row, sides)


def _connection(row: dict[str, Any], sides: list[ByteStream]) -> Connection:
    ends = (address(row["low"]), row["low_port"]), (address(row["high"]), row["high_port"])
    client = row["initiator"]
    if client < 0:
        known = [port in STOMP_PORTS for _, port in ends]
        client = int(known[0]) if known[0] != known[1] else int(ends[0][1] <= ends[1][1])
    return Connection(
        stream_id=row["stream_id"],
        incarnation=row["incarnation"],
        client=ends[client],
        server=ends[1 - client],
        c2s=sides[client],
        s2c=sides[1 - client],
        first_packet=row["first_packet"],
        first_ns=row["first_ns"],
        last_ns=row["last_ns"],
        history=history_for(row["history"], client),
        close_kind=CLOSE_KINDS[row["close_kind"]],
    )
