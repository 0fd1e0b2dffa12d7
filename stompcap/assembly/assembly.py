"""Segments of whole flows to rows of bronze and frames: reassembly, delimiter and decoder, one after the other, without Spark.

Memory is bounded by a window of octets and by what describes the segments of small flows or of a block of a large one; octets of a
window are gathered once and become the `raw` column without another copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.assembly import choice
from stompcap.assembly.batch import Batch
from stompcap.assembly.flow import Flow
from stompcap.assembly.parts import Part
from stompcap.assembly.task import Task
from stompcap.assembly.windows import windows


class Assembly(Task):
    """Takes one batch of captures through reassembly, delimiter and decoder."""

    def parts(self, flows: pa.Table) -> Iterator[Part]:
        """The rows of whole flows, given as SEGMENTS sorted by flow, endpoints, capture and packet."""
        flows = flows.combine_chunks()
        o = self.options
        reassembly = tcp.reassemble_columns(flows, o.source, o.overlap, self.block, o.idle_ns)
        everything = np.ones(len(reassembly.streams), np.bool_)
        kept, said = choice.detect_protocols(reassembly, flows, self.sources, self.options, everything)
        conflicts = tcp.count_conflicts(reassembly, flows, self.sources)
        batch = Batch(self, flows, reassembly, said, conflicts, kept)
        for window in windows(reassembly, kept, flows, self.sources, self.window):
            yield from batch.parts(window)
        others = np.flatnonzero(~kept)
        if others.size:
            yield Part({"streams": batch.streams(others)})

    def flow(self, segments: Iterable[pa.Table]) -> Iterator[Part]:
        """The rows of one flow, given as tables of SEGMENTS in wire order; a block of its packets is held at a time."""
        o = self.options
        machine, flow = tcp.Reassembler(o.source, o.overlap, self.block, o.idle_ns), Flow(self)
        for table in segments:
            for step in machine.feed(table):
                yield from flow.parts(step)
        yield from flow.parts(machine.finish())
