"""Connections as rows that stand alone: what is known of each, and of every captured piece of its streams the place, not the octets.

A row needs no segments any more, so it can be laid aside on disk, where a capture holds more connections, or one of them more
segments, than should stand in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.columns import SPILLED
from stompcap.capture.files import Source
from stompcap.tcp.block import column
from stompcap.tcp.join import end_to_end
from stompcap.tcp.machine import Reassembler, Settled
from stompcap.tcp.octets import Octets, copy_from
from stompcap.tcp.results import Extents, Int64s, Streams

PIECE = pa.struct([(name, pa.int64()) for name in ("offset", "length", "place", "ts_ns")])


@dataclass(frozen=True)
class Pieces:
    """Stretches of streams, sorted by stream, side and offset; `place` as in SEGMENTS, but of the stretch itself."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    offset: Int64s
    length: Int64s
    place: Int64s
    ts_ns: Int64s

    def take(self, which: Int64s) -> Pieces:
        """Some of them, by index."""
        return Pieces(*(getattr(self, one.name)[which] for one in fields(self)))


def pieces_of(extents: Extents, segments: pa.Table, first: int = 0) -> Pieces:
    """Extents, of connections from number `first` on, by the places in their segments' captures; payload must have been laid aside."""
    place = column(segments, "place")[extents.row]
    return Pieces(
        extents.stream + np.int32(first),
        extents.side,
        extents.offset,
        extents.length,
        np.where(place <= SPILLED, place - extents.skip, place + extents.skip),
        column(segments, "ts_ns")[extents.row],
    )


def rows_of(streams: Streams, incarnation: Int64s, pieces: Pieces) -> pa.Table:
    """A row per connection, in order of the first packets."""
    edges = np.searchsorted(pieces.stream.astype(np.int64) * 2 + pieces.side, np.arange(2 * len(streams) + 1))
    values = pa.StructArray.from_arrays([pa.array(getattr(pieces, field.name)) for field in PIECE], fields=list(PIECE))
    columns = {
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
    rows = pa.table(columns)
    order = np.argsort(streams.first_packet, kind="stable")
    return rows if len(rows) == 1 else rows.take(pa.array(order))


def incarnations(streams: Streams, stream_of: NDArray[np.int32], flow: Int64s) -> Int64s:
    """Which connection of its flow each is, from 0; connections of a flow stand together."""
    count = len(streams)
    of = np.zeros(count, np.int64)
    of[stream_of] = flow
    ends = np.column_stack((streams.low, streams.high, streams.low_port, streams.high_port, of))
    begins = np.concatenate(([True], (ends[1:] != ends[:-1]).any(axis=1))) if count else np.zeros(0, bool)
    numbers = np.arange(count)
    return numbers - np.maximum.accumulate(np.where(begins, numbers, 0))


def of_one_flow(batches: Iterable[pa.Table], source: str, overlap: str) -> pa.Table:
    """The rows of one flow whose segments come in wire order, a table at a time: of each only its pieces are held."""
    machine = Reassembler(source, overlap)
    streams: list[Streams] = []
    pieces: list[Pieces] = []

    def steps() -> Iterator[Settled]:
        for batch in batches:
            yield from machine.feed(batch)
        yield machine.finish()

    for step in steps():
        streams.append(step.reassembly.streams.take(np.flatnonzero(step.reassembly.over)))
        pieces.append(pieces_of(step.reassembly.extents, step.segments, step.first))
    whole, every = end_to_end(streams), end_to_end(pieces)
    pieces.clear()
    every = every.take(np.lexsort((every.offset, every.side, every.stream)))
    return rows_of(whole, np.arange(len(whole)), every)


def read(place: Int64s, lengths: Int64s, sources: Mapping[int, Source]) -> Octets:
    """The octets of pieces back to back; `sources` as for `gather`, the capture by rank 0."""
    targets = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()), np.uint8)
    laid_aside = place <= SPILLED
    for rank, which, begins in ((0, ~laid_aside, place), (SPILLED, laid_aside, SPILLED - place)):
        if which.any():
            copy_from(sources[rank], begins[which], lengths[which], targets[which], out)
    return out
