"""Which connections speak STOMP, and who is the client.

A connection is judged by the first octets of both sides, on any port, never by packet order. On the ports named, a connection that was
captured mid-stream and whose octets decide nothing counts as STOMP. The handshake shows which side is the client; without one, the
commands do; without those, the port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import stomp, tcp
from stompcap.capture.columns import NOT_KEPT
from stompcap.capture.files import Source
from stompcap.options import Options
from stompcap.stomp.peek import CLIENT, SERVER
from stompcap.stomp.peek import HTTP as SAYS_HTTP
from stompcap.stomp.peek import OTHER as SAYS_OTHER
from stompcap.stomp.peek import TLS as SAYS_TLS
from stompcap.stomp.peek import UNKNOWN as SAYS_NOTHING
from stompcap.stomp.peek import WEBSOCKET as SAYS_WEBSOCKET
from stompcap.tables.words import PROTOCOLS, TRANSPORTS
from stompcap.tcp.block import column
from stompcap.tcp.results import Extents, Reassembly

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
GLANCE = 1 << 11
DEEPER = 1 << 20
DEEPEST = 1 << 24
"""Octets of a direction that are examined: of every connection; where those decide nothing; and with `all_ports`."""
LOOKED_AT_ONCE = 1 << 26  # octets
STOMP, TLS, HTTP, OTHER = (PROTOCOLS.index(name) for name in ("stomp", "tls", "http", "other"))
PLAIN, OVER_TLS, OVER_WEBSOCKET = (TRANSPORTS.index(name) for name in ("tcp", "tls", "websocket"))
LOW, HIGH, UNKNOWN = 0, 1, -1


def first_stretches(extents: Extents, wanted: Bools, most: int) -> tuple[Extents, Ints]:
    """The first contiguous octets of the wanted sides, at most so many, and which side (2 * stream + side) each extent is of."""
    side = extents.stream.astype(np.int64) * 2 + extents.side
    chosen = np.flatnonzero(wanted[side])
    side, offset, length = side[chosen], extents.offset[chosen], extents.length[chosen]
    first = np.ones(side.size, bool)
    first[1:] = side[1:] != side[:-1]
    broken = np.zeros(side.size, bool)
    broken[1:] = ~first[1:] & (offset[1:] != offset[:-1] + length[:-1])
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    gaps = np.cumsum(broken)
    behind_gap = gaps - gaps[starts][group] > 0 if starts.size else broken
    into = offset - offset[starts][group] if starts.size else offset
    keep = ~behind_gap & (into < most)
    short = extents.take(chosen[keep])
    cut = np.minimum(short.length, most - into[keep])
    return Extents(short.stream, short.side, short.offset, cut, short.row, short.skip), side[keep]


def detect_protocols(
    reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], options: Options, wanted: Bools
) -> tuple[Bools, NDArray[np.int8]]:
    """Which streams' octets are kept, and the role of each side: arrays of shape (streams,) and (streams, 2).

    Only the `wanted` streams are examined; the others have no role codes. Roles that an earlier run found stand.
    """
    streams = reassembly.streams
    expected = np.isin(streams.low_port, list(options.ports)) | np.isin(streams.high_port, list(options.ports))
    said, reassembly = _found_earlier(reassembly, segments)
    _enter_roles(said, np.repeat(wanted, 2) & (said.reshape(-1) == SAYS_NOTHING), GLANCE, reassembly, segments, sources, expected)
    depth = DEEPEST if options.all_ports else DEEPER
    silent = wanted & ((said == SAYS_NOTHING) | (said == SAYS_OTHER)).all(axis=1)
    longer = np.zeros(2 * len(streams), bool)
    longer[np.flatnonzero((said.reshape(-1) == SAYS_NOTHING) & (streams.sides.octets.reshape(-1) > GLANCE))] = True
    _enter_roles(said, np.repeat(silent, 2) & longer, depth, reassembly, segments, sources, expected)
    speaks = np.isin(said, (CLIENT, SERVER)).any(axis=1)
    refuses = np.isin(said, (SAYS_TLS, SAYS_HTTP, SAYS_WEBSOCKET)).any(axis=1)
    kept = wanted & ~refuses & (speaks | (expected & (streams.sides.octets.sum(axis=1) > 0)))
    return kept, said


def _found_earlier(reassembly: Reassembly, segments: pa.Table) -> tuple[NDArray[np.int8], Reassembly]:
    """The roles that segments of earlier runs tell, and the reassembly without the octets that these runs did not keep."""
    said = np.full((len(reassembly.streams), 2), SAYS_NOTHING, np.int8)
    earlier = column(segments, "earlier")
    rows = np.flatnonzero(earlier >= NOT_KEPT)
    if not rows.size:
        return said, reassembly
    side = np.where(column(segments, "forward")[rows], LOW, HIGH)
    np.maximum.at(said, (reassembly.stream_of[rows], side), earlier[rows] - np.int8(NOT_KEPT))
    extents = reassembly.extents
    return said, replace(reassembly, extents=extents.take(earlier[extents.row] < NOT_KEPT))


def not_kept(kept: Bools, reassembly: Reassembly, segments: pa.Table) -> Ints:
    """The segments of streams to be kept whose octets an earlier run did not keep."""
    return np.flatnonzero((column(segments, "earlier") >= NOT_KEPT) & kept[reassembly.stream_of])


def _enter_roles(
    said: NDArray[np.int8], wanted: Bools, most: int, reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source],
    expected: Bools,
) -> None:
    """Enter the roles that the first `most` octets of the wanted sides show; LOOKED_AT_ONCE octets are held at a time."""
    streams = reassembly.streams
    for sides in _some(np.flatnonzero(wanted), np.minimum(streams.sides.octets.reshape(-1), most)):
        now = np.zeros(wanted.size, bool)
        now[sides] = True
        glances, side = first_stretches(reassembly.extents, now, most)
        if not len(glances):
            continue
        octets = tcp.gather(glances, segments, sources)
        starts = np.flatnonzero(np.concatenate(([True], side[1:] != side[:-1])))
        ends = np.cumsum(glances.length)
        position = (ends - glances.length)[starts]
        length = np.add.reduceat(glances.length, starts)
        of = side[starts]
        synced = streams.sides.synced.reshape(-1)[of] & (glances.offset[starts] == 0)
        said.reshape(-1)[of] = stomp.peek(octets, position, length, synced, expected[of // 2])


def _some(sides: Ints, octets: Ints) -> Iterator[Ints]:
    """Sides in groups of a bounded number of octets, of one side at least."""
    group = np.cumsum(octets[sides]) // LOOKED_AT_ONCE
    yield from np.split(sides, np.flatnonzero(np.diff(group)) + 1)


def protocols(kept: Bools, said: NDArray[np.int8]) -> NDArray[np.int8]:
    """The protocol of each stream by its first octets: STOMP if a side shows it; other streams that are kept are judged by their frames."""
    speaks = kept & np.isin(said, (CLIENT, SERVER)).any(axis=1)
    choices = [speaks, (said == SAYS_TLS).any(axis=1), np.isin(said, (SAYS_HTTP, SAYS_WEBSOCKET)).any(axis=1)]
    return np.select(choices, [STOMP, TLS, HTTP], default=OTHER).astype(np.int8)


def transports(said: NDArray[np.int8]) -> NDArray[np.int8]:
    """What carries each stream, by its first octets."""
    choices = [(said == SAYS_TLS).any(axis=1), (said == SAYS_WEBSOCKET).any(axis=1)]
    return np.select(choices, [OVER_TLS, OVER_WEBSOCKET], default=PLAIN).astype(np.int8)


def clients(reassembly: Reassembly, spoken: NDArray[np.int8], options: Options) -> NDArray[np.int8]:
    """The client's side of each stream: by the handshake, by `spoken` (the side that sent client commands, or -1), by the port."""
    streams = reassembly.streams
    ports = list(options.ports)
    low_serves, high_serves = np.isin(streams.low_port, ports), np.isin(streams.high_port, ports)
    by_port = np.select([high_serves & ~low_serves, low_serves & ~high_serves], [LOW, HIGH], default=UNKNOWN)
    # two unknown ports: servers listen on the smaller one
    by_size = np.where(streams.low_port > streams.high_port, LOW, HIGH)
    choices = [streams.initiator >= 0, spoken >= 0, by_port >= 0]
    return np.select(choices, [streams.initiator, spoken, by_port], default=by_size).astype(np.int8)


def spoken_by(said: NDArray[np.int8]) -> NDArray[np.int8]:
    """The side that the first octets show to be the client: it sends a client's command, or its peer a server's; -1 if neither."""
    client, server = said == CLIENT, said == SERVER
    low = client[:, LOW] | server[:, HIGH]
    high = client[:, HIGH] | server[:, LOW]
    return np.select([low & ~high, high & ~low], [LOW, HIGH], default=UNKNOWN).astype(np.int8)
