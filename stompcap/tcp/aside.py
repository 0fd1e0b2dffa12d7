"""Segments of a capture of any size, brought together by flow: in memory where they are few, else laid aside on disk in parts.

All packets of a flow are in one part, so a part at a time is reassembled; what is found is laid aside too, in order of the first
packets, and merged. A flow that alone is large is fed to the reassembler piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture import SEGMENTS
from stompcap.tcp.block import column
from stompcap.tcp.pieces import incarnations, of_one_flow, pieces_of, rows_of
from stompcap.tcp.reassembly import reassemble_columns
from stompcap.tcp.results import Int64s

WIRE_ORDER = [("flow", "ascending"), ("endpoints", "ascending"), ("capture", "ascending"), ("packet", "ascending")]
HELD_ROWS = 1 << 19  # segments that stand in memory at once; as many of one flow make it a large one
PARTS = 256  # files
FOUND_ROWS = 64  # connections of each file that stand in memory when they are merged


def connections(batches: Iterable[pa.Table], source: str, overlap: str, folder: Callable[[], Path]) -> list[Iterator[pa.RecordBatch]]:
    """Connections (`pieces.rows_of`) of segments in the order of their capture, payload laid aside: several runs, each in order.

    `folder` makes a directory, if one is needed.
    """
    held: list[pa.Table] = []
    rows = 0
    coming = iter(batches)
    for batch in coming:
        held.append(batch)
        rows += batch.num_rows
        if rows > HELD_ROWS:
            return _aside(_chain(held, coming), source, overlap, folder())
    return [iter(_found(pa.concat_tables(held), source, overlap).to_batches())] if held else []


def _chain(held: list[pa.Table], coming: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """What was held, let go one by one, and what comes behind it."""
    while held:
        yield held.pop(0)
    yield from coming


def _found(segments: pa.Table, source: str, overlap: str) -> pa.Table:
    """The connections of whole flows."""
    segments = segments.sort_by(WIRE_ORDER).combine_chunks()
    result = reassemble_columns(segments, source, overlap)
    numbers = incarnations(result.streams, result.stream_of, column(segments, "flow"))
    return rows_of(result.streams, numbers, pieces_of(result.extents, segments))


def _part_of(flow: Int64s, parts: int, above: int = 1) -> Int64s:
    """Which of `parts` a flow belongs to; another division of the same part where `above` is as many as there are of those."""
    unsigned = flow.view(np.uint64)
    mixed = unsigned ^ (unsigned >> np.uint64(32))
    return ((mixed // np.uint64(above)) % np.uint64(parts)).astype(np.int64)


def _aside(batches: Iterable[pa.Table], source: str, overlap: str, folder: Path) -> list[Iterator[pa.RecordBatch]]:
    """Lay segments aside by flow, then what is found in each part."""
    writers = [pa.ipc.new_file(folder / f"segments-{part}", SEGMENTS) for part in range(PARTS)]
    rows = np.zeros(PARTS, np.int64)
    for batch in batches:
        of = _part_of(column(batch, "flow"), PARTS)
        order = np.argsort(of, kind="stable")
        edges = np.searchsorted(of[order], np.arange(PARTS + 1))
        by_part = batch.take(pa.array(order))
        for part in np.flatnonzero(np.diff(edges)).tolist():
            writers[part].write_table(by_part.slice(edges[part], edges[part + 1] - edges[part]).combine_chunks())
        rows += np.diff(edges)
    for writer in writers:
        writer.close()
    runs = []
    for part in np.flatnonzero(rows).tolist():
        path = folder / f"segments-{part}"
        for number, found in enumerate(_of_part(path, int(rows[part]), source, overlap)):
            place = folder / f"found-{part}-{number}"
            with pa.ipc.new_file(place, found.schema) as out:
                out.write_table(found, max_chunksize=FOUND_ROWS)
            runs.append(place)
        path.unlink()
    return [_batches(place) for place in runs]


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a mapped file, one by one."""
    with pa.ipc.open_file(pa.memory_map(str(path))) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _of_part(path: Path, rows: int, source: str, overlap: str) -> Iterator[pa.Table]:
    """What is found in the flows of a part: the large ones alone, the others some at a time."""
    flows = [np.unique(column(pa.Table.from_batches([batch]), "flow"), return_counts=True) for batch in _batches(path)]
    known, index = np.unique(np.concatenate([found for found, _ in flows]), return_inverse=True)
    counts = np.bincount(index, np.concatenate([count for _, count in flows])).astype(np.int64)
    large = known[counts > HELD_ROWS]
    for flow in large.tolist():
        yield from _large(path, flow, source, overlap)
    few = rows - int(counts[counts > HELD_ROWS].sum())
    rounds = -(-few // HELD_ROWS)
    for turn in range(rounds):
        some = []
        for batch in _batches(path):
            of = batch.column("flow").to_numpy()
            some.append(pa.Table.from_batches([batch]).filter(pa.array((_part_of(of, rounds, PARTS) == turn) & ~np.isin(of, large))))
        segments = pa.concat_tables(some)
        if segments.num_rows:
            yield _found(segments, source, overlap)


def _large(path: Path, flow: int, source: str, overlap: str) -> Iterator[pa.Table]:
    """What is found in a large flow, or in several if their hashes agree."""

    def rows(endpoints: bytes | None) -> Iterator[pa.Table]:
        for batch in _batches(path):
            table = pa.Table.from_batches([batch])
            mine = pc.equal(table["flow"], flow)
            yield table.filter(mine if endpoints is None else pc.and_(mine, pc.equal(table["endpoints"], endpoints)))

    ends = sorted({one for table in rows(None) for one in table["endpoints"].unique().to_pylist()})
    for one in ends:
        yield of_one_flow(rows(one), source, overlap)
