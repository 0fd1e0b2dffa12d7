"""One large flow, block by block: what its connections leave undecided in one block is taken up in the next.

Of a connection that goes on only those segments are held that brought octets of no row yet, or that come with later rows. The protocol
of a connection is detected when CONNECT was answered, or a block after its first octets were settled, so that the answer to them is there
too, or when as many octets were examined as are: then it stands. Until then the headers of its segments are held, and none of its octets.

Where captures to come may go on with the flow, its connections are given out as they stand, and what they had left undecided before is
kept: a later run takes that up as the next block would have (stompcap.assembly.resume.flow_state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.batch import StreamRows
from stompcap.assembly.listing import Listing
from stompcap.assembly.parts import Part
from stompcap.assembly.resume.connects import NO_CONNECTS, Connects, connects_of
from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.task import Task
from stompcap.assembly.windows import Going, Resumed, windows
from stompcap.capture.files import Source
from stompcap.codes import ROLE_CLIENT, ROLE_EOLS, ROLE_OTHER, ROLE_SERVER, ROLE_UNKNOWN
from stompcap.columns import I8, I64, Bools, Octets, column
from stompcap.stomp.grammar import CONNECTED
from stompcap.tcp.join import end_to_end
from stompcap.tcp.keep_alives import without_keep_alives
from stompcap.tcp.machine import Settled
from stompcap.tcp.results import NO_REPEATS, NO_STALLS, NO_STEPS, ClockSteps, Extents, Reassembly, Retransmissions, ZeroWindows
from stompcap.transport import detect, plain
from stompcap.transport.carried import Carried
from stompcap.transport.layers import read_on
from stompcap.transport.state import Stack
from stompcap.transport.stretches import NO_STRETCHES, Stretches
from stompcap.wire_order import END

Stalls = tuple[ZeroWindows, Retransmissions, ClockSteps]
NOT_STALLED = NO_STALLS, NO_REPEATS, NO_STEPS
MOST_UNDECIDED = 1 << 16
"""Segments that are held of a connection which has shown no protocol: what of it may be STOMP behind them is not kept."""

NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Underway:
    """A connection that goes on: stream 0 of its `stretches`, which are of rows of `segments`, and of its stalls that have no rows yet.

    `learned` and `resumed` are None where its protocol was not detected yet, the latter also where it is not kept. `passcodes` are
    those that it gave, in memory alone; `connects` is where they stand. `missing` are octets of each side that an earlier run did not keep
    and that cannot be read again. `number` and `order` of each segment: that of its packet in the flow, and the place in wire order of the
    first octets that it brought. `layers` are those between TCP and STOMP; the stretches are what the innermost of them gives.
    """

    learned: dict[str, int] | None
    resumed: Resumed | None
    conflicts: I64
    stretches: Stretches
    segments: pa.Table
    number: I64
    order: I64
    stalls: Stalls
    passcodes: frozenset[bytes]
    connects: Connects = NO_CONNECTS
    missing: I64 = field(default_factory=lambda: np.zeros(2, np.int64))
    layers: Stack = ()
    waited: bool = True
    """Whether a block has come since its first octets were settled."""


class OpenFlow:
    """The connections of a flow as they stand, while captures to come may go on with it: what tables show of their octets."""

    def __init__(self, together: Together, kept: Bools, roles: I8) -> None:
        self.together = together
        found = together.reassembly
        side = np.where(column(together.carried.segments, "forward"), 0, 1)
        self.role: I8 = roles[found.stream_of, side]
        self.octets = KeptOctets(together.carried.segments, kept[found.stream_of])
        self.streams = np.ones(len(found.streams), np.bool_)

    def ids(self) -> pa.Array:
        """The ids of its connections."""
        return self.together.reassembly.streams.stream_id

    def take(self, stretches: Stretches, octets: Octets) -> None:
        """Take the octets of some stretches, back to back, as tables show them."""
        self.octets.take(stretches, octets)


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
        together = Together.of(step, before, a.sources)
        unknown = np.ones(len(found.streams), np.bool_)
        unknown[[stream for stream, one in before.items() if one.learned is not None]] = False
        shown = detect.detect(together.reassembly, together.carried, a.options, unknown, together.stacks)
        outer, together = together.carried, together.through(shown.carried)
        reassembly, segments = together.reassembly, shown.carried.segments
        kept, detected, missing = shown.is_stomp, found.over.copy(), np.zeros((len(found.streams), 2), np.int64)
        for stream, one in before.items():
            count, waits = one.segments.num_rows, shown.undecided[stream] and not kept[stream]
            detected[stream] |= one.learned is not None or (step.full and one.waited and count > (MOST_UNDECIDED if waits else 0))
            kept[stream] |= one.resumed is not None
            missing[stream] = one.missing
        if (without := detect.not_kept(kept, reassembly, segments)).size:
            a.unread.add(segments.column("endpoints")[0].as_py())
        reassembly, outer, carried = _without(without, reassembly, outer, shown.carried, missing)
        listing = together.listing()
        conflicts = tcp.count_conflicts(found, step.segments, a.sources)
        if stays_open:
            ended = (~unknown & ~kept)[:, None] & np.isin(shown.roles, (ROLE_UNKNOWN, ROLE_EOLS))
            self.open = OpenFlow(replace(together, reassembly=reassembly), kept, np.where(ended, np.int8(ROLE_OTHER), shown.roles))
        rows = StreamRows(a, reassembly, replace(shown, carried=carried), conflicts, self.open, step.lasting, listing)
        for stream, one in before.items():
            conflicts[stream] += one.conflicts
            rows.passcodes[stream] = one.passcodes
            if one.learned is not None:
                rows.know(stream, one.learned)
        resumed = {stream: one.resumed for stream, one in before.items()}
        connects = {stream: one.connects for stream, one in before.items()}
        written, answered = np.zeros(len(found.streams), np.bool_), np.isin(shown.roles, (ROLE_CLIENT, ROLE_SERVER)).all(axis=1)
        going = self._going(step, together, listing, resumed)
        for window in windows(carried, kept & (detected | answered), a.window, going, a.names):
            if window.first:
                detected[window.streams] |= bool((window.rows.command == CONNECTED).any())
            if not detected[window.streams].all():
                continue  # its version may not be known yet
            yield from rows.parts(window)
            written[window.streams] = True
            resumed |= dict.fromkeys(window.streams.tolist(), window.resumed)
            for stream, more in connects_of(window, carried.segments, connects).items():
                connects[stream] = connects.get(stream, NO_CONNECTS).followed_by(more)
        others = np.flatnonzero(found.over & ~kept)
        if others.size:
            yield rows.others(others)
        self.underway = {}
        for stream in np.flatnonzero(~found.over).tolist():
            learned, position = (rows.learned(stream), resumed.get(stream)) if detected[stream] else (None, None)
            dropped = detected[stream] and not kept[stream]
            # until it is detected, its layers begin again at its first octets
            left, held = (NO_STRETCHES, NO_ROWS) if dropped else _left(stream, carried if detected[stream] else outer, listing, position)
            stalls = NOT_STALLED if written[stream] or dropped else _stalls(stream, reassembly)
            passcodes = rows.passcodes.get(stream, frozenset())
            self.underway[step.first + stream] = Underway(
                learned, position, conflicts[stream], left, carried.segments.take(pa.array(held)), together.number[held],
                listing.order[held], stalls, passcodes, connects.get(stream, NO_CONNECTS), missing[stream],
                shown.stacks.get(stream, ()) if detected[stream] else (), step.full or (stream in before and before[stream].waited),
            )  # fmt: skip

    def _going(self, step: Settled, together: Together, listing: Listing, resumed: dict[int, Resumed | None]) -> dict[int, Going]:
        """The connections that have no end yet, or that began earlier."""
        found, came, upto = step.reassembly, together.carried.stretches, step.reassembly.ordered + 1
        partly = together.number[came.row] >= step.unsettled[came.stream]  # more may come of the octets of these packets
        np.minimum.at(upto, came.stream[partly], listing.order[came.row[partly]])
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

    `carried` has what the layers of connections give where these are known, and what TCP has of the others; `stacks` are those layers.
    `row` of each segment: first those of the block, in its order, then those left of each connection, in theirs. Of each row, `number` is
    that of its packet in the flow, and `before` the place in wire order that was found earlier, END where none was.
    """

    carried: Carried
    reassembly: Reassembly
    stacks: Mapping[int, Stack]
    row: I64
    number: I64
    before: I64

    @staticmethod
    def of(step: Settled, left: Mapping[int, Underway], sources: Mapping[int, Source]) -> Together:
        """A block and the connections that went on, by their streams in it."""
        found = step.reassembly
        new, stacks = read_on(plain.carried(found, step.segments, sources), {stream: one.layers for stream, one in left.items()})
        stretches, stalls = [new.stretches], [(found.zero_windows, found.retransmissions, found.clock_steps)]
        tables, row = [new.segments], new.segments.num_rows
        stream_of, number = [found.stream_of, found.stream_of[new.opened]], [step.number, step.number[new.opened]]
        before = [np.full(row, END)]
        for stream, one in left.items():
            count, of = one.segments.num_rows, np.int32(stream)
            tables.append(one.segments)
            number.append(one.number)
            before.append(one.order)
            stream_of.append(np.full(count, of))
            stretches.append(one.stretches.moved(stream, row + np.arange(count)))
            closed, again, steps = one.stalls
            closed, again = replace(closed, stream=closed.stream + of), replace(again, stream=again.stream + of)
            stalls.append((closed, again, replace(steps, stream=steps.stream + of)))
            row += count
        numbers = np.concatenate(number)
        order = np.argsort(numbers, kind="stable")
        to = np.empty(len(order), np.int64)
        to[order] = np.arange(len(order))
        segments = pa.concat_tables(tables).take(pa.array(order)).combine_chunks()
        carried = replace(
            new, stretches=end_to_end(stretches).moved(0, to).in_order(), segments=segments, opened=np.empty(0, np.int64)
        )  # fmt: skip
        zero_windows, retransmissions, clock_steps = zip(*stalls, strict=True)
        reassembly = replace(
            found, overlaps=replace(found.overlaps, row=to[found.overlaps.row]), zero_windows=end_to_end(zero_windows),
            retransmissions=end_to_end(retransmissions), clock_steps=end_to_end(clock_steps), stream_of=np.concatenate(stream_of)[order],
        )  # fmt: skip
        own = np.delete(to, step.segments.num_rows + np.arange(new.opened.size))
        return Together(carried, reassembly, stacks, own, numbers[order], np.concatenate(before)[order])

    def through(self, carried: Carried) -> Together:
        """The same, where more layers were opened."""
        if not carried.opened.size:
            return replace(self, carried=carried)
        number, before = (np.append(values, values[carried.opened]) for values in (self.number, self.before))
        stream_of = np.append(self.reassembly.stream_of, self.reassembly.stream_of[carried.opened])
        return replace(self, carried=carried, reassembly=replace(self.reassembly, stream_of=stream_of), number=number, before=before)

    def extents(self) -> Reassembly:
        """What was found, with the octets of both."""
        e = self.carried.stretches
        return replace(self.reassembly, extents=Extents(e.stream, e.side, e.offset, e.length, e.at, e.skip, e.order))

    def listing(self) -> Listing:
        """Which segments table `segments` has, and where."""
        return Listing.of(self.number, self.carried.stretches, self.before)


def _without(
    rows: I64, reassembly: Reassembly, outer: Carried, inner: Carried, missing: I64
) -> tuple[Reassembly, Carried, Carried]:
    """Streams in which the octets of these rows are missing, and those that were `missing` before; these are added to the latter."""
    found, streams = outer.stretches, reassembly.streams
    gone = np.isin(found.at, rows)
    np.add.at(missing, (found.stream[gone], found.side[gone]), found.length[gone])
    if not missing.any():
        return reassembly, outer, inner
    sides = replace(streams.sides, gap_octets=streams.sides.gap_octets + missing)
    outer, inner = (replace(one, stretches=one.stretches.take(~np.isin(one.stretches.at, rows))) for one in (outer, inner))
    return replace(reassembly, streams=replace(streams, sides=sides)), outer, inner


def _left(stream: int, carried: Carried, listing: Listing, position: Resumed | None) -> tuple[Stretches, I64]:
    """The stretches of a stream that are needed again, and the rows of their segments."""
    found = carried.stretches.take(slice(int(carried.bounds[2 * stream]), int(carried.bounds[2 * stream + 2])))
    if position is not None:
        undecided = found.offset + found.length > position.state.pending[found.side]
        found = found.take(undecided | (listing.order[found.row] >= position.since))
    return found.moved(-stream, np.arange(carried.segments.num_rows)).with_own_rows()


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
