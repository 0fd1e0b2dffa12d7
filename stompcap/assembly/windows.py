"""Streams cut into windows that fit memory: many small ones together, a large one in pieces.

A window's octets are gathered into one buffer and delimited there. A stream in pieces keeps the delimiter's state between them; what
was left undecided is presented again in front of the next piece. A row takes memory however few octets it has, so a window that would
have too many of them is made smaller; its NULs tell before it is delimited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import stomp, tcp
from stompcap.assembly.arrivals import Placed, place
from stompcap.capture.files import Source
from stompcap.stomp.rows import FRAME_LIMIT, Rows, Runs, State
from stompcap.tcp.results import Extents, Reassembly

Ints = NDArray[np.int64]
WINDOW = 64 * 1024 * 1024
MOST_NULS = 1 << 19  # rows of a window; each with its frame takes some 1.4 kB in all
LEAST = 1 << 20  # octets; a piece as small may have any number of rows


@dataclass(frozen=True)
class Window:
    """Delimited octets of some streams. Direction d belongs to stream `streams[d // 2]` and to its side d % 2."""

    streams: Ints
    octets: NDArray[np.uint8]
    rows: Rows
    placed: Placed
    extents: Extents
    first: bool  # the streams begin here
    last: bool  # and end here
    since: int = -1  # of the segment rows of the streams, those above this one come with this window,
    behind: int = -1  # and below this one: it brought the first octet that is in no row yet; -1 where all are


def windows(
    reassembly: Reassembly, kept: NDArray[np.bool_], segments: pa.Table, sources: Mapping[int, Source], size: int
) -> Iterator[Window]:
    """The kept streams, window by window, in order; a stream larger than `size` octets has windows of its own."""
    reader = _Reader(reassembly, segments, sources)
    captured = np.zeros(len(reassembly.streams), np.int64)
    np.add.at(captured, reassembly.extents.stream, reassembly.extents.length)
    group: list[int] = []
    held = 0
    for stream in np.flatnonzero(kept).tolist():
        octets = int(captured[stream])
        if group and held + octets > size:
            yield from reader.together(np.array(group), size)
            group, held = [], 0
        if octets > size:
            yield from reader.pieces(stream, size)
        else:
            group.append(stream)
            held += octets
    if group:
        yield from reader.together(np.array(group), size)


class _Reader:
    """Gathers and delimits octets of one reassembly."""

    def __init__(self, reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source]) -> None:
        self.reassembly = reassembly
        self.segments = segments
        self.sources = sources
        self.ts_ns = segments.column("ts_ns").to_numpy()
        side = reassembly.extents.stream.astype(np.int64) * 2 + reassembly.extents.side
        self.bounds = np.searchsorted(side, np.arange(2 * len(reassembly.streams) + 1))

    def together(self, streams: Ints, size: int) -> Iterator[Window]:
        """Small streams, from beginning to end: as one window, or as several where it would have too many rows."""
        begins, ends = self.bounds[2 * streams], self.bounds[2 * streams + 2]
        counts = ends - begins
        index = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        extents = self.reassembly.extents.take(index)
        direction = np.repeat(np.arange(streams.size), counts) * 2 + extents.side
        octets = self._gather(extents)
        if octets.size <= LEAST or not crowded(octets):
            yield self._window(streams, octets, extents, direction, None, np.ones(2 * streams.size, bool), first=True)
        elif streams.size == 1:
            yield from self.pieces(int(streams[0]), size)
        else:
            for half in np.array_split(streams, 2):
                yield from self.together(half, size)

    def pieces(self, stream: int, size: int) -> Iterator[Window]:
        """A large stream, `size` octets at a time as they crossed the wire, and more where a frame is larger."""
        streams = np.array([stream])
        pending, state = np.zeros(2, np.int64), None
        total = self.reassembly.streams.sides.octets[stream]
        arrived, came = self._arrivals(stream)
        step, before, since, moved = size, 0, -1, True
        while True:
            taken = before + step
            index = int(np.searchsorted(came, taken, "right"))
            until = int(arrived[max(index - 1, 0)]) if index < arrived.size else int(arrived[-1])
            taken = max(taken, int(came[max(index - 1, 0)]))
            reach = np.array([self._reach(stream, side, until, int(total[side])) for side in (0, 1)])
            if state is None:  # what tells version and client is looked for here
                reach = np.maximum(reach, np.minimum(step, total))
            final = reach >= total
            parts = [self._clip(stream, side, int(pending[side]), int(reach[side])) for side in (0, 1)]
            extents = Extents(*(np.concatenate([getattr(p, f) for p in parts]) for f in Extents.__dataclass_fields__))
            octets = self._gather(extents)
            if moved and step > LEAST and crowded(octets):
                step = max(step // 2, LEAST)
                continue
            before = taken
            window = self._window(streams, octets, extents, extents.side.astype(np.int64), state, final, first=state is None)
            state = window.rows.state
            window = replace(window, since=since, behind=self._behind(stream, state.pending))
            since = max(since, window.behind - 1)
            moved = bool((state.pending > pending).any())
            pending = state.pending.copy()
            # a frame larger than a piece: take more at a time, so that what is presented again stays linear; but no more than
            # the delimiter may leave undecided
            step = min(2 * step, size if moved else FRAME_LIMIT + size)
            yield window
            if final.all():
                return

    def _side(self, stream: int, side: int) -> slice:
        """The extents of one side."""
        return slice(int(self.bounds[2 * stream + side]), int(self.bounds[2 * stream + side + 1]))

    def _arrivals(self, stream: int) -> tuple[Ints, Ints]:
        """The segment rows that brought octets of a stream, in wire order, and how many octets had come with each."""
        both = slice(self._side(stream, 0).start, self._side(stream, 1).stop)
        row, length = self.reassembly.extents.row[both], self.reassembly.extents.length[both]
        order = np.argsort(row, kind="stable")
        return row[order], np.cumsum(length[order])

    def _reach(self, stream: int, side: int, until: int, total: int) -> int:
        """The offset up to which all octets of a side came with segment rows up to `until`."""
        e, part = self.reassembly.extents, self._side(stream, side)
        later = np.flatnonzero(e.row[part] > until)
        return int(e.offset[part][later[0]]) if later.size else total

    def _behind(self, stream: int, pending: Ints) -> int:
        """The segment row of the first octet from `pending` on, of either side; -1 where there is none."""
        e, found = self.reassembly.extents, []
        for side in (0, 1):
            part = self._side(stream, side)
            index = int(np.searchsorted(e.offset[part] + e.length[part], pending[side], "right"))
            if index < part.stop - part.start:
                found.append(int(e.row[part][index]))
        return min(found, default=-1)

    def _clip(self, stream: int, side: int, begin: int, end: int) -> Extents:
        """The extents of one side between two offsets."""
        low, high = int(self.bounds[2 * stream + side]), int(self.bounds[2 * stream + side + 1])
        e = self.reassembly.extents
        first = low + int(np.searchsorted(e.offset[low:high] + e.length[low:high], begin, "right"))
        last = low + int(np.searchsorted(e.offset[low:high], end, "left"))
        piece = e.take(slice(first, max(first, last)))
        start = np.maximum(piece.offset, begin)
        stop = np.minimum(piece.offset + piece.length, end)
        return Extents(piece.stream, piece.side, start, stop - start, piece.row, piece.skip + start - piece.offset)

    def _gather(self, extents: Extents) -> NDArray[np.uint8]:
        return tcp.gather(extents, self.segments, self.sources)

    def _window(
        self, streams: Ints, octets: NDArray[np.uint8], extents: Extents, direction: Ints, state: State | None,
        final: NDArray[np.bool_], *, first: bool,
    ) -> Window:
        sides = self.reassembly.streams.sides
        runs = _runs(extents, direction, sides.synced[streams].reshape(-1), final, sides.octets[streams].reshape(-1))
        rows = stomp.delimit(octets, runs, state)
        placed = place(
            rows.direction, rows.offset, rows.length, rows.kind.astype(np.uint8),
            (direction, extents.offset, extents.length, extents.row), self.ts_ns,
        )
        return Window(streams, octets, rows, placed, extents, first, bool(final.all()))


def crowded(octets: NDArray[np.uint8]) -> bool:
    """More rows may come of these octets than a window is to have."""
    return bool(octets.size - np.count_nonzero(octets) > MOST_NULS)


def _runs(extents: Extents, direction: Ints, synced: NDArray[np.bool_], final: NDArray[np.bool_], total: Ints) -> Runs:
    """Extents that meet end to start as one run each."""
    begins = np.ones(len(extents), bool)
    begins[1:] = (direction[1:] != direction[:-1]) | (extents.offset[1:] != extents.offset[:-1] + extents.length[:-1])
    starts = np.flatnonzero(begins)
    position = np.cumsum(extents.length) - extents.length
    length = np.add.reduceat(extents.length, starts) if starts.size else np.empty(0, np.int64)
    return Runs(direction[starts].astype(np.int32), position[starts], length, extents.offset[starts], synced, final, total)
