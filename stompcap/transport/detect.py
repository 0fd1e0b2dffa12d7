"""Which connections speak STOMP, and through which layers: their octets are kept, and those of no others.

A connection is judged by the first octets of both sides, never by packet order. Where they are those of a layer that can be read, it is
judged by what that layer gives. It speaks STOMP if a command's line is where a frame begins, or on a port where STOMP is not expected a
whole frame is found, and if neither side begins as another protocol. EOLs and nothing else are believed to be heart-beats on a server's
port where STOMP is expected. All others are listed, and what they say is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import codes, stomp
from stompcap.capture.segment_columns import NOT_KEPT
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
from stompcap.tcp.results import Reassembly
from stompcap.transport import layers, proxy
from stompcap.transport.carried import Carried
from stompcap.transport.client_side import stomp_expected
from stompcap.transport.octets import runs
from stompcap.transport.state import NO_STACKS, Stack
from stompcap.transport.stretches import Stretches

GLANCE = 1 << 11
DEEPER = 1 << 20
DEEPEST = 1 << 24
"""Octets of a direction that are examined: of every connection; where those decide nothing; and with `all_ports`."""
LOOKED_AT_ONCE = 1 << 26  # octets
NO_LAYER = np.int64(1 << 32)
PROXY = next(number for number, layer in enumerate(layers.LAYERS) if layer.kind == proxy.KIND)
PROTOCOL_OF = np.full(len(ROLES), PROTOCOL_OTHER, np.int8)
PROTOCOL_OF[[codes.ROLE_TLS, codes.ROLE_TLS_CLIENT, codes.ROLE_TLS_SERVER]] = PROTOCOL_TLS
PROTOCOL_OF[[codes.ROLE_HTTP, codes.ROLE_HTTP_SERVER, codes.ROLE_WEBSOCKET, codes.ROLE_WEBSOCKET_SERVER]] = PROTOCOL_HTTP
PROTOCOL_OF[[codes.ROLE_AMQP, codes.ROLE_MQTT]] = PROTOCOL_AMQP, PROTOCOL_MQTT
PROTOCOL_OF[[codes.ROLE_OPENWIRE, codes.ROLE_CORE]] = PROTOCOL_OPENWIRE, PROTOCOL_CORE


@dataclass(frozen=True)
class Detected:
    """What was found of streams.

    carried    what the innermost of their layers gives
    is_stomp   whether they speak STOMP
    roles      of each side, of shape (streams, 2): what its first octets show it to be
    undecided  whether more octets may change that; such a stream speaks no STOMP, but for one of EOLs alone
    stacks     the layers of those that have some
    unopened   whether they begin with a layer that was not opened, as they are read elsewhere
    """

    carried: Carried
    is_stomp: Bools
    roles: I8
    undecided: Bools
    stacks: dict[int, Stack]
    unopened: Bools


def first_stretches(stretches: Stretches, wanted: Bools, most: int) -> tuple[Stretches, I64]:
    """The first octets of the wanted sides, up to so many behind the first, and which side (2 * stream + side) each stretch is of."""
    side = stretches.direction
    rows = np.flatnonzero(wanted[side])
    side, offset = side[rows], stretches.offset[rows]
    first = np.ones(side.size, bool)
    first[1:] = side[1:] != side[:-1]
    into = offset - offset[first][np.cumsum(first) - 1]
    near = into < most
    short = stretches.take(rows[near])
    return replace(short, length=np.minimum(short.length, most - into[near])), side[near]


def detect(
    reassembly: Reassembly, carried: Carried, options: Options, wanted: Bools | None = None, known: Mapping[int, Stack] = NO_STACKS,
    elsewhere: Bools | None = None,
) -> Detected:
    """Which streams speak STOMP, and the role of each side. Only the `wanted` streams are examined. Roles found earlier stand.

    `known` are the layers of streams that were found earlier, and that `carried` was read through. No layer but PROXY
    is opened of streams that are read `elsewhere`: what is behind it is not known then, and such a stream speaks no STOMP.
    """
    if wanted is None:
        wanted = np.ones(len(carried), np.bool_)
    if elsewhere is None:
        elsewhere = np.zeros(len(carried), np.bool_)
    unopened = np.zeros(len(carried), np.bool_)
    expected = stomp_expected(reassembly.streams, options)
    carried = replace(carried, expected=expected)
    depth = DEEPEST if options.all_ports else DEEPER
    roles, unseen, looked_at = _found_earlier(reassembly, carried)
    stacks = dict(known)
    examined = wanted
    for _ in range(layers.MOST_LAYERS):
        layer = _examine(roles, examined, depth, looked_at, expected)
        left = elsewhere & (layer != NO_LAYER) & (layer != PROXY)
        unopened |= left
        examined = (layer != NO_LAYER) & ~left
        if not examined.any():
            break
        for number in np.unique(layer[examined]).tolist():
            carried = layers.opened(carried, np.flatnonzero(layer == number), layers.LAYERS[number], stacks)
        roles[examined] = codes.ROLE_UNKNOWN
        looked_at = carried
    speaks = np.isin(roles, (codes.ROLE_CLIENT, codes.ROLE_SERVER)).any(axis=1)
    refuses = (PROTOCOL_OF[roles] != PROTOCOL_OTHER).any(axis=1)
    beats = expected & ~unseen & ((roles == codes.ROLE_EOLS) | (carried.octets == 0)).all(axis=1) & (roles == codes.ROLE_EOLS).any(axis=1)
    over = (roles == codes.ROLE_OTHER).all(axis=1) | (carried.octets > depth).any(axis=1)
    over[[stream for stream, stack in stacks.items() if layers.unread(stack)]] = True
    speaks, undecided = wanted & ~refuses & ~unopened & (speaks | beats), wanted & ~refuses & ~speaks & ~over
    return Detected(carried, speaks, roles, undecided, stacks, unopened)


def _examine(roles: I8, wanted: Bools, depth: int, carried: Carried, expected: Bools) -> I64:
    """Enter the roles that the first octets of the wanted streams show; gives the layer that each begins with, by number, or NO_LAYER.

    Where one side has the layer below already, as behind a header that only the client sends, it is the first that either shows.
    """
    layer_of = np.full(roles.size, NO_LAYER)
    _enter_roles(roles, layer_of, np.repeat(wanted, 2) & (roles.reshape(-1) == codes.ROLE_UNKNOWN), GLANCE, carried, expected)
    open_still = (roles == codes.ROLE_UNKNOWN) | (roles == codes.ROLE_EOLS)
    silent = wanted & (open_still | (roles == codes.ROLE_OTHER)).all(axis=1)
    longer = silent[:, None] & open_still & (carried.octets > GLANCE)
    _enter_roles(roles, layer_of, longer.reshape(-1), depth, carried, expected)
    found: I64 = layer_of.reshape(-1, 2).min(axis=1)
    return found


def _found_earlier(reassembly: Reassembly, carried: Carried) -> tuple[I8, Bools, Carried]:
    """The roles that segments of earlier runs tell; which streams have octets that these did not keep; all without these octets."""
    roles, unseen = np.full((len(carried), 2), codes.ROLE_UNKNOWN, np.int8), np.zeros(len(carried), np.bool_)
    earlier, stretches = column(carried.segments, "earlier"), carried.stretches
    rows = np.flatnonzero((earlier >= NOT_KEPT) & (earlier != NOT_KEPT + codes.ROLE_EOLS))
    if not rows.size:
        return roles, unseen, carried
    side = np.where(column(carried.segments, "forward")[rows], 0, 1)
    np.maximum.at(roles, (reassembly.stream_of[rows], side), earlier[rows] - np.int8(NOT_KEPT))
    lost = earlier[stretches.at] >= NOT_KEPT
    unseen[stretches.stream[lost]] = True
    return roles, unseen, replace(carried, stretches=stretches.take(~lost))


def not_kept(is_stomp: Bools, reassembly: Reassembly, segments: pa.Table) -> I64:
    """The segments of streams that speak STOMP whose octets an earlier run did not keep."""
    left_out = (column(segments, "earlier") >= NOT_KEPT) & (column(segments, "captured_octets") > 0)
    return np.flatnonzero(left_out & is_stomp[reassembly.stream_of])


def _enter_roles(roles: I8, layer_of: I64, wanted: Bools, most: int, carried: Carried, expected: Bools) -> None:
    """Enter the roles and the layers that the first `most` octets of the wanted sides show; LOOKED_AT_ONCE octets are held at a time."""
    for sides in _some(np.flatnonzero(wanted), np.minimum(carried.octets.reshape(-1), most)):
        now = np.zeros(wanted.size, bool)
        now[sides] = True
        glances, side = first_stretches(carried.stretches, now, most)
        if not len(glances):
            continue
        octets = carried.read(glances)
        number, direction = np.unique(side, return_inverse=True)
        synced, ended = carried.synced.reshape(-1)[number], np.zeros(number.size, np.bool_)
        glanced = runs(direction, glances.offset, glances.length, glances.unsure, synced, ended, np.full(number.size, -1))
        of = glanced.direction.astype(np.int64)
        begins = synced[of] & (glanced.offset == 0)
        roles.reshape(-1)[number] = stomp.peek(octets, glanced.position, glanced.length, begins, expected[number[of] // 2], of)
        for at, layer in reversed(list(enumerate(layers.LAYERS))):
            layer_of[number[layer.begins(octets, glanced)]] = at


def _some(sides: I64, octets: I64) -> Iterator[I64]:
    """Sides in groups of a bounded number of octets, of one side at least."""
    group = np.cumsum(octets[sides]) // LOOKED_AT_ONCE
    yield from np.split(sides, np.flatnonzero(np.diff(group)) + 1)


def protocols(found: Detected) -> I8:
    """The protocol of each stream by its first octets: STOMP if a side shows it; others that speak it are judged by their frames."""
    speaks = found.is_stomp & np.isin(found.roles, (codes.ROLE_CLIENT, codes.ROLE_SERVER)).any(axis=1)
    low, high = PROTOCOL_OF[found.roles].T
    code: I8 = np.select([speaks, low != PROTOCOL_OTHER], [np.int8(PROTOCOL_STOMP), low], default=high)
    for stream, stack in found.stacks.items():
        if code[stream] == PROTOCOL_OTHER:
            code[stream] = layers.protocol_of(stack)
    return code


def transports(found: Detected) -> I8:
    """What carries each stream: by its layers, of others by their first octets."""
    tls = (PROTOCOL_OF[found.roles] == PROTOCOL_TLS).any(axis=1)
    websocket = np.isin(found.roles, (codes.ROLE_WEBSOCKET, codes.ROLE_WEBSOCKET_SERVER)).any(axis=1)
    code = np.select([tls, websocket], [TRANSPORT_TLS, TRANSPORT_WEBSOCKET], default=TRANSPORT_TCP).astype(np.int8)
    for stream, stack in found.stacks.items():
        code[stream] = layers.transport_of(stack, TRANSPORT_TCP)
    return code
