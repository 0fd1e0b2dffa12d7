"""One large flow, block by block: what its connections leave undecided in one block is taken up in the next.

Of a connection that goes on only those segments are held that brought octets of no row yet, or that come with later rows. The protocol
of a connection is detected a block after its first octets were settled, so that the answer to them is there too, or when as many octets
were examined as are: then it stands. Until then the headers of its segments are held, and none of its octets.

Where captures to come may go on with the flow, its connections are given out as they stand, and what they had left undecided before is
kept: a later run takes that up as the next block would have (stompcap.assembly.flow_state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.batch import Batch
from stompcap.assembly.connects import NO_CONNECTS, Connects, connects_of
from stompcap.assembly.kept_octets import KeptOctets
from stompcap.assembly.listing import Listing
from stompcap.assembly.parts import Part
from stompcap.assembly.task import Task
from stompcap.assembly.windows import Going, Resumed, windows
from stompcap.codes import ROLE_EOLS, ROLE_OTHER, ROLE_UNKNOWN
from stompcap.columns import I8, I64, Bools, Octets, column
from stompcap.tcp.join import end_to_end, in_order
from stompcap.tcp.keep_alives import without_keep_alives
from stompcap.tcp.machine import Settled
from stompcap.tcp.results import NO_EXTENTS, NO_REPEATS, NO_STALLS, NO_STEPS, ClockSteps, Extents, Reassembly, Retransmissions, ZeroWindows
from stompcap.transport import detect
from stompcap.wire_order import END

Stalls = tuple[ZeroWindows, Retransmissions, ClockSteps]
NOT_STALLED = NO_STALLS, NO_REPEATS, NO_STEPS
MOST_UNDECIDED = 1 << 16
"""Segments that are held of a connection which has shown no protocol: what of it may be STOMP behind them is not kept."""

NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Underway:
    """A connection that goes on: stream 0 of its `extents`, which are of rows of `segments`, and of its stalls that have no rows yet.

    `learned` and `resumed` are None where its protocol was not detected yet, the latter also where it is not kept. `passcodes` are
    those that it gave, in memory alone; `connects` is where they stand. `missing` are octets of each side that an earlier run did not keep
    and that cannot be read again. `number` and `order` of each segment: that of its packet in the flow, and the place in wire order of the
    first octets that it brought.
    """

    learned: dict[str, int] | None
    resumed: Resumed | None
    conflicts: I64
    extents: Extents
    segments: pa.Table
    number: I64
    order: I64
    stalls: Stalls
    passcodes: frozenset[bytes]
    connects: Connects = NO_CONNECTS
    missing: I64 = field(default_factory=lambda: np.zeros(2, np.int64))


class OpenFlow:
    """The connections of a flow as they stand, while captures to come may go on with it: what tables show of their octets."""

    def __init__(self, together: Together, kept: Bools, roles: I8) -> None:
        self.together = together
        found = together.reassembly
        side = np.where(column(together.segments, "forward"), 0, 1)
        self.role: I8 = roles[found.stream_of, side]
        self.octets = KeptOctets(together.segments, kept[found.stream_of])
        self.streams = np.ones(len(found.streams), np.bool_)

    def ids(self) -> pa.Array:
        """The ids of its connections."""
        return self.together.reassembly.streams.stream_id

    def take(self, extents: Extents, octets: Octets) -> None:
        """Take the octets of some extents, back to back, as tables show them."""
        self.octets.take(extents, octets)


class Flow:
    """The connections of one flow, made into rows."""

    def __init__(self, assembly: Task, underway: Mapping[int, Underway] | None = None) -> None:
        """`underway`: the connections that an earlier run left."""
        self.assembly = assembly
        self.underway: dict[int, Underway] = dict(underway or {})  # by number in the flow
        self.open: OpenFlow | None = None
        """What the last step told, if the flow stays open behind it."""

    def parts(self, step: Settled, *, stays_open: bool = False) -> Iterator[Part]:
        """The rows that a block makes final; where the flow `stays_open` behind its last packet, all rows as they stand."""
        a, found = self.assembly, without_keep_alives(step.reassembly, step.segments, self.assembly.sources)
        step = replace(step, reassembly=found)
        before = {number - step.first: one for number, one in self.underway.items()}
        together = Together.of(step, before)
        segments, reassembly = together.segments, together.reassembly
        unknown = np.ones(len(found.streams), np.bool_)
        unknown[[stream for stream, one in before.items() if one.learned is not None]] = False
        shown = detect.detect(reassembly, segments, a.sources, a.options, unknown)
        kept, detected, missing = shown.kept, found.over.copy(), np.zeros((len(found.streams), 2), np.int64)
        for stream, one in before.items():
            held, waits = one.segments.num_rows, shown.undecided[stream] and not kept[stream]
            detected[stream] |= one.learned is not None or held > (MOST_UNDECIDED if waits else 0)
            kept[stream] |= one.resumed is not None
            missing[stream] = one.missing
        if (without := detect.not_kept(kept, reassembly, segments)).size:
            a.unread.add(segments.column("endpoints")[0].as_py())
        reassembly = _without(without, reassembly, missing)
        conflicts = tcp.count_conflicts(found, step.segments, a.sources)
        if stays_open:
            ended = (~unknown & ~kept)[:, None] & np.isin(shown.roles, (ROLE_UNKNOWN, ROLE_EOLS))
            self.open = OpenFlow(replace(together, reassembly=reassembly), kept, np.where(ended, np.int8(ROLE_OTHER), shown.roles))
        batch = Batch(a, segments, reassembly, shown, conflicts, self.open, step.lasting, together.listing)
        for stream, one in before.items():
            conflicts[stream] += one.conflicts
            batch.passcodes[stream] = one.passcodes
            if one.learned is not None:
                batch.know(stream, one.learned)
        resumed = {stream: one.resumed for stream, one in before.items()}
        connects = {stream: one.connects for stream, one in before.items()}
        written = np.zeros(len(found.streams), np.bool_)
        going = self._going(step, together, resumed)
        for window in windows(reassembly, kept & detected, segments, a.sources, a.window, going, a.names):
            yield from batch.parts(window)
            written[window.streams] = True
            resumed |= dict.fromkeys(window.streams.tolist(), window.resumed)
            for stream, more in connects_of(window, segments, connects).items():
                connects[stream] = connects.get(stream, NO_CONNECTS).followed_by(more)
        others = np.flatnonzero(found.over & ~kept)
        if others.size:
            yield batch.others(others)
        self.underway = {}
        for stream in np.flatnonzero(~found.over).tolist():
            learned, position = (batch.learned(stream), resumed.get(stream)) if detected[stream] else (None, None)
            dropped = detected[stream] and not kept[stream]
            left, rows = (NO_EXTENTS, NO_ROWS) if dropped else _left(stream, reassembly, together.listing, position)
            stalls = NOT_STALLED if written[stream] or dropped else _stalls(stream, reassembly)
            passcodes = batch.passcodes.get(stream, frozenset())
            self.underway[step.first + stream] = Underway(
                learned, position, conflicts[stream], left, segments.take(pa.array(rows)), together.number[rows],
                together.listing.order[rows], stalls, passcodes, connects.get(stream, NO_CONNECTS), missing[stream],
            )  # fmt: skip

    def _going(self, step: Settled, together: Together, resumed: dict[int, Resumed | None]) -> dict[int, Going]:
        """The connections that have no end yet, or that began earlier."""
        found, extents, upto = step.reassembly, together.reassembly.extents, step.reassembly.ordered + 1
        partly = together.number[extents.row] >= step.unsettled[extents.stream]  # more may come of the octets of these packets
        np.minimum.at(upto, extents.stream[partly], together.listing.order[extents.row[partly]])
        idle = np.ones((len(found.streams), 2), np.bool_)
        idle[found.extents.stream, found.extents.side] = False
        return {
            stream: Going(END if over else int(upto[stream]), idle[stream], resumed.get(stream))
            for stream, over in enumerate(found.over.tolist())
            if not over or resumed.get(stream)
        }


@dataclass(frozen=True)
class Together:
    """The segments of a block and those left before, in wire order, and what was found of both.

    `row` of each: first those of the block, in its order, then those left of each connection, in theirs. `number` of each row: that of its
    packet in the flow.
    """

    segments: pa.Table
    reassembly: Reassembly
    row: I64
    number: I64
    listing: Listing

    @staticmethod
    def of(step: Settled, before: Mapping[int, Underway]) -> Together:
        """A block and the connections that went on, by their streams in it."""
        found, tables, stream_of = step.reassembly, [step.segments], [step.reassembly.stream_of]
        extents, stalls = [found.extents], [(found.zero_windows, found.retransmissions, found.clock_steps)]
        row = step.segments.num_rows
        number, listed = [step.number], [np.full(row, END)]
        for stream, one in before.items():
            of = np.int32(stream)
            tables.append(one.segments)
            number.append(one.number)
            listed.append(one.order)
            stream_of.append(np.full(one.segments.num_rows, of, np.int32))
            extents.append(replace(one.extents, stream=one.extents.stream + of, row=one.extents.row + row))
            closed, again, steps = one.stalls
            closed, again = replace(closed, stream=closed.stream + of), replace(again, stream=again.stream + of)
            stalls.append((closed, again, replace(steps, stream=steps.stream + of)))
            row += one.segments.num_rows
        segments, merged = pa.concat_tables(tables).combine_chunks(), end_to_end(extents)
        numbers = np.concatenate(number)
        order = np.argsort(numbers, kind="stable")
        to = np.empty(len(order), np.int64)
        to[order] = np.arange(len(order))
        merged = in_order(replace(merged, row=to[merged.row]))
        overlaps = replace(found.overlaps, row=to[found.overlaps.row])
        zero_windows, retransmissions, clock_steps = zip(*stalls, strict=True)
        reassembly = replace(
            found, extents=merged, overlaps=overlaps, zero_windows=end_to_end(zero_windows),
            retransmissions=end_to_end(retransmissions), clock_steps=end_to_end(clock_steps), stream_of=np.concatenate(stream_of)[order],
        )  # fmt: skip
        listing = Listing.of(numbers[order], merged, np.concatenate(listed)[order])
        return Together(segments.take(pa.array(order)).combine_chunks(), reassembly, to, numbers[order], listing)


def _without(rows: I64, reassembly: Reassembly, missing: I64) -> Reassembly:
    """A reassembly in which the octets of these rows are missing, and those that were `missing` before; these are added to the latter."""
    e, streams = reassembly.extents, reassembly.streams
    gone = np.isin(e.row, rows)
    np.add.at(missing, (e.stream[gone], e.side[gone]), e.length[gone])
    sides = replace(streams.sides, gap_octets=streams.sides.gap_octets + missing)
    return replace(reassembly, extents=e.take(~gone), streams=replace(streams, sides=sides)) if missing.any() else reassembly


def _left(stream: int, reassembly: Reassembly, listing: Listing, position: Resumed | None) -> tuple[Extents, I64]:
    """The extents of a stream that are needed again, and the rows of their segments."""
    e = reassembly.extents.take(reassembly.extents.stream == stream)
    if position is not None:
        e = e.take((e.offset + e.length > position.state.pending[e.side]) | (listing.order[e.row] >= position.since))
    rows, row = np.unique(e.row, return_inverse=True)
    return replace(e, stream=e.stream - np.int32(stream), row=row), rows


def _stalls(stream: int, reassembly: Reassembly) -> Stalls:
    """The stalls of a stream that no window has had yet."""
    z, r = reassembly.zero_windows, reassembly.retransmissions
    mine, again = z.stream == stream, r.stream == stream
    closed = ZeroWindows(z.stream[mine] - np.int32(stream), z.side[mine], z.begin_ns[mine], z.end_ns[mine])
    steps = reassembly.clock_steps
    own = steps.stream == stream
    steps = ClockSteps(
        steps.stream[own] - np.int32(stream), steps.side[own], steps.ts_ns[own], steps.place[own], steps.min_ns[own], steps.max_ns[own]
    )
    return closed, Retransmissions(r.stream[again] - np.int32(stream), r.side[again], r.ts_ns[again]), steps
