"""What goes on of the layers of a connection, from block to block and from run to run.

A layer keeps arrays by name. It keeps no secret that is not masked, and nothing that cannot be read again or reckoned from it. TCP
itself has nothing to keep, for reassembly keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
KINDS = "layers"


@dataclass(frozen=True)
class LayerState:
    """What goes on of one layer: of which kind it is, and what that keeps."""

    kind: str
    kept: Arrays
    summed: list[Sequence[Any]] = field(default_factory=list, compare=False, repr=False)
    """What it comes to, from when that was first asked for (stompcap.transport.layers.summaries_of)."""


Stack = tuple[LayerState, ...]
"""The layers of a connection, the outermost first."""

NO_STACKS: Mapping[int, Stack] = MappingProxyType({})


def packed(stack: Stack, name: str) -> dict[str, NDArray[Any]]:
    """The layers of a connection as arrays whose names begin with `name`: none where there are no layers."""
    if not stack:
        return {}
    arrays: dict[str, NDArray[Any]] = {name + KINDS: np.array([one.kind for one in stack])}
    for depth, one in enumerate(stack):
        arrays |= {f"{name}{KINDS}.{depth}.{field}": values for field, values in one.kept.items()}
    return arrays


def unpacked(found: Arrays, name: str) -> Stack:
    """The layers that `packed` has put among these arrays."""
    if name + KINDS not in found:
        return ()
    layers = []
    for depth, kind in enumerate(found[name + KINDS].tolist()):
        prefix = f"{name}{KINDS}.{depth}."
        layers.append(LayerState(kind, {key.removeprefix(prefix): found[key] for key in found if key.startswith(prefix)}))
    return tuple(layers)
