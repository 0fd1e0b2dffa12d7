"""Connections as self-contained rows: the attributes of each, and for every captured piece of its streams the file offset, not the octets.

A row no longer needs its segments, so it can be spilled to disk where a capture has more connections, or one of them more
segments, than fit in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Source
from stompcap.capture.segment_columns import SPILLED
from stompcap.columns import I8, I32, I64, Octets, column
from stompcap.tcp.octets import copy_from
from stompcap.tcp.results import Extents, Streams

PIECE = pa.struct([(name, pa.int64()) for name in ("offset", "length", "file_offset", "ts_ns")])


@dataclass(frozen=True)
class Pieces:
    """Stretches of streams, sorted by stream, side and offset; `file_offset` as in SEGMENTS, but of the stretch itself."""

    stream: I32
    side: I8
    offset: I64
    length: I64
    file_offset: I64
    ts_ns: I64


def pieces_of(extents: Extents, segments: pa.Table, first: int = 0) -> Pieces:
    """Extents, of connections from number `first` on, as stretches of their segments' captures; payload must have been spilled."""
    file_offset = column(segments, "file_offset")[extents.row]
    return Pieces(
        extents.stream + np.int32(first),
        extents.side,
        extents.offset,
        extents.length,
        np.where(file_offset <= SPILLED, file_offset - extents.skip, file_offset + extents.skip),
        column(segments, "ts_ns")[extents.row],
    )


def edges_of(pieces: Pieces, streams: int) -> I64:
    """Where the pieces of each side of each of `streams` streams begin, and where the last of them end."""
    return np.searchsorted(pieces.stream.astype(np.int64) * 2 + pieces.side, np.arange(2 * streams + 1))


def rows_of(streams: Streams, incarnation: I64, edges: I64, columns: Mapping[str, I64]) -> pa.Table:
    """A row per connection, in order of the first packets; `columns` are those of PIECE, split at `edges` (as `edges_of` gives them)."""
    values = pa.StructArray.from_arrays([pa.array(columns[field.name]) for field in PIECE], fields=list(PIECE))
    fields = {
        "first_packet": streams.first_packet,
        "incarnation": incarnation,
        "stream_id": streams.stream_id,
        "low": [end.tobytes() for end in streams.low],
        "low_port": streams.low_port,
        "high": [end.tobytes() for end in streams.high],
        "high_port": streams.high_port,
        "first_ns": streams.first_ns,
        "last_ns": streams.last_ns,
        "initiator": streams.initiator,
        "history": streams.history,
        "close_kind": streams.close_kind,
        "low_octets": streams.sides.octets[:, 0].copy(),
        "high_octets": streams.sides.octets[:, 1].copy(),
        "low_pieces": edges[1::2] - edges[:-1:2],
        "pieces": pa.LargeListArray.from_arrays(pa.array(edges[::2]), values),
    }
    rows = pa.table(fields)
    if (streams.first_packet[1:] >= streams.first_packet[:-1]).all():
        return rows  # not copied: it may be large
    return rows.take(pa.array(np.argsort(streams.first_packet, kind="stable")))


def incarnations(streams: Streams, stream_of: I32, flow: I64) -> I64:
    """The incarnation of each connection in its flow, from 0; connections of a flow are adjacent."""
    count = len(streams)
    of = np.zeros(count, np.int64)
    of[stream_of] = flow
    ends = np.column_stack((streams.low, streams.high, streams.low_port, streams.high_port, of))
    begins = np.concatenate(([True], (ends[1:] != ends[:-1]).any(axis=1))) if count else np.zeros(0, bool)
    numbers = np.arange(count)
    return numbers - np.maximum.accumulate(np.where(begins, numbers, 0))


def read(file_offset: I64, lengths: I64, sources: Mapping[int, Source]) -> Octets:
    """The octets of pieces back to back; `sources` as for `gather`, the capture under rank 0."""
    targets = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()), np.uint8)
    spilled = file_offset <= SPILLED
    for rank, which, begins in ((0, ~spilled, file_offset), (SPILLED, spilled, SPILLED - file_offset)):
        if which.any():
            copy_from(sources[rank], begins[which], lengths[which], targets[which], out)
    return out
