"""TLS 1.2 and 1.3 (RFC 5246, 8446): what records carry, where a key log has their keys; without keys what can be seen of them.

An octet can be read by the packet that completes its record. Only application data is given on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from stompcap.codes import HIGH, LOW, PROTOCOL_TLS, TRANSPORT_TLS
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport import tls_connection, tls_given, tls_state, tls_summary
from stompcap.transport.carried import Carried
from stompcap.transport.keys import NO_KEYS
from stompcap.transport.state import Arrays
from stompcap.transport.summary import Summary
from stompcap.transport.tls_coming import Coming
from stompcap.transport.tls_connection import Connection
from stompcap.transport.tls_hello import CLIENT_HELLO, SERVER_HELLO
from stompcap.transport.tls_records import HEAD, find_head
from stompcap.transport.tls_side import Side

KIND = "tls"
KNOWN = 2
"""Bit of a connection's `logged`: the key log has its secrets."""

UP_TO_RANDOM = 34
"""Octets of a hello up to the end of its random (RFC 8446, 4.1.2)."""


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
        connections, sides, coming = list[Connection](), list[Side](), Coming(below, streams)
        for stream, one in zip(streams.tolist(), before, strict=True):
            connection = Connection.of(one, below.keys())
            both = [Side.of(one, connection, side, synced=bool(below.synced[stream, side])) for side in (LOW, HIGH)]
            _walk(below, stream, connection, both, coming)
            connections.append(connection)
            sides += both
        packets, of = tls_given.Packets(below, streams), np.repeat(streams, 2).tolist()
        after, stretches = tls_given.opened(below, packets, of, sides)
        tls_given.note_closes(packets, of, sides)
        events = tls_given.events(packets, of, sides)
        trailing = below.octets[streams].reshape(-1) - [side.came for side in sides]
        lengths = np.array([side.offset + side.hidden for side in sides], np.int64) + np.maximum(trailing, 0)
        kept = [_kept(connection, sides[2 * n : 2 * n + 2]) for n, connection in enumerate(connections)]
        return after.telling(events).giving(streams, stretches, lengths.reshape(-1, 2), below.synced[streams]), kept

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


def _kept(connection: Connection, sides: Sequence[Side]) -> Arrays:
    """What is kept of a connection."""
    numbers, octets = zip(*(side.kept() for side in sides), strict=True)
    return {**connection.kept(), "sides": np.array(numbers), **octets[0], **octets[1]}


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


def _walk(below: Carried, stream: int, connection: Connection, sides: Sequence[Side], coming: Coming) -> None:
    """Read what came of both sides. One may wait for the other's hello; where that cannot come any more it does not."""
    if below.bounds[2 * stream] == below.bounds[2 * stream + 2]:
        return
    expected = below.expected is None or bool(below.expected[stream])
    asked = expected or connection.random is not None or connection.may_guess()
    sides[0].other, sides[1].other = sides[1], sides[0]
    pieces = [coming.of(stream, side.side, side.came, all_of_it=asked) for side in sides]
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
