"""A step of each of some flows and what their connections had left before, put together: streams and rows of one flow behind the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.assembly.listing import Listing
from stompcap.assembly.underway import APART, Underway
from stompcap.capture.files import Source
from stompcap.columns import I64, Bools
from stompcap.tcp import join
from stompcap.tcp.join import end_to_end
from stompcap.tcp.machine import Step
from stompcap.tcp.results import Extents, Reassembly, ZeroWindows
from stompcap.transport import plain
from stompcap.transport.carried import Carried
from stompcap.transport.events import moved
from stompcap.transport.keys import KeyLog, no_keys
from stompcap.transport.layers import read_on
from stompcap.transport.state import Stack
from stompcap.transport.stretches import Stretches
from stompcap.wire_order import END


@dataclass(frozen=True)
class Steps:
    """A step of each of some flows, one behind the other: their streams, their rows, and the numbers of their packets.

    `streams` are named by flow and number in it. Numbers of packets of one flow lie APART from those of the next. Else as in Step.
    """

    streams: list[tuple[int, int]]
    reassembly: Reassembly
    segments: pa.Table
    number: I64
    pending: I64
    lasting: ZeroWindows
    full: Bools

    @staticmethod
    def of(steps: Mapping[int, Step]) -> Steps:
        """Those of flows, by their numbers."""
        found, row, streams = [], 0, list[tuple[int, int]]()
        for flow, step in steps.items():
            one, of, rows = step.reassembly, len(streams), step.segments.num_rows
            moved = join.shifted(one, of, np.arange(row, row + rows))
            place = moved.clock_steps.place + flow * APART
            lasting = replace(step.lasting, stream=step.lasting.stream + np.int32(of))
            keys = [(flow, step.first + number) for number in range(len(one.streams))]
            found.append(
                Steps(
                    keys, replace(moved, clock_steps=replace(moved.clock_steps, place=place)), step.segments, step.number + flow * APART,
                    step.pending + flow * APART, lasting, np.full(len(keys), step.full),
                )
            )  # fmt: skip
            row += rows
            streams += keys
        return join.end_to_end(found)


@dataclass(frozen=True)
class Together:
    """The segments of steps and those left before, in wire order flow by flow, and what was found of both.

    `carried` has what the layers of connections give where these are known, and what TCP has of the others; `stacks` are those layers.
    `row` of each segment: first those of the steps, in their order, then those left of each connection, in theirs. Of each row, `number`
    is that of its packet, and `before` the number in wire order that was found earlier, END where none was. `came` are the octets of each
    side that are not left from before, and `outer` what TCP has of the steps.
    """

    carried: Carried
    reassembly: Reassembly
    stacks: Mapping[int, Stack]
    row: I64
    number: I64
    before: I64
    came: I64
    outer: Stretches

    @staticmethod
    def of(step: Steps, left: Mapping[int, Underway], sources: Mapping[int, Source], keys: Callable[[], KeyLog] = no_keys) -> Together:
        """Steps, and the connections that went on, by their streams in them; `keys` are those of TLS connections."""
        found = step.reassembly
        tcp = plain.carried(found, step.segments, sources, keys)
        new, stacks = read_on(tcp, {stream: one.layers for stream, one in left.items()})
        stretches, stalls = [new.stretches], [(found.zero_windows, found.retransmissions, found.clock_steps)]
        tables, row = [new.segments], new.segments.num_rows
        stream_of, number = [found.stream_of, found.stream_of[new.opened]], [step.number, step.number[new.opened]]
        before, acked_ns = [np.full(row, END)], [found.acked_ns, found.acked_ns[new.opened]]
        for stream, one in left.items():
            count, of, apart = one.segments.num_rows, np.int32(stream), step.streams[stream][0] * APART
            tables.append(one.segments)
            number.append(one.number + apart)
            before.append(one.order)
            acked_ns.append(one.acked_ns)
            stream_of.append(np.full(count, of))
            stretches.append(one.stretches.moved(stream, row + np.arange(count)))
            closed, again, steps = one.stalls
            closed, again = replace(closed, stream=closed.stream + of), replace(again, stream=again.stream + of)
            stalls.append((closed, again, replace(steps, stream=steps.stream + of, place=steps.place + apart)))
            row += count
        numbers = np.concatenate(number)
        order = np.argsort(numbers, kind="stable")
        to = np.empty(len(order), np.int64)
        to[order] = np.arange(len(order))
        segments = pa.concat_tables(tables).take(pa.array(order)).combine_chunks()
        carried = replace(
            new, stretches=end_to_end(stretches).moved(0, to).in_order(), segments=segments, opened=np.empty(0, np.int64),
            events=moved(new.events, to),
        )  # fmt: skip
        zero_windows, retransmissions, clock_steps = zip(*stalls, strict=True)
        reassembly = replace(
            found, overlaps=replace(found.overlaps, row=to[found.overlaps.row]), zero_windows=end_to_end(zero_windows),
            retransmissions=end_to_end(retransmissions), clock_steps=end_to_end(clock_steps), stream_of=np.concatenate(stream_of)[order],
            acked_ns=np.concatenate(acked_ns)[order],
        )  # fmt: skip
        own = np.delete(to, step.segments.num_rows + np.arange(new.opened.size))
        came = np.bincount(new.stretches.direction, new.stretches.length, 2 * len(new)).astype(np.int64).reshape(-1, 2)
        return Together(carried, reassembly, stacks, own, numbers[order], np.concatenate(before)[order], came, tcp.stretches.moved(0, to))

    def through(self, carried: Carried) -> Together:
        """The same, where more layers were opened."""
        if not carried.opened.size:
            return replace(self, carried=carried)
        number, before = (np.append(values, values[carried.opened]) for values in (self.number, self.before))
        stream_of = np.append(self.reassembly.stream_of, self.reassembly.stream_of[carried.opened])
        acked_ns = np.append(self.reassembly.acked_ns, self.reassembly.acked_ns[carried.opened])
        reassembly = replace(self.reassembly, stream_of=stream_of, acked_ns=acked_ns)
        return replace(self, carried=carried, reassembly=reassembly, number=number, before=before)

    def rows_of(self, flow: int) -> tuple[I64, I64]:
        """The rows of a flow's segments, and where among them those of its step are, then those left before of each connection.

        Rows that layers have opened are none of them.
        """
        own = self.row[self._flow[self.row] == flow]
        mine = np.sort(own)
        return mine, np.searchsorted(mine, own)

    @cached_property
    def _flow(self) -> I64:
        """The flow of each row."""
        return self.number // APART

    def extents(self) -> Reassembly:
        """What was found, with the octets of both. Of streams with layers nothing is said to be captured twice: offsets are others."""
        e, overlaps = self.carried.stretches, self.reassembly.overlaps
        plain = np.ones(len(self.carried), np.bool_)
        plain[[stream for stream, stack in self.stacks.items() if stack]] = False
        extents = Extents(e.stream, e.side, e.offset, e.length, e.at, e.skip, e.order)
        return replace(self.reassembly, extents=extents, overlaps=overlaps.take(np.flatnonzero(plain[overlaps.stream])))

    def listing(self) -> Listing:
        """Which segments table `segments` has, and where."""
        return Listing.of(self.number, self.carried.stretches, self.before)


def without_rows(
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


