"""Where the octets of segments stand in table raw_frames, so that stream_state need not have them too; and what stands there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I8, I64, Octets, coded, column, flat, integers, or_null, worded
from stompcap.tables import words
from stompcap.tcp.octets import copy_runs

_FAR = np.int64(1) << 44
"""Behind the last offset of any stream that is read: what is kept of a flow has a limit."""


class RawPlaces:
    """Of segments, by how many octets each has, the offset of the first in its stream if all are shown there, one behind the other."""

    def __init__(self, captured: I64) -> None:
        self._captured = captured
        self._shown: I64 = np.zeros(len(captured), np.int64)
        self._least: I64 = np.full(len(captured), _FAR)
        self._most: I64 = np.full(len(captured), -1)

    def add(self, rows: I64, begins: I64, lengths: I64) -> None:
        """Some octets of segments are shown, each once; `begins` are the offsets that the first ones of the segments have by that."""
        np.add.at(self._shown, rows, lengths)
        np.minimum.at(self._least, rows, begins)
        np.maximum.at(self._most, rows, begins)

    def offsets(self) -> I64:
        """Of each segment the offset of its first octet; -1 where it is not shown as a whole."""
        whole = (self._shown == self._captured) & (self._captured > 0) & (self._least == self._most)
        return np.where(whole, self._least, -1)


def columns_of(offsets: I64, side: I8) -> dict[str, pa.Array]:
    """Columns of stream_state for segments with these offsets, sent by the client (0) or the server (1)."""
    return {"stream_offset": or_null(offsets), "direction": worded(np.where(offsets < 0, -1, side), words.DIRECTIONS)}


def octets_of(rows: pa.Table, raw: Iterable[pa.Table]) -> pa.Array:
    """The octets of rows of stream_state that have a place in raw_frames, as rows of that table have them; null where some are missing.

    `raw` are rows of raw_frames that are no gaps: stream_id, direction, stream_offset, raw. Those of other streams are left out.
    """
    ids = pc.unique(rows.column("stream_id"))
    begin, length = _position(rows, ids), column(rows, "captured_octets")
    end, ends = begin + length, np.cumsum(length)
    out, found = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8), np.zeros(len(length), np.int64)
    order = np.argsort(begin, kind="stable")
    begins, reach = begin[order], np.maximum.accumulate(end[order])
    for some in raw:
        for batch in some.filter(pc.is_in(some.column("stream_id"), value_set=ids)).to_batches():
            octets, at, lengths = _binary(batch.column("raw"))
            start = _position(pa.Table.from_batches([batch]), ids)
            # the segments that a row may have octets of: from the first that reaches into it to the last that begins in it
            first = np.searchsorted(reach, start, "right")
            count = np.maximum(np.searchsorted(begins, start + lengths, "left") - first, 0)
            row = np.repeat(np.arange(len(start)), count)
            segment = order[np.arange(len(row)) - np.repeat(np.cumsum(count) - count - first, count)]
            left, right = np.maximum(begin[segment], start[row]), np.minimum(end[segment], (start + lengths)[row])
            both = np.flatnonzero(right > left)
            row, segment, left, right = row[both], segment[both], left[both], right[both]
            copy_runs(octets, (at - start)[row] + left, right - left, (ends - length - begin)[segment] + left, out)
            np.add.at(found, segment, right - left)
    validity = pa.array(found == length).buffers()[1] if len(found) else None
    return pa.Array.from_buffers(pa.binary(), len(found), [validity, pa.py_buffer(np.append(0, ends).astype(np.int32)), pa.py_buffer(out)])


def _position(rows: pa.Table, ids: pa.Array) -> I64:
    """One number for the stream, the direction and the offset of rows."""
    stream = integers(pc.index_in(flat(rows.column("stream_id")), value_set=ids))
    side = stream * len(words.DIRECTIONS) + coded(rows.column("direction"), words.DIRECTIONS)
    place: I64 = side * _FAR + column(rows, "stream_offset")
    return place


def _binary(values: pa.Array) -> tuple[Octets, I64, I64]:
    """The octets of a column without nulls, where each value begins in them, and how long it is."""
    _, offsets, data = values.buffers()
    at = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return np.frombuffer(data or b"", np.uint8), at[:-1], np.diff(at)
