"""Which connections may speak STOMP, and who is the client.

A connection is looked at if its port is known or every port is asked for, and judged by the first octets of both sides: never by
packet order. The handshake tells the client; without one, the commands do; without those, the port.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap import stomp, tcp
from stompcap.capture.files import Source
from stompcap.options import Options
from stompcap.stomp.peek import CLIENT, SERVER
from stompcap.stomp.peek import HTTP as SAYS_HTTP
from stompcap.stomp.peek import TLS as SAYS_TLS
from stompcap.stomp.peek import UNKNOWN as SAYS_NOTHING
from stompcap.tables.words import PROTOCOLS
from stompcap.tcp.results import Extents, Reassembly

Ints = NDArray[np.int64]
GLANCE = 2048  # octets of a direction that are looked at
STOMP, TLS, HTTP, OTHER = (PROTOCOLS.index(name) for name in ("stomp", "tls", "http", "other"))
LOW, HIGH, UNKNOWN = 0, 1, -1


def first_stretches(extents: Extents, wanted: NDArray[np.bool_]) -> tuple[Extents, Ints]:
    """The first contiguous octets of each side of the wanted streams, at most GLANCE, and which side (2 * stream + side) each is of."""
    side = extents.stream.astype(np.int64) * 2 + extents.side
    chosen = np.flatnonzero(wanted[extents.stream])
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
    keep = ~behind_gap & (into < GLANCE)
    short = extents.take(chosen[keep])
    cut = np.minimum(short.length, GLANCE - into[keep])
    return Extents(short.stream, short.side, short.offset, cut, short.row, short.skip), side[keep]


def look(
    reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], options: Options
) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Whose octets are kept, and what both sides say: (streams,) and role codes of shape (streams, 2)."""
    streams = reassembly.streams
    count = len(streams)
    known = np.isin(streams.low_port, list(options.ports)) | np.isin(streams.high_port, list(options.ports))
    candidate = np.ones(count, bool) if options.all_ports else known
    said = np.full((count, 2), SAYS_NOTHING, np.int8)
    glances, side = first_stretches(reassembly.extents, candidate)
    if len(glances):
        octets = tcp.gather(glances, segments, sources)
        starts = np.flatnonzero(np.concatenate(([True], side[1:] != side[:-1])))
        ends = np.cumsum(glances.length)
        position = (ends - glances.length)[starts]
        length = np.add.reduceat(glances.length, starts)
        synced = streams.sides.synced.reshape(-1)[side[starts]] & (glances.offset[starts] == 0)
        said.reshape(-1)[side[starts]] = stomp.peek(octets, position, length, synced)
    speaks = np.isin(said, (CLIENT, SERVER)).any(axis=1)
    refuses = np.isin(said, (SAYS_TLS, SAYS_HTTP)).any(axis=1)
    kept = candidate & ~refuses & (speaks | (known & (streams.sides.octets.sum(axis=1) > 0)))
    return kept, said


def protocols(kept: NDArray[np.bool_], said: NDArray[np.int8]) -> NDArray[np.int8]:
    """The protocol of each stream by its first octets: STOMP if a side says so; what is kept besides is judged by its frames."""
    speaks = kept & np.isin(said, (CLIENT, SERVER)).any(axis=1)
    choices = [speaks, (said == SAYS_TLS).any(axis=1), (said == SAYS_HTTP).any(axis=1)]
    return np.select(choices, [STOMP, TLS, HTTP], default=OTHER).astype(np.int8)


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
