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

from stompcap import stomp
from stompcap.assembly.due import WHOLE, Due, Going, Resumed, waits
from stompcap.assembly.row_arrivals import RowArrivals, row_arrivals
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Rows, State
from stompcap.stomp.secret_names import SECRET_NAMES
from stompcap.tcp.join import end_to_end
from stompcap.transport.carried import Carried
from stompcap.transport.octets import runs
from stompcap.transport.stretches import Stretches
from stompcap.wire_order import END

WINDOW = 64 * 1024 * 1024
MOST_NULS = 1 << 19  # rows of a window; each with its frame takes some 1.4 kB in all
LEAST = 1 << 20  # octets; a piece as small may have any number of rows


@dataclass(frozen=True)
class Window:
    """Delimited octets of some streams. Direction d belongs to stream `streams[d // 2]` and to its side d % 2.

    first    whether it begins here
    fresh    whether no window of it came before of what was reassembled together
    since    of its segments, those from this number in wire order on come with this window,
    upto     and before this one, which is the smallest that later rows may have
    resumed  how it goes on; None where it ends
    """

    streams: I64
    octets: Octets
    rows: Rows
    arrivals: RowArrivals
    stretches: Stretches
    first: Bools
    fresh: Bools
    since: I64
    upto: I64
    resumed: tuple[Resumed | None, ...]

    @property
    def last(self) -> Bools:
        """Whether each stream ends here."""
        return np.array([one is None for one in self.resumed], np.bool_)

    def of(self, which: Bools) -> Window:
        """The window of some of its streams."""
        if which.all():
            return self
        number = np.cumsum(which) - 1  # of each stream among those that stay

        def direction(of: I64) -> I64:
            return 2 * number[of // 2] + of % 2

        stays = which[self.rows.direction // 2]
        row = np.cumsum(stays) - 1
        rows = self.rows.take(stays)
        state = State(self.rows.state.numbers[np.repeat(which, 2)])
        arrivals = RowArrivals(*(column[stays[self.arrivals.source]] for column in self.arrivals))
        resumed = tuple(one for one, stay in zip(self.resumed, which.tolist(), strict=True) if stay)
        return Window(
            self.streams[which], self.octets, replace(rows, direction=direction(rows.direction), state=state),
            arrivals._replace(source=row[arrivals.source]), self.stretches.take(np.isin(self.stretches.stream, self.streams[which])),
            self.first[which], self.fresh[which], self.since[which], self.upto[which], resumed,
        )  # fmt: skip


def windows(
    carried: Carried,
    wanted: Bools,
    size: int,
    going: Mapping[int, Going] | None = None,
    names: stomp.SecretNames = SECRET_NAMES,
) -> Iterator[Window]:
    """The streams that are wanted, window by window, in order; one larger than `size` octets has windows of its own.

    Streams are whole but for those in `going`, which may have no window now.
    """
    reader = _Reader(carried, going or {}, names)
    captured = np.zeros(len(carried), np.int64)
    np.add.at(captured, carried.stretches.stream, carried.stretches.length)
    group: list[int] = []
    held = 0
    for stream in np.flatnonzero(wanted).tolist():
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
    """Gathers and delimits the octets of streams."""

    def __init__(self, carried: Carried, going: Mapping[int, Going], names: stomp.SecretNames) -> None:
        self.carried, self.going, self.names = carried, going, names
        self.ts_ns = carried.segments.column("ts_ns").to_numpy()
        self.bounds = carried.bounds

    def together(self, streams: I64, size: int) -> Iterator[Window]:
        """Small streams, all that came of each: as one window, or as several where it would have too many rows."""
        due = Due.of(streams, self.carried, self.going)
        if not due.some.all():
            due = Due.of(streams := streams[due.some], self.carried, self.going)
        if not streams.size:
            return
        found = self.carried.stretches.take(self.carried.of(streams))
        direction = np.repeat(np.arange(streams.size), self.bounds[2 * streams + 2] - self.bounds[2 * streams]) * 2 + found.side
        if due.partly:
            inside = (found.offset + found.length > due.pending[direction]) & (found.offset < due.reach[direction])
            direction, found = direction[inside], found.take(inside)
            found = found.between(due.pending[direction], due.reach[direction])
        octets = self.carried.read(found)
        if octets.size <= LEAST or not crowded(octets):
            rows, arrivals = self._delimited(streams, octets, found, direction, due.state, due.final)
            resumed, fresh = due.resumed(rows.state, size), np.ones(streams.size, np.bool_)
            yield Window(streams, octets, rows, arrivals, found, due.first, fresh, due.since, due.upto, resumed)
        elif streams.size == 1:
            yield from self.pieces(int(streams[0]), size)
        else:
            for half in np.array_split(streams, 2):
                yield from self.together(half, size)

    def pieces(self, stream: int, size: int) -> Iterator[Window]:
        """A large stream, `size` octets at a time as they crossed the wire, and more where a frame is larger."""
        going = self.going.get(stream, WHOLE)
        streams, total, over = np.array([stream]), self.carried.octets[stream], going.upto == END
        state = stomp.beginning(self.carried.synced[stream])
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
            stretches = end_to_end([self._between(stream, side, int(pending[side]), int(reach[side])) for side in (0, 1)])
            octets = self.carried.read(stretches)
            if step > LEAST and not position.wait.any() and crowded(octets):
                step, taken, everything = max(step // 2, LEAST), waited, False
                continue
            step = min(2 * step, size)
            rows, arrivals = self._delimited(streams, octets, stretches, stretches.side.astype(np.int64), state, final)
            state = rows.state
            wait = waits(pending, reach, state.pending, due, position.wait, size)
            upto = END if final.all() else going.upto if everything else min(going.upto, int(arrived[count]))
            since, position = position.since, Resumed(state, max(position.since, upto), wait, np.maximum(position.presented, reach))
            of_stream = np.array([first]), np.array([fresh]), np.array([since]), np.array([upto])
            yield Window(streams, octets, rows, arrivals, stretches, *of_stream, (None if final.all() else position,))
            first = fresh = False
            everything |= bool(final.all())

    def _side(self, stream: int, side: int) -> slice:
        """The stretches of one side."""
        return slice(int(self.bounds[2 * stream + side]), int(self.bounds[2 * stream + side + 1]))

    def _arrivals(self, stream: int) -> tuple[I64, I64]:
        """The numbers of the octets of a stream in wire order, ascending, and how many octets had come with each."""
        both = slice(self._side(stream, 0).start, self._side(stream, 1).stop)
        orders, length = self.carried.stretches.order[both], self.carried.stretches.length[both]
        order = np.argsort(orders, kind="stable")
        return orders[order], np.cumsum(length[order])

    def _reach(self, stream: int, until: int, total: I64) -> I64:
        """The offset, per side, up to which all octets have at most the number `until` in wire order."""
        found, reach = self.carried.stretches, total.copy()
        for side in (0, 1):
            part = self._side(stream, side)
            later = np.flatnonzero(found.order[part] > until)
            if later.size:
                reach[side] = found.offset[part][later[0]]
        return reach

    def _between(self, stream: int, side: int, begin: int, end: int) -> Stretches:
        """The stretches of one side between two offsets."""
        part, found = self._side(stream, side), self.carried.stretches
        first = part.start + int(np.searchsorted(found.offset[part] + found.length[part], begin, "right"))
        last = part.start + int(np.searchsorted(found.offset[part], end, "left"))
        return found.take(slice(first, max(first, last))).between(begin, end)

    def _delimited(
        self, streams: I64, octets: Octets, found: Stretches, direction: I64, state: State | None, final: Bools
    ) -> tuple[Rows, RowArrivals]:
        synced, total = self.carried.synced[streams].reshape(-1), self.carried.octets[streams].reshape(-1)
        captured = runs(direction, found.offset, found.length, found.unsure, synced, final, total)
        rows = stomp.delimit(octets, captured, state, names=self.names)
        return rows, row_arrivals(
            rows.direction, rows.offset, rows.length, rows.kind.astype(np.uint8),
            (direction, found.offset, found.length, found.row), self.ts_ns, found.order,
        )


def crowded(octets: Octets) -> bool:
    """More rows may come of these octets than a window is to have."""
    return bool(octets.size - np.count_nonzero(octets) > MOST_NULS)
