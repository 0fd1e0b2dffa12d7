"""Segments of whole flows to TCP byte streams, as columns: used by Spark's tasks and by `stompcap.tcp.reassemble`.

Flows of up to a block of packets, all but the largest, are reassembled together in one pass; larger ones go through the machine one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import column
from stompcap.tcp import join
from stompcap.tcp.block import nothing_carried, reassemble_block
from stompcap.tcp.finality import BLOCK, Block
from stompcap.tcp.idle import IDLE_NS
from stompcap.tcp.machine import Reassembler, Step, demand_policy
from stompcap.tcp.results import Reassembly


def reassemble_columns(
    segments: pa.Table, source: str = "default", overlap: str = "first", block: int = BLOCK, idle_ns: int = IDLE_NS
) -> Reassembly:
    """Reassemble whole flows.

    `segments`: rows of the SEGMENTS schema, sorted by flow, endpoints, capture and packet, so that a flow's rows
    are adjacent and in wire order. `overlap`: whether the `first` or the `last` captured octets are kept where copies
    differ; counters and times are those of the octets kept. `block`: packets of a flow after which octets are final
    (stompcap.tcp.finality). After a silence of more than `idle_ns` a flow goes on as another connection.
    """
    demand_policy(overlap)
    edges = _cuts(segments, block)
    parts = [_whole(segments.slice(begin, end - begin), source, overlap, block, idle_ns) for begin, end in pairwise(edges)]
    return join.flows(parts, edges[:-1])


def _cuts(segments: pa.Table, block: int) -> list[int]:
    """Rows that separate flows of more than a block from their neighbours, from the first row to one past the last."""
    count = segments.num_rows
    if count <= block:
        return [0, count]
    flow = column(segments, "flow")
    edges = np.concatenate(([0], np.flatnonzero(flow[1:] != flow[:-1]) + 1, [count]))
    found = {0, count}
    for i in np.flatnonzero(np.diff(edges) > block).tolist():
        begin, end = int(edges[i]), int(edges[i + 1])
        ends = segments.column("endpoints").slice(begin, end - begin)
        other = np.flatnonzero(pc.not_equal(ends.slice(1), ends.slice(0, len(ends) - 1)).to_numpy())  # flows whose hashes collide
        found.update([begin, *(begin + 1 + other).tolist(), end])
    return sorted(found)


def _whole(segments: pa.Table, source: str, overlap: str, block: int, idle_ns: int) -> Reassembly:
    """Reassemble small flows together, or a large one block by block."""
    if segments.num_rows <= block or column(segments, "flow")[0] != column(segments, "flow")[-1]:
        number = np.arange(segments.num_rows)
        found, _, _ = reassemble_block(segments, nothing_carried(), number, source, Block(0, True, overlap == "last", True), idle_ns)
        return found
    return join.blocks(_steps(Reassembler(source, overlap, block, idle_ns), segments))


def _steps(machine: Reassembler, segments: pa.Table) -> Iterator[Step]:
    """All blocks of one flow."""
    yield from machine.feed(segments)
    yield machine.finish()
