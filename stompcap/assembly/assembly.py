"""Segments of whole flows to rows of bronze and frames: reassembly, delimiter and decoder, one after the other, without Spark.

Memory is bounded by a window of octets and by what describes the segments of small flows or of a block of a large one; octets of a
window are gathered once and become the `raw` column without another copy.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly.batch import StreamRows
from stompcap.assembly.parts import Part
from stompcap.assembly.prefetch import prefetched
from stompcap.assembly.resume.open_flows import Lives, OpenFlows, flow_numbers
from stompcap.assembly.stateful_flows import StatefulFlows
from stompcap.assembly.task import Task
from stompcap.assembly.windows import windows
from stompcap.capture.segment_columns import KEPT, STATE
from stompcap.columns import I64, column
from stompcap.tcp.keep_alives import without_keep_alives
from stompcap.transport import detect, plain

TOGETHER = 1 << 16  # packets of flows that are carried on together


class Assembly(Task):
    """Takes one batch of captures through reassembly, delimiter and decoder."""

    def parts(self, flows: pa.Table) -> Generator[Part, None, None]:
        """The rows of whole flows, given as SEGMENTS sorted by flow, endpoints, capture and packet."""
        flows = tcp.as_they_crossed(self.points.marked(flows.combine_chunks()), self.clocks)
        begin = 0
        stateful = _Group(self)
        for first, end in self._large(flows) if self.analyser else ():
            if first > begin:
                yield from self._together(flows.slice(begin, first - begin), stateful)
            yield from stateful.take(flows.slice(first, end - first))
            begin = end
        if begin < flows.num_rows or not begin:
            yield from self._together(flows.slice(begin), stateful)
        yield from stateful.end()

    def flow(self, segments: Iterable[pa.Table]) -> Generator[Part, None, None]:
        """The rows of one flow, given as tables of SEGMENTS in wire order; a block of its packets is held at a time."""
        flows = StatefulFlows(self)
        yield from prefetched(flows.feed(map(self.points.marked, segments)))
        yield from flows.end()

    def _large(self, flows: pa.Table) -> Iterator[tuple[int, int]]:
        """The rows, from and to, of flows of more than a block and of those that an earlier run left a state of."""
        number = flow_numbers(flows)
        edges = np.append(np.flatnonzero(np.diff(number, prepend=-1)), flows.num_rows)
        packets, of_state = np.diff(edges), np.bincount(number, column(flows, "earlier") == STATE) > 0
        for one in np.flatnonzero((packets > self.block) | of_state).tolist():
            yield int(edges[one]), int(edges[one + 1])

    def _together(self, flows: pa.Table, stateful: _Group) -> Iterator[Part]:
        """The rows of flows that are reassembled together; open ones of many packets are left to `stateful`."""
        o = self.options
        reassembly = tcp.reassemble_columns(flows, o.source, o.overlap, self.block, o.idle_ns)
        states, now_ns = self.analyser is not None, self.now_ns
        known = None if now_ns is None else Lives.of(flows, reassembly, o, now_ns)
        later = known.goes_on if known is not None and states else None  # what goes on inside a layer is read by its state
        found = detect.detect(reassembly, plain.carried(reassembly, flows, self.sources, self.keys), self.options, elsewhere=later)
        if (without := detect.not_kept(found.is_stomp, reassembly, flows)).size:
            self.unread.update(flows.column("endpoints").take(pa.array(without)).to_pylist())
            yield from self._together(_as_not_captured(flows, without), stateful)
            return
        reassembly = without_keep_alives(reassembly, flows, self.sources)
        conflicts = tcp.count_conflicts(reassembly, flows, self.sources)
        going_on = None if known is None else OpenFlows(flows, reassembly, found, o, known, states=states)
        rows, wanted = StreamRows(self, reassembly, found, conflicts, going_on), np.ones(len(reassembly.streams), np.bool_)
        if going_on is not None:
            wanted &= ~going_on.large
            for first, end in going_on.large_flows:
                yield from stateful.take(flows.slice(first, end - first))
        some = windows(found.carried, found.is_stomp & wanted, self.window, names=self.names)
        yield from prefetched(part for window in some for part in rows.parts(window))
        others = np.flatnonzero(~found.is_stomp & wanted)
        if others.size:
            yield rows.others(others)
        yield from rows.events(wanted)
        if going_on is not None and going_on.streams.any():
            yield going_on.part(self.capture_ids, self.sources, rows.client)


class _Group:
    """Flows that go on by their states, as many at once as are carried on together."""

    def __init__(self, task: Task) -> None:
        self._task, self._flows, self._packets = task, StatefulFlows(task), 0

    def take(self, flow: pa.Table) -> Iterator[Part]:
        """Take in a flow; gives the rows of those before it where these are many."""
        if self._packets and self._packets + flow.num_rows > TOGETHER:
            yield from self.end()
            self._flows, self._packets = StatefulFlows(self._task), 0
        self._packets += flow.num_rows
        yield from prefetched(self._flows.feed([flow]))

    def end(self) -> Iterator[Part]:
        """All other rows of the flows taken in."""
        yield from self._flows.end()


def _as_not_captured(segments: pa.Table, rows: I64) -> pa.Table:
    """Segments of which these rows have no octets: they are missing from the streams."""
    captured, earlier = column(segments, "captured_octets").copy(), column(segments, "earlier").copy()
    captured[rows], earlier[rows] = 0, KEPT
    for name, values in (("captured_octets", captured), ("earlier", earlier)):
        segments = segments.set_column(segments.schema.get_field_index(name), segments.schema.field(name), pa.array(values))
    return segments
