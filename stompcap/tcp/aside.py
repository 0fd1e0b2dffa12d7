"""The connections of a capture of any size: what is found of them is laid aside on disk where it is much, and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from stompcap.tcp.block import column
from stompcap.tcp.flows import by_flow, mapped
from stompcap.tcp.join import end_to_end
from stompcap.tcp.machine import Reassembler, Settled
from stompcap.tcp.pieces import edges_of, incarnations, pieces_of, rows_of
from stompcap.tcp.reassembly import reassemble_columns
from stompcap.tcp.results import Streams
from stompcap.tcp.spool import Spool

PARTS = 256  # files that flows are parted into
FOUND_ROWS = 64  # connections of each file that stand in memory when they are merged


def connections(batches: Iterable[pa.Table], source: str, overlap: str, folder: Callable[[], Path]) -> list[Iterator[pa.RecordBatch]]:
    """Connections (`pieces.rows_of`) of segments, payload laid aside: several runs, each in the order of the first packets.

    `folder` makes a directory; it is asked for as many as are needed.
    """
    found = (
        _found(flows, source, overlap) if isinstance(flows, pa.Table) else _of_one_flow(flows, source, overlap, folder())
        for flows in by_flow(batches, PARTS, folder)
    )
    some = [one for one in (next(found, None), next(found, None)) if one is not None]
    if len(some) < 2:
        return [iter(one.to_batches()) for one in some]
    place = folder()
    return [_laid_aside(table, place / str(number)) for number, table in enumerate(chain(some, found))]


def _found(segments: pa.Table, source: str, overlap: str) -> pa.Table:
    """The connections of whole flows, in wire order."""
    result = reassemble_columns(segments, source, overlap)
    numbers = incarnations(result.streams, result.stream_of, column(segments, "flow"))
    pieces = pieces_of(result.extents, segments)
    return rows_of(result.streams, numbers, edges_of(pieces, len(result.streams)), vars(pieces))


def _of_one_flow(batches: Iterable[pa.Table], source: str, overlap: str, folder: Path) -> pa.Table:
    """The rows of one flow whose segments come in wire order, a table at a time; its pieces are laid aside in `folder`, and mapped."""
    machine, spool = Reassembler(source, overlap), Spool(folder)
    streams: list[Streams] = []

    def steps() -> Iterator[Settled]:
        for batch in batches:
            yield from machine.feed(batch)
        yield machine.finish()

    for step in steps():
        streams.append(step.reassembly.streams.take(np.flatnonzero(step.reassembly.over)))
        spool.add(pieces_of(step.reassembly.extents, step.segments, step.first))
    whole = end_to_end(streams)
    return rows_of(whole, np.arange(len(whole)), *spool.in_order(len(whole)))


def _laid_aside(found: pa.Table, path: Path) -> Iterator[pa.RecordBatch]:
    """The same connections, read from a file."""
    with pa.ipc.new_file(path, found.schema) as out:
        out.write_table(found, max_chunksize=FOUND_ROWS)
    return mapped(path)
