"""Segments in any order, flow by flow, in wire order: small flows many at a time, a large one alone and in pieces.

At most some hundred thousand segments are in memory at once, whatever flows they belong to. Where there are
more, they are spilled to disk, all of a flow in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture import SEGMENTS
from stompcap.capture.segment_columns import ELSEWHERE
from stompcap.columns import I64, column
from stompcap.tcp.capture_sequences import Rows, in_doubt
from stompcap.tcp.file_steps import NO_CLOCKS, by_rank, marked
from stompcap.tcp.merging import crossed
from stompcap.wire_order import PACKET_BITS

WIRE_ORDER = [("flow", "ascending"), ("endpoints", "ascending"), ("capture", "ascending"), ("packet", "ascending")]
HELD_ROWS = 1 << 19  # segments in memory at once; a flow of more is a large one
NEVER = np.iinfo(np.int64).max


def by_flow(batches: Iterable[pa.Table], parts: int, folder: Callable[[], Path]) -> Iterator[pa.Table | Iterator[pa.Table]]:
    """Whole flows in WIRE_ORDER, as tables; a large flow as an iterator of tables, to be read before the next flow is asked for.

    `batches` are rows of SEGMENTS whose payload is spilled. `folder` makes a temporary directory, if one is needed, for `parts` files.
    """
    held: list[pa.Table] = []
    rows = 0
    coming = iter(batches)
    for batch in coming:
        held.append(batch)
        rows += batch.num_rows
        if rows > HELD_ROWS:
            break
    else:
        if rows:
            yield in_wire_order(pa.concat_tables(held))
        return
    for path in _spilled(chain(_released(held), coming), parts, folder()):
        flows = _Flows(path, parts)
        yield from flows.small()
        yield from flows.large()
        path.unlink()


def _released(held: list[pa.Table]) -> Iterator[pa.Table]:
    """Tables one by one, each released once it is taken."""
    while held:
        yield held.pop(0)


def _spilled(batches: Iterable[pa.Table], parts: int, folder: Path) -> list[Path]:
    """Spill segments to files of whole flows."""
    paths = [folder / f"segments-{part}" for part in range(parts)]
    writers = [pa.ipc.new_file(path, SEGMENTS) for path in paths]
    rows = np.zeros(parts, np.int64)
    for batch in batches:
        of = part_of(column(batch, "flow"), parts)
        by_part = batch.take(pa.array(np.argsort(of, kind="stable")))
        edges = np.append(0, np.cumsum(np.bincount(of, minlength=parts)))
        for part in np.flatnonzero(np.diff(edges)).tolist():
            writers[part].write_table(by_part.slice(edges[part], edges[part + 1] - edges[part]).combine_chunks())
        rows += np.diff(edges)
    for writer in writers:
        writer.close()
    return [path for path, count in zip(paths, rows.tolist(), strict=True) if count]


def in_wire_order(segments: pa.Table) -> pa.Table:
    """Rows of SEGMENTS in WIRE_ORDER, but that flows follow each other by the times of their first packets.

    So rows of like times lie together in the lake's files, which take less room, and more of which a condition on time rules out.
    """
    names = ("packet", "capture", "flow")
    order = np.lexsort([column(segments, name) for name in names])
    in_order = segments.take(pa.array(_by_time(order, column(segments, "flow"), column(segments, "ts_ns")))).combine_chunks()
    flow, endpoints = in_order.column("flow"), in_order.column("endpoints")
    same = pc.equal(flow.slice(1), flow.slice(0, len(flow) - 1))
    alike = pc.equal(endpoints.slice(1), endpoints.slice(0, len(flow) - 1))
    if pc.any(pc.and_not(same, alike)).as_py():
        # two connections whose hashes collide, by chance or by attack: they must not be mixed
        return in_order.sort_by(WIRE_ORDER).combine_chunks()
    return in_order


def _by_time(order: I64, flow: I64, ts_ns: I64) -> I64:
    """An order of rows in which those of a flow are adjacent, with the flows in the order of the times of their first rows."""
    begins = np.flatnonzero(np.diff(flow[order], prepend=flow[order[:1]] + 1))
    counts = np.diff(np.append(begins, order.size))
    by_time = np.argsort(ts_ns[order[begins]], kind="stable")
    counts = counts[by_time]
    moved: I64 = np.repeat(begins[by_time] - (np.cumsum(counts) - counts), counts) + np.arange(order.size)
    return order[moved]


def as_they_crossed(segments: pa.Table, clocks: I64 = NO_CLOCKS) -> pa.Table:
    """Rows in WIRE_ORDER with those of each flow in the order in which its packets crossed the wire (stompcap.tcp.merging).

    Those that are ELSEWHERE, the last of a flow, are no part of that order. `clocks` are those of the captures by rank
    (stompcap.capture.rotation): where one stepped, rows are marked STEPPED.
    """
    names = ("capture", "ts_ns", "seq", "ack", "flags", "wire_octets")
    capture, ts_ns, seq, ack, flags, wire = (column(segments, name) for name in names)
    clocks = by_rank(clocks, int(capture.max(initial=0)) + 1) if len(clocks) == 0 else clocks
    rows = Rows(capture, ts_ns, column(segments, "forward").astype(np.uint8), seq, ack, flags, wire, clocks)
    behind = np.flatnonzero(np.diff(flags & ELSEWHERE)) + 1
    begins = flow_edges(segments)
    edges = np.union1d(begins, behind)
    doubtful = in_doubt(edges, rows)
    if doubtful.any():
        segments = segments.take(pa.array(crossed(edges, doubtful, rows))).combine_chunks()
    return marked(segments, begins, clocks)


def flow_edges(segments: pa.Table) -> I64:
    """The first row of each flow, and one past the last; rows of a flow are adjacent."""
    begins = np.ones(segments.num_rows, np.bool_)
    if segments.num_rows:
        begins[1:] = False
    for name in ("flow", "endpoints"):
        values = segments.column(name).combine_chunks()
        begins[1:] |= pc.not_equal(values.slice(1), values.slice(0, max(len(values) - 1, 0))).to_numpy(zero_copy_only=False)
    return np.append(np.flatnonzero(begins), segments.num_rows)


def wire_orders(segments: pa.Table) -> I64:
    """Where each segment is in wire order (stompcap.wire_order)."""
    where: I64 = column(segments, "capture").astype(np.int64) << PACKET_BITS | column(segments, "packet")
    return where


def part_of(flow: I64, parts: int, above: int = 1) -> I64:
    """Which of `parts` a flow belongs to; `above` is the number of parts of the partition that is partitioned again."""
    unsigned = flow.view(np.uint64)
    mixed = unsigned ^ (unsigned >> np.uint64(32))
    return ((mixed // np.uint64(above)) % np.uint64(parts)).astype(np.int64)


def mapped(path: Path, numbers: Iterable[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a mapped Arrow file, all or those numbered, one by one."""
    with pa.ipc.open_file(pa.memory_map(str(path))) as reader:
        for number in range(reader.num_record_batches) if numbers is None else numbers:
            yield reader.get_batch(number)


class _Flows:
    """The flows of a file of segments, one of `above` files."""

    def __init__(self, path: Path, above: int) -> None:
        self.path, self.above = path, above
        found = [np.unique(column(batch, "flow"), return_counts=True) for batch in self._batches()]
        known, index = np.unique(np.concatenate([flow for flow, _ in found]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([count for _, count in found])).astype(np.int64)
        self._few = int(counts[counts <= HELD_ROWS].sum())
        self._large: I64 = known[counts > HELD_ROWS]

    def small(self) -> Iterator[pa.Table]:
        """Whole flows in WIRE_ORDER, some at a time."""
        rounds = -(-self._few // HELD_ROWS)
        for turn in range(rounds):
            some = []
            for batch in self._batches():
                flow = column(batch, "flow")
                some.append(batch.filter(pa.array((part_of(flow, rounds, self.above) == turn) & ~np.isin(flow, self._large))))
            segments = pa.concat_tables(some)
            if segments.num_rows:
                yield in_wire_order(segments)

    def large(self) -> Iterator[Iterator[pa.Table]]:
        """The large flows, one by one (with any that collide with one by hash): of each, tables in wire order."""
        for flow in self._large.tolist():
            mine = (batch.filter(pc.equal(batch["flow"], flow)) for batch in self._batches())
            for one in sorted({one for batch in mine for one in batch["endpoints"].unique().to_pylist()}):
                yield self._in_parts(flow, one)

    def _batches(self, numbers: Iterable[int] | None = None) -> Iterator[pa.Table]:
        return (pa.Table.from_batches([batch]) for batch in mapped(self.path, numbers))

    def _in_parts(self, flow: int, endpoints: bytes) -> Iterator[pa.Table]:
        """One flow, batch by batch in the order of their first segments; rows that a later batch may precede wait for it."""

        def mine(batch: pa.Table) -> pa.Table:
            return batch.filter(pc.and_(pc.equal(batch["flow"], flow), pc.equal(batch["endpoints"], endpoints)))

        first = np.array([wire_orders(mine(batch)).min(initial=NEVER) for batch in self._batches()])
        order = np.argsort(first, kind="stable")
        limits = np.append(first[order][1:], NEVER)
        held: list[pa.Table] = []
        for batch, limit in zip(self._batches(order.tolist()), limits.tolist(), strict=True):
            segments = in_wire_order(pa.concat_tables([*held, mine(batch)]))
            done = int(np.searchsorted(wire_orders(segments), limit))
            if done:
                yield segments.slice(0, done)
            held = [segments.slice(done)]
