"""Flows step by step: what their connections leave undecided in one step is taken up in the next.

Of a connection that goes on only those segments are held that brought octets of no row yet, or that come with later rows. The protocol
of a connection is detected when CONNECT was answered, or a block after its first octets were final, so that the answer to them is there
too, or when as many octets were examined as are: then it stands. Until then the headers of its segments are held, and none of its octets.

Where captures to come may go on with the flow, its connections are given out as they stand, and what they had left undecided before is
kept: a later run takes that up as the next block would have (stompcap.assembly.resume.flow_state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.batch import StreamRows
from stompcap.assembly.due import Going, Resumed
from stompcap.assembly.listing import Listing
from stompcap.assembly.parts import Part
from stompcap.assembly.resume.connects import NO_CONNECTS, connects_of, is_sealed, layered
from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.task import Task
from stompcap.assembly.together import Steps, Together, without_rows
from stompcap.assembly.underway import APART, NOT_STALLED, Underway, stalls_of, still_needed
from stompcap.assembly.windows import Window, windows
from stompcap.codes import ROLE_CLIENT, ROLE_EOLS, ROLE_OTHER, ROLE_SERVER, ROLE_UNKNOWN
from stompcap.columns import I8, Bools, Octets, column
from stompcap.stomp.grammar import CONNECTED
from stompcap.tcp.keep_alives import without_keep_alives
from stompcap.tcp.machine import Step
from stompcap.transport import detect, proxy
from stompcap.transport.state import Stack
from stompcap.transport.stretches import NO_STRETCHES, Stretches
from stompcap.wire_order import END

MOST_UNDECIDED = 1 << 16
"""Segments that are held of a connection which has shown no protocol: what of it may be STOMP behind them is not kept."""

NO_ROWS = np.empty(0, np.int64)
NOT_READ = np.full(2, -1)


class AsTheyStand:
    """The connections of flows as they stand while captures to come may go on with them, and what tables show of their octets."""

    def __init__(self, together: Together, kept: Bools, roles: I8) -> None:
        self.together = together
        found = together.reassembly
        side = np.where(column(together.carried.segments, "forward"), 0, 1)
        self.role: I8 = roles[found.stream_of, side]
        # what tables show of other layers is not all that their segments have, and the rest would be taken for zeros; not so of rows that
        # layers have opened, which lie in no capture
        apart = np.array([stream for stream, stack in together.stacks.items() if layered(stack) and not is_sealed(stack)], np.int64)
        elsewhere = np.isin(found.stream_of, apart) & (column(together.carried.segments, "file_offset") != -1)
        self.octets = KeptOctets(together.carried.segments, kept[found.stream_of], elsewhere)
        self.streams = np.ones(len(found.streams), np.bool_)

    def ids(self) -> pa.Array:
        """The ids of the connections."""
        return self.together.reassembly.streams.stream_id

    def take(self, stretches: Stretches, octets: Octets) -> None:
        """Take the octets of some stretches, back to back, as tables show them."""
        self.octets.take(stretches, octets)


class Flows:
    """The connections of some flows, made into rows."""

    def __init__(self, assembly: Task) -> None:
        self.assembly = assembly
        self.underway: dict[int, dict[int, Underway]] = {}
        """The connections that go on, by flow and number in it."""

        self.as_they_stand: AsTheyStand | None = None
        """What the last steps told, if the flows stay open behind them."""

    def parts(self, each: Mapping[int, Step], *, stay_open: bool = False) -> Iterator[Part]:
        """The rows that a step of each flow makes final; where the flows `stay_open` behind their last packets, all rows as they stand."""
        if not each:
            return
        a, step = self.assembly, Steps.of(each)
        found = without_keep_alives(step.reassembly, step.segments, a.sources)
        step = replace(step, reassembly=found)
        streams = {key: stream for stream, key in enumerate(step.streams)}
        before = {streams[flow, number]: one for flow in each for number, one in self.underway.get(flow, {}).items()}
        together = Together.of(step, before, a.sources, a.keys)
        unknown = np.ones(len(found.streams), np.bool_)
        unknown[[stream for stream, one in before.items() if one.learned is not None]] = False
        detection = detect.detect(together.reassembly, together.carried, a.options, unknown, together.stacks)
        outer, together = together.carried, together.through(detection.carried)
        reassembly, segments = together.reassembly, detection.carried.segments
        kept, detected, missing = detection.is_stomp, found.over.copy(), np.zeros((len(found.streams), 2), np.int64)
        for stream, one in before.items():
            count, waits = one.segments.num_rows, detection.undecided[stream] and not kept[stream]
            waited = step.full[stream] and one.waited and count > (MOST_UNDECIDED if waits else 0)
            detected[stream] |= one.learned is not None or waited
            kept[stream] |= one.resumed is not None
            missing[stream] = one.missing
        if (without := detect.not_kept(kept, reassembly, segments)).size:
            a.unread.update(segments.column("endpoints").take(pa.array(without)).to_pylist())
        reassembly, outer, carried = without_rows(without, reassembly, outer, detection.carried, missing)
        listing = together.listing()
        conflicts = tcp.count_conflicts(found, step.segments, a.sources)
        if stay_open:
            ended = (~unknown & ~kept)[:, None] & np.isin(detection.roles, (ROLE_UNKNOWN, ROLE_EOLS))
            roles = np.where(ended, np.int8(ROLE_OTHER), detection.roles)
            self.as_they_stand = AsTheyStand(replace(together, reassembly=reassembly, stacks=detection.stacks), kept, roles)
            opened = {stream: stack for stream, stack in detection.stacks.items() if not together.stacks.get(stream)}
            headers = proxy.headers_of(outer.stretches, opened)  # no table shows them
            self.as_they_stand.take(headers, outer.read(headers))
            self._sealed(self.as_they_stand, together.outer, outer.stretches, opened)
        given = {stream: one.given + together.came[stream] for stream, one in before.items() if one.given[0] >= 0}
        rows = StreamRows(a, reassembly, replace(detection, carried=carried), conflicts, self.as_they_stand, step.lasting, listing, given)
        for stream, one in before.items():
            conflicts[stream] += one.conflicts
            rows.passcodes[stream] = one.passcodes
            if one.learned is not None:
                rows.know(stream, one.learned)
        resumed = {stream: one.resumed for stream, one in before.items()}
        connects = {stream: one.connects for stream, one in before.items()}
        written, answered = np.zeros(len(found.streams), np.bool_), np.isin(detection.roles, (ROLE_CLIENT, ROLE_SERVER)).all(axis=1)
        going = _going(step, together, listing, resumed)
        for some in windows(carried, kept & (detected | answered), a.window, going, a.names):
            detected[some.streams] |= some.first & _connected(some)
            window = some.of(detected[some.streams])  # of the others the version may not be known yet
            if not window.streams.size:
                continue
            yield from rows.parts(window)
            written[window.streams] = True
            resumed |= dict(zip(window.streams.tolist(), window.resumed, strict=True))
            for stream, more in connects_of(window, carried.segments, connects).items():
                if not layered(detection.stacks.get(stream, ())):
                    connects[stream] = connects.get(stream, NO_CONNECTS).followed_by(more)
        for stream, stack in detection.stacks.items():
            known = connects.get(stream, NO_CONNECTS)
            if layered(stack) and detected[stream] and not found.over[stream] and not known.frames:
                below = together.outer if together.stacks.get(stream) else outer.stretches
                connects[stream] = known.beginning(below.take(below.stream == stream), carried.segments, rows.passcodes.get(stream))
        yield from rows.without_octets(np.flatnonzero(detected & kept & ~written))
        others = np.flatnonzero(found.over & ~kept)
        if others.size:
            yield rows.others(others)
        yield from rows.events(detected | found.over)
        self.underway |= {flow: {} for flow in each}
        for stream in np.flatnonzero(~found.over).tolist():
            learned, position = (rows.learned(stream), resumed.get(stream)) if detected[stream] else (None, None)
            dropped = detected[stream] and not kept[stream]
            # until it is detected, its layers begin again at its first octets
            needed = carried if detected[stream] else outer
            left, held = (NO_STRETCHES, NO_ROWS) if dropped else still_needed(stream, needed, listing, position)
            stalls = NOT_STALLED if written[stream] or dropped else stalls_of(stream, reassembly)
            passcodes = rows.passcodes.get(stream, frozenset())
            waited = bool(step.full[stream]) or (stream in before and before[stream].waited)
            flow, number = step.streams[stream]
            self.underway[flow][number] = Underway(
                learned, position, conflicts[stream], left, carried.segments.take(pa.array(held)), together.number[held] % APART,
                listing.order[held], reassembly.acked_ns[held], stalls, passcodes, connects.get(stream, NO_CONNECTS), missing[stream],
                detection.stacks.get(stream, ()) if detected[stream] else (), waited, rows.given[stream] if detected[stream] else NOT_READ,
            )  # fmt: skip


    def _sealed(self, left: AsTheyStand, known: Stretches, first: Stretches, opened: Mapping[int, Stack]) -> None:
        """Take octets of connections inside TLS as they were on the wire, which tells nothing without its keys."""
        stacks, carried = left.together.stacks, left.together.carried
        sealed = np.array([stream for stream, stack in stacks.items() if is_sealed(stack)], np.int64)
        mine = [one.take(np.isin(one.stream, sealed) & (np.isin(one.stream, list(opened)) == new))
                for one, new in ((known, False), (first, True))]  # fmt: skip
        for one in mine:
            left.take(one, carried.read(one))


def _connected(window: Window) -> Bools:
    """Of each stream of a window, whether CONNECTED is among its frames."""
    found = np.zeros(window.streams.size, np.bool_)
    found[window.rows.direction[window.rows.command == CONNECTED] // 2] = True
    return found


def _going(step: Steps, together: Together, listing: Listing, resumed: dict[int, Resumed | None]) -> dict[int, Going]:
    """The connections that have no end yet, or that began earlier."""
    found, came, upto = step.reassembly, together.carried.stretches, step.reassembly.ordered + 1
    partly = together.number[came.row] >= step.pending[came.stream]  # more may come of the octets of these packets
    np.minimum.at(upto, came.stream[partly], listing.order[came.row[partly]])
    idle = np.ones((len(found.streams), 2), np.bool_)
    idle[found.extents.stream, found.extents.side] = False
    return {
        stream: Going(END if over else int(upto[stream]), idle[stream], resumed.get(stream))
        for stream, over in enumerate(found.over.tolist())
        if not over or resumed.get(stream)
    }
