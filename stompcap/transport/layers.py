"""The layers that may lie between TCP and STOMP, each a machine without input or output, and how streams are read through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.proxy import Proxy
from stompcap.transport.state import Arrays, LayerState, Stack


class Layer(Protocol):
    """One kind of layer."""

    @property
    def kind(self) -> str:
        """Its name, also in saved states."""

    @property
    def keeps(self) -> tuple[str, ...]:
        """The names of the arrays that it keeps of a connection; those of saved states are declared by them."""

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether its first octets are those of this layer."""

    def transport(self, below: int) -> int:
        """The code of what carries STOMP (stompcap.tables.words.TRANSPORTS) where this layer lies on one that has the code `below`."""

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """What it gives where these streams go through it; all others stay as they are.

        `before` is what it has kept of each, None where it begins; and so is the second result. Of what came before, only octets that
        are new are given again.
        """


LAYERS: tuple[Layer, ...] = (Proxy(),)
"""All kinds, those first that lie around others; one that is added goes here. Plain TCP is none: it gives what reassembly has."""

MOST_LAYERS = 8
"""Layers of a connection: what lies deeper is not looked at."""


def transport_of(stack: Stack, code: int) -> int:
    """What carries STOMP through these layers, where `code` is what lies below them."""
    for one in stack:
        code = next(layer.transport(code) for layer in LAYERS if layer.kind == one.kind)
    return code


def opened(carried: Carried, streams: I64, layer: Layer, stacks: dict[int, Stack]) -> Carried:
    """What a layer gives of streams that begin with it; it is put on their stacks."""
    found, kept = layer.read(carried, streams, [None] * len(streams))
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
                carried, kept = layer.read(carried, np.array(list(mine)), list(mine.values()))
                for stream, one in zip(mine, kept, strict=True):
                    after[stream] = (*after[stream], LayerState(layer.kind, one))
    return carried, after
