"""The layers that may lie between TCP and STOMP, each a machine without input or output, and how streams are read through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from stompcap.capture.segment_columns import NOT_KEPT
from stompcap.codes import NOBODY, PROTOCOL_OTHER
from stompcap.columns import I64, Bools, Octets, column
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.events import of_layer
from stompcap.transport.http2 import Http2
from stompcap.transport.proxy import Proxy
from stompcap.transport.sockjs import SockJs
from stompcap.transport.sockjs_http import SockJsHttp
from stompcap.transport.state import Arrays, LayerState, Stack
from stompcap.transport.summary import Summary
from stompcap.transport.tls import Tls
from stompcap.transport.websocket import WebSocket


class Layer(Protocol):
    """One kind of layer."""

    @property
    def kind(self) -> str:
        """Its name, also in saved states."""

    @property
    def keeps(self) -> tuple[str, ...]:
        """The names of the arrays that it keeps of a connection; those of saved states are declared by them."""

    @property
    def protocol(self) -> int:
        """The code of the protocol (stompcap.tables.words.PROTOCOLS) of a connection that shows none through this layer."""

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether its first octets are those of this layer."""

    def transport(self, below: int) -> int:
        """The code of what carries STOMP (stompcap.tables.words.TRANSPORTS) where this layer lies on one that has the code `below`."""

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """What it gives where these streams go through it; all others stay as they are.

        `before` is what it has kept of each, None where it begins; and so is the second result. Of what came before, only octets that
        are new are given again.
        """

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """What it comes to, by what it has kept of a connection: one row of table transports, or several, the outermost first."""

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """What it has kept, as it may be stored: without these secrets, which the connection gave."""


LAYERS: tuple[Layer, ...] = (Proxy(), Tls(), WebSocket(), Http2(), SockJsHttp(), SockJs())
"""All kinds, those first that lie around others; one that is added goes here. Plain TCP is none: it gives what reassembly has."""

MOST_LAYERS = 8
"""Layers of a connection: what lies deeper is not looked at."""


def of_kind(kind: str) -> Layer:
    """The layer of this kind."""
    return next(layer for layer in LAYERS if layer.kind == kind)


def transport_of(stack: Stack, code: int) -> int:
    """What carries STOMP through these layers, where `code` is what lies below them."""
    for one in stack:
        code = of_kind(one.kind).transport(code)
    return code


def protocol_of(stack: Stack) -> int:
    """The protocol of a connection with these layers through which none was seen: the innermost one that is a protocol itself."""
    found = (of_kind(one.kind).protocol for one in reversed(stack))
    return next((code for code in found if code != PROTOCOL_OTHER), PROTOCOL_OTHER)


def summaries_of(stack: Stack) -> tuple[Summary, ...]:
    """What the layers of a connection come to, the outermost first."""
    for one in stack:
        if not one.summed:
            one.summed.append(of_kind(one.kind).summaries(one.kept))
    return tuple(summary for one in stack for summary in one.summed[0])


def client_of(stack: Stack) -> int:
    """The side that the layers of a connection show to be the client, NOBODY where none does."""
    return next((one.client for one in summaries_of(stack) if one.client != NOBODY), NOBODY)


def unread(stack: Stack) -> bool:
    """Whether nothing will be read through the layers of a connection, whatever comes."""
    return any(one.status not in ("read", "partly") for one in summaries_of(stack))


def masked(stack: Stack, secrets: frozenset[bytes]) -> Stack:
    """The layers of a connection as they may be stored."""
    return tuple(LayerState(one.kind, of_kind(one.kind).masked(one.kept, secrets)) for one in stack)


def opened(carried: Carried, streams: I64, layer: Layer, stacks: dict[int, Stack]) -> Carried:
    """What a layer gives of streams that begin with it; it is put on their stacks."""
    found, kept = _read(layer, carried, dict.fromkeys(streams.tolist()), stacks)
    for stream, one in zip(streams.tolist(), kept, strict=True):
        stacks[stream] = (*stacks.get(stream, ()), LayerState(layer.kind, one))
    return found


def read_on(carried: Carried, stacks: Mapping[int, Stack]) -> tuple[Carried, dict[int, Stack]]:
    """What the layers of streams give of more octets, and what they keep behind them; the streams of `stacks` are read through these."""
    after: dict[int, Stack] = dict.fromkeys(stacks, ())
    for depth in range(max(map(len, stacks.values()), default=0)):
        at_depth = {stream: stack[depth] for stream, stack in stacks.items() if len(stack) > depth}
        for layer in LAYERS:
            mine = {stream: one.kept for stream, one in at_depth.items() if one.kind == layer.kind}
            if mine:
                carried, kept = _read(layer, carried, mine, after)
                for stream, one in zip(mine, kept, strict=True):
                    after[stream] = (*after[stream], LayerState(layer.kind, one))
    return carried, after


def _read(
    layer: Layer, carried: Carried, before: Mapping[int, Arrays | None], below: Mapping[int, Stack]
) -> tuple[Carried, Sequence[Arrays]]:
    """What a layer gives of streams that have these layers below it; what it says is marked as said there."""
    streams = np.array(list(before), np.int64)
    found, kept = layer.read(_there(carried, streams), streams, list(before.values()))
    said = len(carried.events)
    if len(found.events) > said:
        depth = {stream: 1 + len(summaries_of(below.get(stream, ()))) for stream in before}
        found = replace(found, events=(*carried.events, *of_layer(found.events[said:], depth)))
    return found, kept


def _there(carried: Carried, streams: I64) -> Carried:
    """The same without octets of these streams that earlier runs did not keep: there is nothing that a layer could read."""
    found = carried.stretches
    nowhere = carried.segments.column("payload").is_null().to_numpy() & (column(carried.segments, "file_offset") == -1)
    nowhere |= column(carried.segments, "earlier") >= NOT_KEPT
    lost = nowhere[found.at] & np.isin(found.stream, streams)
    return replace(carried, stretches=found.take(~lost)) if lost.any() else carried
