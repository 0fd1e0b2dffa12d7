"""Reassembles a block of segments: runs the kernels, and carries state from one block of a flow to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.capture.segment_columns import STEPPED
from stompcap.columns import I32, I64, U8, Bools, column
from stompcap.tcp import finality as t
from stompcap.tcp import state as s
from stompcap.tcp.acknowledged import NOT_YET, note_acknowledged
from stompcap.tcp.assign import Assigned, Segments, assign
from stompcap.tcp.clocks import OPEN_AT_ONCE, STEP
from stompcap.tcp.copies import COPY_NS, empty_memory, recent
from stompcap.tcp.history import HISTORY_WIDTH
from stompcap.tcp.idle import IDLE_NS, RECENT
from stompcap.tcp.interleave import BlockSegments
from stompcap.tcp.naming import as_streams
from stompcap.tcp.order import grouped, order
from stompcap.tcp.results import ClockSteps, Extents, Reassembly, Retransmissions, ZeroWindows, covering

ENDS = 36  # octets of the two endpoints
ROOM = 64  # for the states of new connections
NONE_ENDED = np.empty((0, 4), np.int64)


@dataclass(frozen=True)
class Carried:
    """The state carried from one block of a flow's packets to the next.

    Per connection: `state`, `letters`, `tallies`, `ends`; `gone` older ones are over. `memory` has the packets seen lately. The other
    arrays belong to the rows still needed: the packets' numbers in the flow, and the results for each.
    """

    state: I64
    letters: U8
    tallies: I64
    ends: U8
    memory: I64
    gone: int
    number: I64
    stream_of: I32
    position: I64
    marks: U8
    heard: I64
    born: I64
    acked_ns: I64


def nothing_carried() -> Carried:
    """The state at the beginning of a flow, or of many."""
    none = np.empty(0, np.int64)
    return Carried(
        np.empty((0, s.COLUMNS), np.int64), np.empty((0, HISTORY_WIDTH), np.uint8), np.empty((0, t.TALLIES), np.int64),
        np.empty((0, ENDS), np.uint8), empty_memory(), 0, none, none.astype(np.int32), none, none.astype(np.uint8), none, none, none,
    )  # fmt: skip


def reassemble_block(
    segments: pa.Table, before: Carried, number: I64, source: str, block: t.Block, idle_ns: int = IDLE_NS
) -> tuple[Reassembly, Carried, Bools]:
    """Reassemble rows as far as they are final with the block: (results, state to carry on, which rows are needed again).

    `segments`: the rows that `before` still needs, then the new ones; `number` counts packets of the flow. Several
    flows may be passed together if nothing is carried.
    """
    names = ("flow", "capture", "ts_ns", "seq", "ack", "flags", "window", "ip_id", "wire_octets", "captured_octets", "packet", "outer")
    columns = {name: column(segments, name) for name in names}
    wire, ts_ns = columns["wire_octets"], columns["ts_ns"]
    forward, bad_checksum = (column(segments, name).astype(np.uint8) for name in ("forward", "bad_checksum"))
    endpoints = fixed_rows(segments.column("endpoints"), ENDS)
    held, known, fresh = len(before.number), len(before.state), segments.num_rows - len(before.number)
    number = np.concatenate((before.number, number))
    stream_of, position = np.concatenate((before.stream_of, np.empty(fresh, np.int32))), padded(before.position, fresh)
    marks, born, heard = (padded(array, fresh) for array in (before.marks, before.born, before.heard))
    stalls = np.empty((int(np.count_nonzero(columns["window"][held:] == 0)) + 2 * known, 4), np.int64)
    marked = int(np.count_nonzero(columns["flags"][held:] & STEPPED))
    steps = np.empty((2 * fresh + OPEN_AT_ONCE * marked, STEP), np.int64)  # mostly not touched
    memory = before.memory.copy()
    new = Segments(
        columns["flow"][held:], endpoints[held:], forward[held:], columns["capture"][held:], columns["packet"][held:],
        ts_ns[held:], columns["seq"][held:],
        columns["ack"][held:], columns["flags"][held:], columns["window"][held:], columns["ip_id"][held:], wire[held:],
        bad_checksum[held:], number[held:],
    )  # fmt: skip
    assigned = Assigned(stream_of[held:], position[held:], marks[held:], heard[held:], stalls, steps)
    room = padded(before.state, ROOM), padded(before.letters, ROOM)
    state, letters, ended, stepped = assign(new, assigned, memory, *room, known, before.gone, idle_ns)
    first = held + state[known:, s.FIRST_ROW]
    for at, name in ((s.FIRST_CAPTURE, "capture"), (s.FIRST_PACKET, "packet"), (s.OUTER, "outer")):
        state[known:, at] = columns[name][first]
    ends, tallies = np.concatenate((before.ends, endpoints[first])), padded(before.tallies, 2 * (len(state) - known))
    acked_ns = np.concatenate((before.acked_ns, np.full(fresh, NOT_YET)))
    note_acknowledged(stream_of, forward, position, wire, marks, heard, ts_ns, held, len(state), acked_ns)
    starts, rows = grouped(stream_of, forward, marks, wire, len(state))
    keep, late = np.zeros(len(marks), np.uint8), np.zeros(len(marks), np.uint8)
    of_block = BlockSegments(ts_ns, position, marks, wire, columns["captured_octets"], number, heard, born, keep, late)
    extent_rows, overlap_rows = order(state, tallies, starts, rows, held, of_block, block)
    over = np.arange(len(state)) < (len(state) if block.final else len(state) - RECENT)
    by_offset = np.lexsort((overlap_rows[:, 2], overlap_rows[:, 1], overlap_rows[:, 0]))
    extents, overlaps = as_extents(extent_rows), as_extents(overlap_rows[by_offset])
    found = Reassembly(
        as_streams(state, letters, tallies, ends, source),
        over,
        extents,
        overlaps,
        zero_windows(state, over, stalls[:ended]),
        retransmissions(extents, overlaps, stream_of, forward, marks, np.flatnonzero(late), ts_ns),
        clock_steps(steps[:stepped]),
        stream_of,
        marks,
        acked_ns,
        state[:, s.ORDERED].copy(),
    )
    kept, left = keep != 0, ~over
    after = Carried(
        state[left], letters[left], tallies[np.repeat(left, 2)], ends[left], recent(memory, int(ts_ns[-1])) if len(ts_ns) else memory,
        before.gone + int(over.sum()), number[kept], (stream_of[kept] - over.sum()).astype(np.int32), position[kept], marks[kept],
        heard[kept], born[kept], acked_ns[kept],
    )  # fmt: skip
    return found, after, kept


def padded(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """An array followed by as many rows of zeros."""
    return np.concatenate((array, np.zeros((rows, *array.shape[1:]), array.dtype)))


def fixed_rows(values: pa.ChunkedArray, width: int) -> U8:
    """A binary column whose values all have `width` octets, as a matrix; read-only, as Arrow's own octets mostly are."""
    parts = []
    for chunk in values.chunks:
        _, offsets, data = chunk.buffers()
        begin = np.frombuffer(offsets, np.int32)[chunk.offset] if len(chunk) else 0
        octets = np.frombuffer(data, np.uint8)[begin : begin + len(chunk) * width] if len(chunk) else np.empty(0, np.uint8)
        parts.append(octets.reshape(-1, width))
    found = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, width), np.uint8)
    found.flags.writeable = False
    return found


def as_extents(rows: I64) -> Extents:
    """The kernel's rows as columns."""
    stream, side, offset, length, row, skip, wire_order = (np.ascontiguousarray(rows[:, i]) for i in range(7))
    return Extents(stream.astype(np.int32), side.astype(np.int8), offset, length, row, skip, wire_order)


def zero_windows(state: I64, which: Bools, ended: I64, first: int = 0) -> ZeroWindows:
    """Stalls that `ended`, and those of masked connections that last until now, by connection and beginning; counted from `first`."""
    since = state[:, s.SIDES :].reshape(len(state), 2, s.WIDTH)[:, :, s.ZERO_SINCE]
    stream, side = np.nonzero((since >= 0) & which[:, None])
    lasting = np.stack([first + stream, 1 - side, since[stream, side], state[stream, s.LAST_NS]], axis=1)
    rows = np.concatenate([ended, lasting])
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
    return ZeroWindows(rows[:, 0].astype(np.int32), rows[:, 1].astype(np.int8), rows[:, 2].copy(), rows[:, 3].copy())


def clock_steps(rows: I64) -> ClockSteps:
    """The kernel's rows as columns, by connection and number of the segment."""
    rows = rows[np.lexsort((rows[:, 3], rows[:, 0]))]
    stream, side, ts_ns, place, least, most = (np.ascontiguousarray(rows[:, i]) for i in range(STEP))
    return ClockSteps(stream.astype(np.int32), side.astype(np.int8), ts_ns, place, least, most)


def retransmissions(
    extents: Extents,
    overlaps: Extents,
    stream_of: I32,
    forward: U8,
    marks: U8,
    late: I64,
    ts_ns: I64,
) -> Retransmissions:
    """When octets came again, later than a copy of one packet can; `late` are rows known to be retransmissions."""
    rows = late
    if len(overlaps):
        kept = extents.row[covering(extents, overlaps)]
        repeated, first = np.maximum(overlaps.row, kept), np.minimum(overlaps.row, kept)
        later = (ts_ns[repeated] - ts_ns[first] > COPY_NS) & (marks[repeated] & s.COPY == 0)
        rows = np.concatenate((late, repeated[later]))
    found = np.stack([stream_of[rows].astype(np.int64), np.where(forward[rows] != 0, 0, 1), ts_ns[rows]])
    stream, side, at = np.unique(found, axis=1)  # simultaneous ones count once
    return Retransmissions(stream.astype(np.int32), side.astype(np.int8), at)
