"""Concatenates the results of several flows, or of several blocks of one flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from stompcap.tcp.machine import Step
from stompcap.tcp.results import Extents, Reassembly, ZeroWindows

Columns = TypeVar("Columns")


def end_to_end(parts: Sequence[Columns]) -> Columns:
    """Records of columns, all of one kind, concatenated row by row."""
    if len(parts) == 1:
        return parts[0]

    def column(values: Sequence[Any]) -> Any:
        if is_dataclass(values[0]):
            return end_to_end(values)
        if isinstance(values[0], pa.Array):
            return pa.concat_arrays(values)
        if isinstance(values[0], pa.Table):
            return pa.concat_tables(values).combine_chunks()
        return np.concatenate(values) if isinstance(values[0], np.ndarray) else [one for value in values for one in value]

    kind = type(parts[0])
    names = [one.name for one in fields(cast("Any", kind))]
    return kind(**{name: column([getattr(part, name) for part in parts]) for name in names})


def flows(parts: Sequence[Reassembly], rows: Sequence[int]) -> Reassembly:
    """Results of flows whose rows follow one another; `rows` are the first rows of each."""
    if len(parts) == 1:
        return parts[0]
    moved, streams = [], 0
    for part, row in zip(parts, rows, strict=True):
        found = shifted(part, streams, np.arange(row, row + len(part.stream_of)))
        moved.append(replace(found, clock_steps=replace(found.clock_steps, place=found.clock_steps.place + row)))
        streams += len(part.streams)
    return end_to_end(moved)


def blocks(steps: Iterable[Step]) -> Reassembly:
    """Results of all blocks of one flow, as if it had been one block: its rows count from the flow's first. Their segments are released."""
    parts, late = [], []
    for step in steps:
        part = shifted(step.reassembly, step.first, step.number)
        over = np.flatnonzero(part.over)
        streams, ordered = part.streams.take(over), part.ordered[over]
        new = slice(step.held, None)
        of_new = replace(part, streams=streams, over=part.over[over], ordered=ordered)
        parts.append(replace(of_new, stream_of=part.stream_of[new], marks=part.marks[new], acked_ns=part.acked_ns[new]))
        late.append((step.number[: step.held], part.acked_ns[: step.held]))
    found = end_to_end(parts)
    for number, acked_ns in late:
        found.acked_ns[number] = acked_ns
    return replace(found, extents=in_order(found.extents), overlaps=in_order(found.overlaps), zero_windows=by_time(found.zero_windows))


def shifted(found: Reassembly, streams: int, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Reassembly:
    """A result renumbered: connections start at `streams`, rows become those of `rows`."""

    def moved(extents: Extents) -> Extents:
        return replace(extents, stream=extents.stream + np.int32(streams), row=rows[extents.row])

    return replace(
        found,
        extents=moved(found.extents),
        overlaps=moved(found.overlaps),
        zero_windows=replace(found.zero_windows, stream=found.zero_windows.stream + np.int32(streams)),
        retransmissions=replace(found.retransmissions, stream=found.retransmissions.stream + np.int32(streams)),
        clock_steps=replace(found.clock_steps, stream=found.clock_steps.stream + np.int32(streams)),
        stream_of=found.stream_of + np.int32(streams),
    )


def in_order(extents: Extents) -> Extents:
    """Extents sorted by stream, side and offset."""
    return extents.take(np.lexsort((extents.offset, extents.side, extents.stream)))


def by_time(stalls: ZeroWindows) -> ZeroWindows:
    """Stalls sorted by stream and beginning."""
    order = np.lexsort((stalls.begin_ns, stalls.stream))
    return ZeroWindows(stalls.stream[order], stalls.side[order], stalls.begin_ns[order], stalls.end_ns[order])
