"""Segments of whole flows to rows of bronze and frames: reassembly, delimiter and decoder, one after the other, without Spark.

Memory is bounded by a window of octets and by what describes the segments of small flows or of a block of a large one; octets of a
window are gathered once and become the `raw` column without another copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import tcp
from stompcap.assembly import choice
from stompcap.assembly.batch import Batch
from stompcap.assembly.flow import Flow
from stompcap.assembly.open_flows import Detected, OpenFlows
from stompcap.assembly.parts import Part
from stompcap.assembly.task import Task
from stompcap.assembly.windows import windows
from stompcap.capture.columns import KEPT, NOT_KEPT
from stompcap.tcp.block import column


class Assembly(Task):
    """Takes one batch of captures through reassembly, delimiter and decoder."""

    def parts(self, flows: pa.Table) -> Iterator[Part]:
        """The rows of whole flows, given as SEGMENTS sorted by flow, endpoints, capture and packet."""
        flows = flows.combine_chunks()
        o = self.options
        reassembly = tcp.reassemble_columns(flows, o.source, o.overlap, self.block, o.idle_ns)
        everything = np.ones(len(reassembly.streams), np.bool_)
        kept, said = choice.detect_protocols(reassembly, flows, self.sources, self.options, everything)
        if (without := choice.not_kept(kept, reassembly, flows)).size:
            yield from self.parts(_as_not_captured(flows, without))
            return
        conflicts = tcp.count_conflicts(reassembly, flows, self.sources)
        going_on = None if self.now_ns is None else OpenFlows(flows, reassembly, Detected(kept, said), o, self.now_ns)
        batch = Batch(self, flows, reassembly, said, conflicts, kept, going_on)
        for window in windows(reassembly, kept, flows, self.sources, self.window):
            yield from batch.parts(window)
        others = np.flatnonzero(~kept)
        if others.size:
            yield batch.others(others)
        if going_on is not None and going_on.streams.any():
            yield Part({"stream_state": going_on.table(self.capture_ids, self.sources)}, going_on=going_on.ids())

    def flow(self, segments: Iterable[pa.Table]) -> Iterator[Part]:
        """The rows of one flow, given as tables of SEGMENTS in wire order; a block of its packets is held at a time."""
        o = self.options
        machine, flow = tcp.Reassembler(o.source, o.overlap, self.block, o.idle_ns), Flow(self)
        for table in segments:
            for step in machine.feed(_as_not_captured(table, np.flatnonzero(column(table, "earlier") >= NOT_KEPT))):
                yield from flow.parts(step)
        yield from flow.parts(machine.finish())


def _as_not_captured(segments: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Segments of which these rows have no octets: they are missing from the streams."""
    if not rows.size:
        return segments
    captured, earlier = column(segments, "captured_octets").copy(), column(segments, "earlier").copy()
    captured[rows], earlier[rows] = 0, KEPT
    for name, values in (("captured_octets", captured), ("earlier", earlier)):
        segments = segments.set_column(segments.schema.get_field_index(name), segments.schema.field(name), pa.array(values))
    return segments
