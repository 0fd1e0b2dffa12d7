"""One large flow, block by block: what its connections leave undecided in one block is taken up in the next.

Of a connection that goes on only those segments are held that brought octets of no row yet, or that come with later rows. The protocol
of a connection is detected a block after its first octets were settled, so that the answer to them is there too: then it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import tcp
from stompcap.assembly import choice
from stompcap.assembly.batch import Batch
from stompcap.assembly.parts import Part
from stompcap.assembly.task import Task
from stompcap.assembly.windows import Going, Resumed, windows
from stompcap.capture.columns import SEGMENTS
from stompcap.places import END
from stompcap.tcp.flows import places
from stompcap.tcp.join import end_to_end, in_order
from stompcap.tcp.machine import Settled
from stompcap.tcp.results import NO_EXTENTS, NO_REPEATS, NO_STALLS, Extents, Reassembly, Retransmissions, ZeroWindows

Ints = NDArray[np.int64]
NOT_STALLED = NO_STALLS, NO_REPEATS


@dataclass(frozen=True)
class _Underway:
    """A connection that goes on: stream 0 of its `extents`, which are of rows of `segments`, and of its stalls that have no rows yet.

    `learned` and `resumed` are None where its protocol was not detected yet, the latter also where it is not kept. `passcodes` are
    those that it gave, in memory alone.
    """

    learned: dict[str, int] | None
    resumed: Resumed | None
    conflicts: Ints
    extents: Extents
    segments: pa.Table
    stalls: tuple[ZeroWindows, Retransmissions]
    passcodes: frozenset[bytes]


class Flow:
    """The connections of one flow, made into rows."""

    def __init__(self, assembly: Task) -> None:
        self.assembly = assembly
        self.underway: dict[int, _Underway] = {}  # by number in the flow

    def parts(self, step: Settled) -> Iterator[Part]:
        """The rows that a block makes final."""
        a, found = self.assembly, step.reassembly
        before = {number - step.first: one for number, one in self.underway.items()}
        segments, reassembly = _together(step, before)
        unknown = np.ones(len(found.streams), np.bool_)
        unknown[[stream for stream, one in before.items() if one.learned is not None]] = False
        kept, said = choice.detect_protocols(reassembly, segments, a.sources, a.options, unknown)
        conflicts = tcp.count_conflicts(found, step.segments, a.sources)
        batch = Batch(a, segments, reassembly, said, conflicts, kept, lasting=step.lasting)
        detected = found.over.copy()
        for stream, one in before.items():
            conflicts[stream] += one.conflicts
            batch.passcodes[stream] = one.passcodes
            detected[stream] |= one.learned is not None or len(one.extents) > 0
            if one.learned is not None:
                batch.know(stream, one.learned)
                kept[stream] = one.resumed is not None
        resumed = {stream: one.resumed for stream, one in before.items()}
        written = np.zeros(len(found.streams), np.bool_)
        going = self._going(step, resumed)
        for window in windows(reassembly, kept & detected, segments, a.sources, a.window, going):
            yield from batch.parts(window)
            written[window.streams] = True
            resumed |= dict.fromkeys(window.streams.tolist(), window.resumed)
        others = np.flatnonzero(found.over & ~kept)
        if others.size:
            yield Part({"streams": batch.streams(others)})
        self.underway = {}
        for stream in np.flatnonzero(~found.over).tolist():
            learned, position = (batch.learned(stream), resumed.get(stream)) if detected[stream] else (None, None)
            dropped = detected[stream] and not kept[stream]
            left, rows = (NO_EXTENTS, SEGMENTS.empty_table()) if dropped else _left(stream, reassembly, segments, position)
            stalls = NOT_STALLED if written[stream] or dropped else _stalls(stream, reassembly)
            passcodes = batch.passcodes.get(stream, frozenset())
            self.underway[step.first + stream] = _Underway(learned, position, conflicts[stream], left, rows, stalls, passcodes)

    def _going(self, step: Settled, resumed: dict[int, Resumed | None]) -> dict[int, Going]:
        """The connections that have no end yet, or that began earlier."""
        found, where = step.reassembly, np.append(places(step.segments), 0)
        behind = int(where.max()) + 1
        upto = np.where(step.unsettled > step.number.max(initial=-1), behind, where[np.searchsorted(step.number, step.unsettled)])
        idle = np.ones((len(found.streams), 2), np.bool_)
        idle[found.extents.stream, found.extents.side] = False
        return {
            stream: Going(END if over else int(upto[stream]), idle[stream], resumed.get(stream))
            for stream, over in enumerate(found.over.tolist())
            if not over or resumed.get(stream)
        }


def _together(step: Settled, before: dict[int, _Underway]) -> tuple[pa.Table, Reassembly]:
    """The segments of a block and those left before, in wire order, and what was found of both."""
    found, tables = step.reassembly, [step.segments]
    extents, closed, again = [found.extents], [found.zero_windows], [found.retransmissions]
    row = step.segments.num_rows
    for stream, one in before.items():
        of = np.int32(stream)
        tables.append(one.segments)
        extents.append(replace(one.extents, stream=one.extents.stream + of, row=one.extents.row + row))
        closed.append(replace(one.stalls[0], stream=one.stalls[0].stream + of))
        again.append(replace(one.stalls[1], stream=one.stalls[1].stream + of))
        row += one.segments.num_rows
    segments, merged = pa.concat_tables(tables).combine_chunks(), end_to_end(extents)
    order = np.argsort(places(segments), kind="stable")
    to = np.empty(len(order), np.int64)
    to[order] = np.arange(len(order))
    merged = in_order(replace(merged, row=to[merged.row]))
    reassembly = replace(found, extents=merged, zero_windows=end_to_end(closed), retransmissions=end_to_end(again))
    return segments.take(pa.array(order)).combine_chunks(), reassembly


def _left(stream: int, reassembly: Reassembly, segments: pa.Table, position: Resumed | None) -> tuple[Extents, pa.Table]:
    """The extents of a stream that are needed again, and their segments."""
    e = reassembly.extents.take(reassembly.extents.stream == stream)
    if position is not None:
        e = e.take((e.offset + e.length > position.state.pending[e.side]) | (places(segments)[e.row] >= position.since))
    rows, row = np.unique(e.row, return_inverse=True)
    return replace(e, stream=e.stream - np.int32(stream), row=row), segments.take(pa.array(rows))


def _stalls(stream: int, reassembly: Reassembly) -> tuple[ZeroWindows, Retransmissions]:
    """The stalls of a stream that no window has had yet."""
    z, r = reassembly.zero_windows, reassembly.retransmissions
    mine, again = z.stream == stream, r.stream == stream
    closed = ZeroWindows(z.stream[mine] - np.int32(stream), z.side[mine], z.begin_ns[mine], z.end_ns[mine])
    return closed, Retransmissions(r.stream[again] - np.int32(stream), r.side[again], r.ts_ns[again])
