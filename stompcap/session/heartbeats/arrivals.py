"""When new octets arrived in the directions that heart-beats are judged in, and what they were.

A heart-beat is an EOL run that stands alone: its first octet did not come at the time of the octets before it, as the line end behind
a frame's NUL does. Octets of one capture time are one arrival, however many packets carried them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import EOL, GAP
from stompcap.columns import I64, Bools, integers
from stompcap.session.dialogue import RawRows
from stompcap.session.wire import directions
from stompcap.wire_order import END

BEFORE, BEHIND = np.int64(-(2**62)), np.int64(2**62)  # times of what is missing at the beginning and the end of a direction
LINE = np.int64(2**44)  # no direction has so many octets


class Segments(NamedTuple):
    """Segments that this step takes, by direction and time."""

    direction: I64  # session * 2 + side
    steps: I64  # how often the direction's clock had stepped before; only times with the same number can be compared
    ts_ns: I64
    eol: Bools  # they are EOLs alone


class Lost(NamedTuple):
    """Gaps of the capture, by direction: the times between which their octets crossed the wire."""

    direction: I64
    since_ns: I64
    until_ns: I64


class Arrived(NamedTuple):
    """All segments at hand."""

    direction: I64  # session * 2 + side, -1 for other streams
    wire_order: I64
    offset: I64  # of its first octet in the stream
    end: I64  # of the octet behind its last
    ts_ns: I64
    unframed: Bools  # rows lack some of its octets


def arrived_segments(segments: pa.Table, wire_order: I64, rows: RawRows, ids: pa.Array) -> Arrived:
    """The segments at hand and the raw rows, brought together."""
    direction = directions(segments, ids)
    offset = integers(segments.column("stream_offset"))
    end = offset + integers(segments.column("new_octets"))
    covered = np.zeros(2 * len(ids), np.int64)
    np.maximum.at(covered, rows.direction, rows.offset + rows.length)
    unframed = (direction >= 0) & (end > covered[direction])
    return Arrived(direction, wire_order, offset, end, integers(segments.column("ts_ns")), unframed)


def first_unframed(segments: Arrived, count: int) -> I64:
    """Per direction, of `count`, where the first segment of which rows lack octets stands in wire order; END where there is none."""
    found = np.full(count, END)
    np.minimum.at(found, segments.direction[segments.unframed], segments.wire_order[segments.unframed])
    return found


def ready(segments: Arrived, rows: RawRows, until: I64, retention: int, steps: I64) -> tuple[Bools, Segments]:
    """Which segments heart-beats may be judged by, and those segments; `steps` of the clock are before each.

    `until` per session: before that in wire order the step takes both directions. A segment waits for the raw rows of its octets,
    and so do those behind it, but no more than `retention` of them.
    """
    direction, limit = segments.direction, np.repeat(until, 2)
    waits = first_unframed(segments, len(limit))
    unframed = np.flatnonzero(segments.unframed)
    for one in np.flatnonzero(np.bincount(direction[unframed], minlength=len(limit)) > retention).tolist():
        of = np.sort(segments.wire_order[unframed[direction[unframed] == one]])
        waits[one] = of[len(of) - retention]
    limit = np.where(limit > END, limit, np.minimum(limit, waits))
    found = (direction >= 0) & (segments.wire_order < limit[direction])
    at = np.flatnonzero(found)
    at = at[np.lexsort((segments.offset[at], segments.ts_ns[at], steps[at], direction[at]))]
    eols = _only_eols(rows, direction[at], segments.offset[at], segments.end[at])
    return found, Segments(direction[at], steps[at], segments.ts_ns[at], eols)


def _only_eols(rows: RawRows, direction: I64, offset: I64, end: I64) -> Bools:
    """Segments that lie within one row of EOLs."""
    if len(rows) == 0:
        return np.zeros(len(direction), np.bool_)
    keys = rows.direction * LINE + rows.offset
    row = np.maximum(np.searchsorted(keys, direction * LINE + offset, side="right") - 1, 0)
    inside = (rows.direction[row] == direction) & (rows.offset[row] <= offset) & (end <= rows.offset[row] + rows.length[row])
    found: Bools = inside & (rows.kind[row] == EOL)
    return found


def beats(rows: RawRows) -> Bools:
    """Rows to be judged that are heart-beats."""
    before = np.maximum(np.arange(len(rows)) - 1, 0)
    joined = rows.follows & (rows.last_ns[before] == rows.first_ns)
    found: Bools = (rows.kind == EOL) & ~joined & ~rows.context
    return found


def lost(rows: RawRows) -> Lost:
    """All gaps of the capture among the rows at hand."""
    gap = np.flatnonzero(rows.kind == GAP)
    behind = np.minimum(gap + 1, max(len(rows) - 1, 0))
    follows = (behind > gap) & (rows.direction[behind] == rows.direction[gap])
    since = np.where(rows.follows[gap], rows.last_ns[np.maximum(gap - 1, 0)], BEFORE)
    return Lost(rows.direction[gap], since, np.where(follows, rows.first_ns[behind], BEHIND))
