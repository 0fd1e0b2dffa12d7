"""Streams cut into windows that fit memory: many small ones together, a large one in pieces.

A window's octets are gathered into one buffer and delimited there. A stream in pieces keeps the delimiter's state between them; what
was left undecided is presented again in front of the next piece, and not before as much has come again, so that a large frame is not
walked too often. A row takes memory however few octets it has, so a window that would have too many of them is made smaller; its NULs
tell before it is delimited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import stomp, tcp
from stompcap.assembly.arrivals import Placed, place
from stompcap.capture.files import Source
from stompcap.columns import I64, U8, Bools, Octets
from stompcap.stomp.rows import FRAME_LIMIT, Rows, Runs, State
from stompcap.stomp.secret_names import SECRET_NAMES
from stompcap.tcp.join import end_to_end
from stompcap.tcp.results import Extents, Reassembly
from stompcap.wire_order import END

WINDOW = 64 * 1024 * 1024
MOST_NULS = 1 << 19  # rows of a window; each with its frame takes some 1.4 kB in all
LEAST = 1 << 20  # octets; a piece as small may have any number of rows


@dataclass(frozen=True)
class Resumed:
    """Where the windows of a stream go on.

    state      of the delimiter, both directions
    since      place in wire order: segments before it came with earlier windows
    wait       per side, octets that must have come, those left undecided among them, until it is presented again
    presented  per side, the offset up to which it was presented
    """

    state: State
    since: int
    wait: I64
    presented: I64


@dataclass(frozen=True)
class Going:
    """A stream of which more may come, or that began earlier.

    upto   place in wire order: what comes later stands there or behind; END where the stream ends
    idle   per side, whether nothing came since the windows before
    """

    upto: int
    idle: Bools
    resumed: Resumed | None = None


@dataclass(frozen=True)
class Window:
    """Delimited octets of some streams. Direction d belongs to stream `streams[d // 2]` and to its side d % 2."""

    streams: I64
    octets: Octets
    rows: Rows
    placed: Placed
    extents: Extents
    first: bool = True  # the streams begin here
    fresh: bool = True  # no window of them came before of what was reassembled together
    since: int = 0  # of the segments of the streams, those from this place in wire order on come with this window,
    upto: int = END  # and before this one: what comes later has its place there or behind
    resumed: Resumed | None = None  # how the stream goes on; None where it ends

    @property
    def last(self) -> bool:
        """Whether the streams end here."""
        return self.resumed is None


def windows(
    reassembly: Reassembly,
    kept: Bools,
    segments: pa.Table,
    sources: Mapping[int, Source],
    size: int,
    going: Mapping[int, Going] | None = None,
    names: stomp.SecretNames = SECRET_NAMES,
) -> Iterator[Window]:
    """The kept streams, window by window, in order; a stream larger than `size` octets has windows of its own.

    Streams are whole but for those in `going`, which may have no window now.
    """
    reader = _Reader(reassembly, segments, sources, names)
    captured = np.zeros(len(reassembly.streams), np.int64)
    np.add.at(captured, reassembly.extents.stream, reassembly.extents.length)
    group: list[int] = []
    held = 0
    for stream in np.flatnonzero(kept).tolist():
        octets = int(captured[stream])
        if group and held + octets > size:
            yield from reader.together(np.array(group), size)
            group, held = [], 0
        if going and stream in going:
            yield from reader.pieces(stream, size, going[stream])
        elif octets > size:
            yield from reader.pieces(stream, size, WHOLE)
        else:
            group.append(stream)
            held += octets
    if group:
        yield from reader.together(np.array(group), size)


WHOLE = Going(END, np.zeros(2, np.bool_))


class _Reader:
    """Gathers and delimits octets of one reassembly."""

    def __init__(self, reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], names: stomp.SecretNames) -> None:
        self.names = names
        self.reassembly = reassembly
        self.segments = segments
        self.sources = sources
        self.ts_ns = segments.column("ts_ns").to_numpy()
        side = reassembly.extents.stream.astype(np.int64) * 2 + reassembly.extents.side
        self.bounds = np.searchsorted(side, np.arange(2 * len(reassembly.streams) + 1))

    def together(self, streams: I64, size: int) -> Iterator[Window]:
        """Small streams, from beginning to end: as one window, or as several where it would have too many rows."""
        begins, ends = self.bounds[2 * streams], self.bounds[2 * streams + 2]
        counts = ends - begins
        index = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        extents = self.reassembly.extents.take(index)
        direction = np.repeat(np.arange(streams.size), counts) * 2 + extents.side
        octets = self._gather(extents)
        if octets.size <= LEAST or not crowded(octets):
            yield Window(
                streams, octets, *self._delimited(streams, octets, extents, direction, None, np.ones(2 * streams.size, bool)), extents
            )
        elif streams.size == 1:
            yield from self.pieces(int(streams[0]), size, WHOLE)
        else:
            for half in np.array_split(streams, 2):
                yield from self.together(half, size)

    def pieces(self, stream: int, size: int, going: Going) -> Iterator[Window]:
        """A large stream, `size` octets at a time as they crossed the wire, and more where a frame is larger."""
        sides, streams = self.reassembly.streams.sides, np.array([stream])
        total, over = sides.octets[stream], going.upto == END
        state = stomp.beginning(sides.synced[stream])
        position = going.resumed or Resumed(state, 0, np.zeros(2, np.int64), np.zeros(2, np.int64))
        state = State(np.where(position.presented[:, None] > 0, position.state.numbers, state.numbers))
        arrived, came = self._arrivals(stream)
        first, fresh, everything, step, taken = going.resumed is None, True, False, size, 0
        while not everything:
            pending, waited = state.pending, taken
            count = max(int(np.searchsorted(came, taken + step, "right")), 1)
            everything = count >= arrived.size
            reach = total if everything else self._reach(stream, int(arrived[count - 1]), total)
            if first:  # version and client are decided here
                reach = np.maximum(reach, np.minimum(step, total))
            reach = np.maximum(reach, pending)
            final = over & (reach >= total)
            due = final | (reach - pending >= position.wait) | (everything & going.idle & (position.presented < total))
            reach = np.where(due, reach, pending)
            taken = max(taken + step, int(came[count - 1]) if came.size else 0)
            if not (final.any() or (reach > pending).any() or first):
                continue
            extents = end_to_end([self._clip(stream, side, int(pending[side]), int(reach[side])) for side in (0, 1)])
            octets = self._gather(extents)
            if step > LEAST and not position.wait.any() and crowded(octets):
                step, taken, everything = max(step // 2, LEAST), waited, False
                continue
            step = min(2 * step, size)
            rows, placed = self._delimited(streams, octets, extents, extents.side.astype(np.int64), state, final)
            state = rows.state
            # what is undecided is presented again when it has doubled; but no more than the delimiter may leave undecided is waited for
            undecided = np.minimum(2 * (reach - state.pending), FRAME_LIMIT + size)
            wait = np.where(~due, position.wait, np.where(state.pending > pending, 0, undecided))
            upto = END if final.all() else going.upto if everything else min(going.upto, int(arrived[count]))
            since, position = position.since, Resumed(state, max(position.since, upto), wait, np.maximum(position.presented, reach))
            yield Window(streams, octets, rows, placed, extents, first, fresh, since, upto, None if final.all() else position)
            first = fresh = False
            everything |= bool(final.all())

    def _side(self, stream: int, side: int) -> slice:
        """The extents of one side."""
        return slice(int(self.bounds[2 * stream + side]), int(self.bounds[2 * stream + side + 1]))

    def _arrivals(self, stream: int) -> tuple[I64, I64]:
        """The places of the octets of a stream in wire order, ascending, and how many octets had come with each."""
        both = slice(self._side(stream, 0).start, self._side(stream, 1).stop)
        places, length = self.reassembly.extents.order[both], self.reassembly.extents.length[both]
        order = np.argsort(places, kind="stable")
        return places[order], np.cumsum(length[order])

    def _reach(self, stream: int, until: int, total: I64) -> I64:
        """The offset, per side, up to which all octets stand at the place `until` in wire order or before."""
        e, reach = self.reassembly.extents, total.copy()
        for side in (0, 1):
            part = self._side(stream, side)
            later = np.flatnonzero(e.order[part] > until)
            if later.size:
                reach[side] = e.offset[part][later[0]]
        return reach

    def _clip(self, stream: int, side: int, begin: int, end: int) -> Extents:
        """The extents of one side between two offsets."""
        low, high = int(self.bounds[2 * stream + side]), int(self.bounds[2 * stream + side + 1])
        e = self.reassembly.extents
        first = low + int(np.searchsorted(e.offset[low:high] + e.length[low:high], begin, "right"))
        last = low + int(np.searchsorted(e.offset[low:high], end, "left"))
        piece = e.take(slice(first, max(first, last)))
        start = np.maximum(piece.offset, begin)
        stop = np.minimum(piece.offset + piece.length, end)
        return replace(piece, offset=start, length=stop - start, skip=piece.skip + start - piece.offset)

    def _gather(self, extents: Extents) -> U8:
        return tcp.gather(extents, self.segments, self.sources)

    def _delimited(
        self, streams: I64, octets: Octets, extents: Extents, direction: I64, state: State | None, final: Bools
    ) -> tuple[Rows, Placed]:
        sides = self.reassembly.streams.sides
        runs = _runs(extents, direction, sides.synced[streams].reshape(-1), final, sides.octets[streams].reshape(-1))
        rows = stomp.delimit(octets, runs, state, names=self.names)
        return rows, place(
            rows.direction, rows.offset, rows.length, rows.kind.astype(np.uint8),
            (direction, extents.offset, extents.length, extents.row), self.ts_ns, extents.order,
        )


def crowded(octets: Octets) -> bool:
    """More rows may come of these octets than a window is to have."""
    return bool(octets.size - np.count_nonzero(octets) > MOST_NULS)


def _runs(extents: Extents, direction: I64, synced: Bools, final: Bools, total: I64) -> Runs:
    """Extents that meet end to start as one run each."""
    begins = np.ones(len(extents), bool)
    begins[1:] = (direction[1:] != direction[:-1]) | (extents.offset[1:] != extents.offset[:-1] + extents.length[:-1])
    starts = np.flatnonzero(begins)
    position = np.cumsum(extents.length) - extents.length
    length = np.add.reduceat(extents.length, starts) if starts.size else np.empty(0, np.int64)
    return Runs(direction[starts].astype(np.int32), position[starts], length, extents.offset[starts], synced, final, total)
