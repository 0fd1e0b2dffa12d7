"""TLS 1.2 and 1.3 (RFC 5246, 8446): what records carry, where a key log has their keys; without keys what can be seen of them.

An octet can be read by the packet that completes its record. Only application data is given on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from stompcap.codes import HIGH, LOW, PROTOCOL_TLS, TRANSPORT_TLS
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.tcp.join import end_to_end
from stompcap.transport import tls_connection, tls_state, tls_summary
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried
from stompcap.transport.events import Event
from stompcap.transport.keys import NO_KEYS
from stompcap.transport.state import Arrays
from stompcap.transport.stretches import NO_STRETCHES, Stretches
from stompcap.transport.summary import Summary
from stompcap.transport.tls_connection import Connection
from stompcap.transport.tls_hello import CLIENT_HELLO, SERVER_HELLO
from stompcap.transport.tls_records import HEAD, find_head
from stompcap.transport.tls_side import Side

KIND = "tls"
KNOWN = 2
"""Bit of a connection's `logged`: the key log has its secrets."""

UP_TO_RANDOM = 34
"""Octets of a hello up to the end of its random (RFC 8446, 4.1.2)."""

FIRST = 1 << 14
"""Octets of a side that are read for its hello."""

AT_ONCE = 1 << 20
"""Octets of a side that are held at a time."""

TOGETHER = 1 << 14
"""Opened octets that a row carries, about."""


class Tls:
    """The layer (stompcap.transport.layers.Layer)."""

    kind = KIND
    protocol = PROTOCOL_TLS
    keeps = (*tls_connection.KEEPS, *tls_state.KEEPS)

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether its first octets are a hello or, where the beginning was not captured, records."""
        found = np.zeros(runs.synced.size, np.bool_)
        direction, first = np.unique(runs.direction, return_index=True)
        begin, length = runs.position[first], runs.length[first]
        found[direction] = _hellos(octets, begin, length)
        midway = ~found[direction] & ~(runs.synced[direction] & (runs.offset[first] == 0))
        for run in np.flatnonzero(midway).tolist():
            found[direction[run]] = _records(octets[begin[run] : begin[run] + length[run]])
        return found

    def transport(self, below: int) -> int:
        """TLS, whatever lies below."""
        return TRANSPORT_TLS

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """What the records carry."""
        kept, lengths, opened = list[Arrays](), np.zeros((len(streams), 2), np.int64), list[_Opened]()
        events, ahead = list[Event](), Ahead(below, streams)
        for number, (stream, one) in enumerate(zip(streams.tolist(), before, strict=True)):
            connection = Connection.of(one, below.keys())
            sides = [Side.of(one, connection, side, synced=bool(below.synced[stream, side])) for side in (LOW, HIGH)]
            _walk(below, stream, connection, sides, ahead)
            for side in sides:
                mine = _Opened.of(below, stream, side)
                if mine is not None:
                    opened.append(mine)
                events += _events(below, stream, side)
                if side.closed and not side.closed_order:
                    end = np.array([side.closed])
                    side.closed_order = 1 + int(_lookup(below, stream, side.side, end - 1, end)[1][0])
                trailing = int(below.octets[stream, side.side]) - side.came
                lengths[number, side.side] = side.offset + side.hidden + max(trailing, 0)
            numbers, octets = zip(*(side.kept() for side in sides), strict=True)
            kept.append({**connection.kept(), "sides": np.array(numbers), **octets[0], **octets[1]})
        after, stretches = _given(below, opened)
        return after.telling(events).giving(streams, stretches, lengths, below.synced[streams]), kept

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """One row."""
        return [tls_summary.summary(kept)]

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """The same, for nothing is kept of what was opened.

        Without a key only the head is kept of a record under way, which is not opened then, and of a hello its random.
        """
        if Connection.of(kept, NO_KEYS).logged & KNOWN:
            return kept
        most = {"held 0": HEAD, "held 1": HEAD, "hello 0": UP_TO_RANDOM, "hello 1": UP_TO_RANDOM}
        return {**kept, **{name: _first_alone(kept[name], count) for name, count in most.items()}}


def _first_alone(octets: Octets, count: int) -> Octets:
    """As many octets, of which those behind the first so many are zeros."""
    found: Octets = np.zeros_like(octets)
    found[:count] = octets[:count]
    return found


def _hellos(octets: Octets, begin: I64, length: I64) -> Bools:
    """Which of these stretches of octets begin a record with a hello."""
    found = length >= HEAD + 2
    at = begin[found]
    kind, major, minor, message, high = (octets[at + into] for into in (0, 1, 2, HEAD, HEAD + 1))
    found[found] = (kind == 22) & (major == 3) & (minor <= 4) & ((message == CLIENT_HELLO) | (message == SERVER_HELLO)) & (high <= 1)
    return found


def _records(first: Octets) -> bool:
    """Whether these octets, whose beginning was not captured, are records: one begins at once, or leads to another."""
    at, whole = find_head(first, 0)
    return bool(whole or (at == 0 and len(first) > HEAD))


def _walk(below: Carried, stream: int, connection: Connection, sides: Sequence[Side], ahead: Ahead) -> None:
    """Read what came of both sides. One may wait for the other's hello; where that cannot come any more it does not."""
    expected = below.expected is None or bool(below.expected[stream])
    asked = expected or connection.random is not None or connection.may_guess()
    sides[0].other, sides[1].other = sides[1], sides[0]
    pieces = [_pieces(below, stream, side.side, side.came, ahead, all_of_it=asked) for side in sides]
    for side in sides:
        side.patient = True
    if not asked and not connection.unwalked:
        firsts = [next(one, None) for one in pieces]
        for side, first in zip(sides, firsts, strict=True):
            side.feed(iter((first,) if first else ()))
        _rounds(sides)
        asked = connection.random is not None or connection.may_guess()
    if not asked:
        connection.unwalked = 1
        for side in sides:
            side.leave(int(below.octets[stream, side.side]) - side.came)
        return
    connection.unwalked = 0
    for side, more in zip(sides, pieces, strict=True):
        side.feed(chain(side.pieces, more))
    _rounds(sides)
    if (below.final[stream] and any(side.blocked for side in sides)) or all(side.blocked for side in sides):
        for side in sides:
            side.patient = False
        _rounds(sides)
    for side in sides:
        side.wait()
        while not side.patient:
            _rounds((side,))
            side.patient = True
            side.wait()


def _rounds(sides: Sequence[Side]) -> None:
    """Let both sides go on until neither can."""
    while any([side.work() for side in sides]):  # noqa: C419 - both work in each round
        pass


def _pieces(below: Carried, stream: int, side: int, came: int, ahead: Ahead, *, all_of_it: bool) -> Iterator[tuple[int, bytes]]:
    """The octets of a side behind those that came: how many are missing before them, and some of them; first few of them."""
    begin, end = below.bounds[2 * stream + side : 2 * stream + side + 2].tolist()
    mine = below.stretches.take(slice(begin, end))
    if not len(mine):
        return
    holes = mine.offset - np.append(came, (mine.offset + mine.length)[:-1])
    holes[mine.unsure] = np.maximum(holes[mine.unsure], 1)
    begins = holes != 0
    begins[0] = True
    group, most = np.cumsum(begins), FIRST
    at = 0
    while at < len(mine):
        octets = np.cumsum(mine.length[at:])
        count = max(int(np.searchsorted(octets, most, "right")), 1)
        count = min(count, int(np.searchsorted(group, group[at], "right")) - at)
        hole = int(holes[at])
        yield hole, ahead.read(begin + at, begin + at + count, alone=not all_of_it).tobytes()
        at, most = at + count, AT_ONCE


def _lookup(below: Carried, stream: int, side: int, begins: I64, ends: I64) -> tuple[I64, I64]:
    """The packets by which what lies between these offsets can be read: their rows and their places in wire order."""
    first, last = below.bounds[2 * stream + side : 2 * stream + side + 2].tolist()
    mine = below.stretches.take(slice(first, last))
    behind = mine.offset + mine.length
    most = max(len(mine) - 1, 0)
    start = np.minimum(np.searchsorted(behind, begins, "right"), most)
    stop = np.maximum(np.minimum(np.searchsorted(behind, ends, "left"), most), start)
    if bool((np.diff(mine.row) >= 0).all() and (np.diff(mine.order) >= 0).all()):
        return mine.row[stop], mine.order[stop]
    between = np.stack((start, stop + 1), axis=1).reshape(-1)
    row, order = (np.maximum.reduceat(np.append(values, 0), between)[::2] for values in (mine.row, mine.order))
    return row, order


@dataclass(frozen=True)
class _Opened:
    """What was opened of a side: its octets, of which `rows` carry some each, and stretches whose `at` counts these rows."""

    octets: list[bytes]
    sizes: I64
    rows: I64
    stretches: Stretches

    @staticmethod
    def of(below: Carried, stream: int, side: Side) -> _Opened | None:
        """What a side has given; None where that is nothing."""
        given = side.given
        if not given.octets:
            return None
        lengths = np.fromiter(map(len, given.octets), np.int64, len(given.octets))
        hidden, unsure = np.zeros(lengths.size, np.int64), np.zeros(lengths.size, np.bool_)
        for record, (octets, by_guess) in given.hidden.items():
            hidden[record], unsure[record] = octets, by_guess
        row, order = _lookup(below, stream, side.side, np.concatenate(given.begins), np.concatenate(given.ends))
        ends = np.cumsum(lengths)
        chunk = (ends - lengths) // TOGETHER
        chunk = np.cumsum(np.diff(chunk, prepend=chunk[0]) != 0)
        begins = np.ones(lengths.size, np.bool_)
        begins[1:] = (np.diff(row) != 0) | (np.diff(order) != 0) | (hidden[1:] > 0) | (np.diff(chunk) != 0)
        first = np.flatnonzero(begins)
        offset = side.offset + np.cumsum(lengths + hidden) - lengths
        side.offset = int(offset[-1] + lengths[-1])
        chunks = np.flatnonzero(np.diff(chunk, append=chunk[-1] + 1))  # the last record of each
        sizes = np.diff(ends[chunks], prepend=0)
        in_chunk = (ends - lengths) - (np.cumsum(sizes) - sizes)[chunk]
        count = first.size
        stretches = Stretches(
            np.full(count, stream, np.int32), np.full(count, side.side, np.int8), offset[first], np.add.reduceat(lengths, first),
            row[first], order[first], chunk[first], in_chunk[first], unsure[first],
        )  # fmt: skip
        return _Opened(given.octets, sizes, row[chunks], stretches)


def _given(below: Carried, opened: Sequence[_Opened]) -> tuple[Carried, Stretches]:
    """Rows that carry what was opened, and the stretches that point to them."""
    if not opened:
        return below, NO_STRETCHES
    sizes = np.concatenate([one.sizes for one in opened])
    offsets = np.append(0, np.cumsum(sizes))
    octets = b"".join(chain.from_iterable(one.octets for one in opened))
    payload = pa.Array.from_buffers(pa.large_binary(), sizes.size, [None, pa.py_buffer(offsets), pa.py_buffer(octets)])
    after, at = below.adding(np.concatenate([one.rows for one in opened]), payload)
    stretches = end_to_end([one.stretches for one in opened])
    before = np.cumsum([0, *(one.sizes.size for one in opened)])[:-1]
    first = np.repeat(before, [len(one.stretches) for one in opened])
    return after, replace(stretches, at=at[first + stretches.at])


def _events(below: Carried, stream: int, side: Side) -> list[Event]:
    """What a side said beside its payload."""
    if not side.events:
        return []
    begins, ends, kinds, octets, details = zip(*side.events, strict=True)
    rows, _ = _lookup(below, stream, side.side, np.array(begins), np.array(ends))
    return [
        Event(stream, side.side, row, kind, begin, count, detail)
        for row, kind, begin, count, detail in zip(rows.tolist(), kinds, begins, octets, details, strict=True)
    ]
