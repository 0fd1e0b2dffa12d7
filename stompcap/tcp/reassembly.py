"""Segments of whole flows to TCP byte streams, as columns: what Spark's tasks and `stompcap.tcp.reassemble` both run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.tcp import state as s
from stompcap.tcp.assign import assign
from stompcap.tcp.copies import COPY_NS, empty_memory
from stompcap.tcp.history import HISTORY_WIDTH
from stompcap.tcp.naming import as_streams
from stompcap.tcp.order import grouped, order
from stompcap.tcp.results import Extents, Int64s, Reassembly, Retransmissions, ZeroWindows, covering


def reassemble_columns(segments: pa.Table, source: str = "default", overlap: str = "first") -> Reassembly:
    """Reassemble whole flows.

    `segments`: rows of the SEGMENTS schema, sorted by flow, endpoints, capture and packet, so that a flow's rows
    are adjacent and in wire order. `overlap`: whether the `first` or the `last` octets captured stand where copies
    differ; counters and times are those of the octets kept.
    """
    if overlap not in ("first", "last"):
        raise ValueError(f"overlap is 'first' or 'last', not {overlap!r}")
    names = ("flow", "capture", "ts_ns", "seq", "ack", "flags", "window", "ip_id", "wire_octets", "captured_octets", "packet")
    columns = {name: column(segments, name) for name in names}
    forward = column(segments, "forward").astype(np.uint8)
    endpoints = fixed_rows(segments.column("endpoints"), 36)
    count = segments.num_rows
    number = np.arange(count)
    stream_of, position, marks = np.empty(count, np.int32), np.zeros(count, np.int64), np.zeros(count, np.uint8)
    stalls = np.empty((int(np.count_nonzero(columns["window"] == 0)), 4), np.int64)
    state, letters, ended = assign(
        columns["flow"], endpoints, forward, columns["capture"], columns["ts_ns"], columns["seq"], columns["ack"], columns["flags"],
        columns["window"], columns["ip_id"], columns["wire_octets"], number, stream_of, position, marks, stalls, empty_memory(),
        np.empty((64, s.COLUMNS), np.int64), np.zeros((64, HISTORY_WIDTH), np.uint8), 0, 0,
    )  # fmt: skip
    first = state[:, s.FIRST_ROW]
    state[:, s.FIRST_CAPTURE], state[:, s.FIRST_PACKET] = columns["capture"][first], columns["packet"][first]
    starts, rows = grouped(stream_of, forward, marks, columns["wire_octets"], len(state))
    extent_rows, overlap_rows, tallies = order(
        state, starts, rows, position, marks, columns["wire_octets"], columns["captured_octets"], number, overlap == "last"
    )
    extents, overlaps = as_extents(extent_rows), as_extents(overlap_rows)
    return Reassembly(
        as_streams(state, letters, tallies, endpoints[first], source),
        extents,
        overlaps,
        zero_windows(state, stalls[:ended]),
        retransmissions(extents, overlaps, columns["ts_ns"], marks & s.COPY != 0),
        stream_of,
    )


def column(segments: pa.Table, name: str) -> NDArray[Any]:
    """A column of fixed width as one contiguous array."""
    chunked = segments.column(name)
    array = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False))


def fixed_rows(values: pa.ChunkedArray, width: int) -> NDArray[np.uint8]:
    """A binary column whose values all have `width` octets as a matrix."""
    parts = []
    for chunk in values.chunks:
        _, offsets, data = chunk.buffers()
        begin = np.frombuffer(offsets, np.int32)[chunk.offset] if len(chunk) else 0
        octets = np.frombuffer(data, np.uint8)[begin : begin + len(chunk) * width] if len(chunk) else np.empty(0, np.uint8)
        parts.append(octets.reshape(-1, width))
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, width), np.uint8)


def as_extents(rows: Int64s) -> Extents:
    """The kernel's rows as columns."""
    stream, side, offset, length, row, skip = (np.ascontiguousarray(rows[:, i]) for i in range(6))
    return Extents(stream.astype(np.int32), side.astype(np.int8), offset, length, row, skip)


def zero_windows(state: Int64s, ended: Int64s) -> ZeroWindows:
    """Stalls that ended, and those that last to the end of their connection, by connection and beginning."""
    since = state[:, s.SIDES :].reshape(len(state), 2, s.WIDTH)[:, :, s.ZERO_SINCE]
    stream, side = np.nonzero(since >= 0)
    lasting = np.stack([stream, 1 - side, since[stream, side], state[stream, s.LAST_NS]], axis=1)
    rows = np.concatenate([ended, lasting])
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
    return ZeroWindows(rows[:, 0].astype(np.int32), rows[:, 1].astype(np.int8), rows[:, 2].copy(), rows[:, 3].copy())


def retransmissions(extents: Extents, overlaps: Extents, ts_ns: Int64s, copy: NDArray[np.bool_]) -> Retransmissions:
    """When octets came again, later than a copy of one packet can; `copy`: rows of packets captured again."""
    if not len(overlaps):
        return Retransmissions(overlaps.stream, overlaps.side, np.empty(0, np.int64))
    kept = extents.row[covering(extents, overlaps)]
    again, before = np.maximum(overlaps.row, kept), np.minimum(overlaps.row, kept)
    late = (ts_ns[again] - ts_ns[before] > COPY_NS) & ~copy[again]
    found = np.stack([overlaps.stream[late], overlaps.side[late], ts_ns[again[late]]])
    stream, side, at = np.unique(found, axis=1)  # what came again at one time is one
    return Retransmissions(stream.astype(np.int32), side.astype(np.int8), at)
