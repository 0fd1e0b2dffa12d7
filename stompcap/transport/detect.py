"""Which connections speak STOMP: their octets are kept, and those of no others.

A connection is judged by the first octets of both sides, never by packet order. It speaks STOMP if a command's line is where a frame
begins, or on a port where STOMP is not expected a whole frame is found, and if neither side begins as another protocol. EOLs and nothing
else are believed to be heart-beats on a server's port where STOMP is expected. All others are listed, and what they say is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import codes, stomp, tcp
from stompcap.capture.columns import NOT_KEPT
from stompcap.capture.files import Source
from stompcap.codes import (
    PROTOCOL_AMQP,
    PROTOCOL_CORE,
    PROTOCOL_HTTP,
    PROTOCOL_MQTT,
    PROTOCOL_OPENWIRE,
    PROTOCOL_OTHER,
    PROTOCOL_STOMP,
    PROTOCOL_TLS,
    TRANSPORT_TCP,
    TRANSPORT_TLS,
    TRANSPORT_WEBSOCKET,
)
from stompcap.columns import I8, I64, Bools, column
from stompcap.options import Options
from stompcap.tables.words import ROLES
from stompcap.tcp.results import Extents, Reassembly
from stompcap.transport.client_side import stomp_expected

GLANCE = 1 << 11
DEEPER = 1 << 20
DEEPEST = 1 << 24
"""Octets of a direction that are examined: of every connection; where those decide nothing; and with `all_ports`."""
LOOKED_AT_ONCE = 1 << 26  # octets
PROTOCOL_OF = np.full(len(ROLES), PROTOCOL_OTHER, np.int8)
PROTOCOL_OF[[codes.ROLE_TLS, codes.ROLE_TLS_CLIENT, codes.ROLE_TLS_SERVER]] = PROTOCOL_TLS
PROTOCOL_OF[[codes.ROLE_HTTP, codes.ROLE_HTTP_SERVER, codes.ROLE_WEBSOCKET, codes.ROLE_WEBSOCKET_SERVER]] = PROTOCOL_HTTP
PROTOCOL_OF[[codes.ROLE_AMQP, codes.ROLE_MQTT]] = PROTOCOL_AMQP, PROTOCOL_MQTT
PROTOCOL_OF[[codes.ROLE_OPENWIRE, codes.ROLE_CORE]] = PROTOCOL_OPENWIRE, PROTOCOL_CORE


@dataclass(frozen=True)
class Detected:
    """What was found of streams: whether octets are kept, the role of each side of shape (streams, 2), and whether more may change that.

    A stream that is undecided is not kept, but for one of EOLs alone.
    """

    kept: Bools
    roles: I8
    undecided: Bools


def first_stretches(extents: Extents, wanted: Bools, most: int) -> tuple[Extents, I64]:
    """The first octets of the wanted sides, up to so many behind the first, and which side (2 * stream + side) each extent is of."""
    side = extents.stream.astype(np.int64) * 2 + extents.side
    chosen = np.flatnonzero(wanted[side])
    side, offset = side[chosen], extents.offset[chosen]
    first = np.ones(side.size, bool)
    first[1:] = side[1:] != side[:-1]
    into = offset - offset[first][np.cumsum(first) - 1]
    keep = into < most
    short = extents.take(chosen[keep])
    return replace(short, length=np.minimum(short.length, most - into[keep])), side[keep]


def detect(
    reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], options: Options, wanted: Bools | None = None
) -> Detected:
    """Which streams' octets are kept, and the role of each side. Only the `wanted` streams are examined. Roles found earlier stand."""
    streams = reassembly.streams
    if wanted is None:
        wanted = np.ones(len(streams), np.bool_)
    expected = stomp_expected(streams, options)
    said, unseen, reassembly = _found_earlier(reassembly, segments)
    octets = streams.sides.octets
    _enter_roles(said, np.repeat(wanted, 2) & (said.reshape(-1) == codes.ROLE_UNKNOWN), GLANCE, reassembly, segments, sources, expected)
    depth = DEEPEST if options.all_ports else DEEPER
    open_still = (said == codes.ROLE_UNKNOWN) | (said == codes.ROLE_EOLS)
    silent = wanted & (open_still | (said == codes.ROLE_OTHER)).all(axis=1)
    longer = silent[:, None] & open_still & (octets > GLANCE)
    _enter_roles(said, longer.reshape(-1), depth, reassembly, segments, sources, expected)
    speaks = np.isin(said, (codes.ROLE_CLIENT, codes.ROLE_SERVER)).any(axis=1)
    refuses = (PROTOCOL_OF[said] != PROTOCOL_OTHER).any(axis=1)
    beats = expected & ~unseen & ((said == codes.ROLE_EOLS) | (octets == 0)).all(axis=1) & (said == codes.ROLE_EOLS).any(axis=1)
    over = (said == codes.ROLE_OTHER).all(axis=1) | (octets > depth).any(axis=1)
    return Detected(wanted & ~refuses & (speaks | beats), said, wanted & ~refuses & ~speaks & ~over)


def _found_earlier(reassembly: Reassembly, segments: pa.Table) -> tuple[I8, Bools, Reassembly]:
    """The roles that segments of earlier runs tell; which streams have octets that these did not keep; all without these octets."""
    said, unseen = np.full((len(reassembly.streams), 2), codes.ROLE_UNKNOWN, np.int8), np.zeros(len(reassembly.streams), np.bool_)
    earlier, extents = column(segments, "earlier"), reassembly.extents
    rows = np.flatnonzero((earlier >= NOT_KEPT) & (earlier != NOT_KEPT + codes.ROLE_EOLS))
    if not rows.size:
        return said, unseen, reassembly
    side = np.where(column(segments, "forward")[rows], 0, 1)
    np.maximum.at(said, (reassembly.stream_of[rows], side), earlier[rows] - np.int8(NOT_KEPT))
    lost = earlier[extents.row] >= NOT_KEPT
    unseen[extents.stream[lost]] = True
    return said, unseen, replace(reassembly, extents=extents.take(~lost))


def not_kept(kept: Bools, reassembly: Reassembly, segments: pa.Table) -> I64:
    """The segments of streams to be kept whose octets an earlier run did not keep."""
    left_out = (column(segments, "earlier") >= NOT_KEPT) & (column(segments, "captured_octets") > 0)
    return np.flatnonzero(left_out & kept[reassembly.stream_of])


def _enter_roles(
    said: I8, wanted: Bools, most: int, reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source], expected: Bools
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
        begins = np.ones(len(glances), np.bool_)
        begins[1:] = (side[1:] != side[:-1]) | (glances.offset[1:] != glances.offset[:-1] + glances.length[:-1])
        starts = np.flatnonzero(begins)
        position = (np.cumsum(glances.length) - glances.length)[starts]
        of = side[starts]
        synced = streams.sides.synced.reshape(-1)[of] & (glances.offset[starts] == 0)
        number, direction = np.unique(of, return_inverse=True)
        lengths = np.add.reduceat(glances.length, starts)
        said.reshape(-1)[number] = stomp.peek(octets, position, lengths, synced, expected[of // 2], direction)


def _some(sides: I64, octets: I64) -> Iterator[I64]:
    """Sides in groups of a bounded number of octets, of one side at least."""
    group = np.cumsum(octets[sides]) // LOOKED_AT_ONCE
    yield from np.split(sides, np.flatnonzero(np.diff(group)) + 1)


def protocols(found: Detected) -> I8:
    """The protocol of each stream by its first octets: STOMP if a side shows it; other streams that are kept are judged by their frames."""
    speaks = found.kept & np.isin(found.roles, (codes.ROLE_CLIENT, codes.ROLE_SERVER)).any(axis=1)
    low, high = PROTOCOL_OF[found.roles].T
    return np.select([speaks, low != PROTOCOL_OTHER], [np.int8(PROTOCOL_STOMP), low], default=high)


def transports(said: I8) -> I8:
    """What carries each stream, by its first octets."""
    upgraded = np.isin(said, (codes.ROLE_WEBSOCKET, codes.ROLE_WEBSOCKET_SERVER)).any(axis=1)
    encrypted = (PROTOCOL_OF[said] == PROTOCOL_TLS).any(axis=1)
    return np.select([encrypted, upgraded], [TRANSPORT_TLS, TRANSPORT_WEBSOCKET], default=TRANSPORT_TCP).astype(np.int8)
