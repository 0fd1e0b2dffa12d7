"""The connections of a capture of any size, as sorted runs: reassembled in bounded memory, and spilled to disk where they are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from stompcap.columns import column
from stompcap.tcp.flows import as_they_crossed, by_flow, mapped
from stompcap.tcp.join import end_to_end
from stompcap.tcp.machine import Reassembler, Step
from stompcap.tcp.piece_spill import PieceSpill
from stompcap.tcp.pieces import edges_of, incarnations, pieces_of, rows_of
from stompcap.tcp.reassembly import reassemble_columns
from stompcap.tcp.results import Streams

PARTS = 256  # files that flows are partitioned into
FOUND_ROWS = 64  # connections of each run in memory while runs are merged


def sorted_runs(batches: Iterable[pa.Table], source: str, overlap: str, folder: Callable[[], Path]) -> list[Iterator[pa.RecordBatch]]:
    """Connections (`pieces.rows_of`) of segments whose payload is spilled: several runs, each in order of the first packets.

    `folder` makes a temporary directory; it is called once for each that is needed.
    """
    found = (
        _found(flows, source, overlap) if isinstance(flows, pa.Table) else _of_one_flow(flows, source, overlap, folder())
        for flows in by_flow(batches, PARTS, folder)
    )
    some = [one for one in (next(found, None), next(found, None)) if one is not None]
    if len(some) < 2:
        return [iter(one.to_batches()) for one in some]
    place = folder()
    return [_spilled(table, place / str(number)) for number, table in enumerate(chain(some, found))]


def _found(segments: pa.Table, source: str, overlap: str) -> pa.Table:
    """The connections of whole flows, in wire order."""
    segments = as_they_crossed(segments)
    result = reassemble_columns(segments, source, overlap)
    numbers = incarnations(result.streams, result.stream_of, column(segments, "flow"))
    pieces = pieces_of(result.extents, segments)
    return rows_of(result.streams, numbers, edges_of(pieces, len(result.streams)), vars(pieces))


def _of_one_flow(batches: Iterable[pa.Table], source: str, overlap: str, folder: Path) -> pa.Table:
    """The rows of one flow, its segments given in wire order, a table at a time; its pieces are spilled to `folder` and mapped."""
    machine, spill = Reassembler(source, overlap), PieceSpill(folder)
    streams: list[Streams] = []

    def steps() -> Iterator[Step]:
        for batch in batches:
            yield from machine.feed(batch)
        yield machine.finish()

    for step in steps():
        streams.append(step.reassembly.streams.take(np.flatnonzero(step.reassembly.over)))
        spill.add(pieces_of(step.reassembly.extents, step.segments, step.first))
    whole = end_to_end(streams)
    return rows_of(whole, np.arange(len(whole)), *spill.in_order(len(whole)))


def _spilled(found: pa.Table, path: Path) -> Iterator[pa.RecordBatch]:
    """The same connections, read back from a file."""
    with pa.ipc.new_file(path, found.schema) as out:
        out.write_table(found, max_chunksize=FOUND_ROWS)
    return mapped(path)
