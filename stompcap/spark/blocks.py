"""Segments on their way through the shuffle: packed as Arrow blocks, one for each task that will need them.

A row a segment costs Spark a conversion from Arrow to its own rows and back, a sort and a shuffle of as many rows; a block of
thousands is one binary value to it. Which task a flow belongs to is decided here, by the flow's hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from stompcap.capture.payload_spill import PayloadSpill
from stompcap.columns import I64
from stompcap.tasks.failures import FAILURES, Failures

BLOCKS = pa.schema([("task", pa.int32()), ("block", pa.binary()), (FAILURES, pa.string())])
DDL = f"task INT, block BINARY, {FAILURES} STRING"
ROWS = 65_536
OCTETS = 1 << 24
BLOCK_ROWS = 256
"""Segments of a block, on average, below which what a block costs by itself, some 2 kB and 40 microseconds, shows."""
MOST, MOST_OCTETS = 8, 1 << 26
"""How many times ROWS are gathered for many tasks, and how many octets at most: Spark takes the blocks made of them in one piece."""


def gathered(batches: Iterable[pa.RecordBatch], tasks: int = 1) -> Iterator[pa.RecordBatch]:
    """Small batches made larger, up to ROWS or OCTETS and for many tasks to more, for each block has its cost."""
    held: list[pa.RecordBatch] = []
    rows = octets = 0
    times = max(1, min(MOST, tasks * BLOCK_ROWS // ROWS))
    for batch in batches:
        if held and (rows + len(batch) > times * ROWS or octets + batch.nbytes > min(times * OCTETS, MOST_OCTETS)):
            yield pa.concat_batches(held)
            held, rows, octets = [], 0, 0
        held.append(batch)
        rows, octets = rows + len(batch), octets + batch.nbytes
    if held:
        yield pa.concat_batches(held)


def pack(batches: Iterable[pa.RecordBatch], tasks: int) -> Iterator[pa.RecordBatch]:
    """Batches of SEGMENTS as rows of BLOCKS, a row for each task that some batches have segments for."""
    for batch in gathered(batches, tasks):
        of = task_of(batch.column("flow").to_numpy(), tasks)
        order = np.argsort(of, kind="stable")
        sorted_batch = batch.take(pa.array(order))
        bounds = np.searchsorted(of[order], np.arange(tasks + 1))
        filled = np.flatnonzero(np.diff(bounds))
        blocks = [_serialised(sorted_batch.slice(int(bounds[t]), int(bounds[t + 1] - bounds[t]))) for t in filled]
        arrays = [pa.array(filled.astype(np.int32)), pa.array(blocks, pa.binary()), pa.nulls(len(filled), pa.string())]
        yield pa.RecordBatch.from_arrays(arrays, schema=BLOCKS)


def reported(failures: Failures) -> pa.RecordBatch:
    """The captures that could not be read, as a row of BLOCKS for any task."""
    return pa.RecordBatch.from_pylist([{"task": 0, "block": None, FAILURES: failures.to_json()}], schema=BLOCKS)


def task_of(flow: I64, tasks: int) -> I64:
    """The task that a flow belongs to, 0 to `tasks` - 1."""
    unsigned = flow.view(np.uint64)
    return ((unsigned ^ (unsigned >> np.uint64(32))) % np.uint64(tasks)).astype(np.int64)


def _serialised(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(batches: Iterable[pa.RecordBatch], spill: PayloadSpill, failures: Failures) -> Iterator[pa.Table]:
    """The segments of rows of BLOCKS, table by table; payload they carry is written to `spill`, `failures` get what is reported."""
    for batch in batches:
        failures.add_json(batch.column(FAILURES).drop_null().to_pylist())
        for block in batch.column("block"):
            if block.is_valid:
                yield spill.take(pa.ipc.open_stream(block.as_buffer()).read_all())
