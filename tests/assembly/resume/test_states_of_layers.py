"""States of connections that were read through layers which another version knew otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stompcap.assembly.resume import older_states, state_layout
from stompcap.transport import layers
from stompcap.transport import state as transport_state
from stompcap.transport.state import LayerState
from tests.assembly.resume.test_state_layout import columns_of_nothing, machine, now
from tests.transport.made_up import Greeting, Records


class Counting(Greeting):
    """The layer of another version: it counts, too."""

    keeps = ("side", "count")


def layered() -> dict[str, Any]:
    """The state of a flow whose connection 3 is read through a greeting and records."""
    kept = {"side": np.array(1)}, {name: np.arange(2) for name in Records.keeps}
    stack = tuple(LayerState(one.kind, arrays) for one, arrays in zip((Greeting, Records), kept, strict=True))
    return machine(now()) | {"connections": np.array([3])} | columns_of_nothing() | transport_state.packed(stack, "3.")


def test_what_layers_keep_is_in_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for kinds in ((), (Greeting(),), (Counting(),)):
        monkeypatch.setattr(layers, "LAYERS", kinds)
        found.append(state_layout.now().digest)
    assert len(set(found)) == 3


def test_a_field_of_a_layer_is_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is made of others; what other layers keep is left alone."""
    monkeypatch.setattr(layers, "LAYERS", (Greeting(), Records()))
    state = layered()
    monkeypatch.setattr(layers, "LAYERS", (Counting(), Records()))
    monkeypatch.setattr(older_states, "BEFORE", {"layer greeting": {"count": lambda of: of["side"] + 6}})
    greeting, records = transport_state.unpacked(older_states.of_machines(state), "3.")
    assert {name: int(values) for name, values in greeting.kept.items()} == {"side": 1, "count": 7}
    assert {name: values.tolist() for name, values in records.kept.items()} == {name: [0, 1] for name in Records.keeps}


@pytest.mark.parametrize(
    ("kinds", "why"), [((Counting(), Records()), "does not have count of layer greeting"), ((Records(),), "greeting is no layer any more")]
)
def test_a_state_of_layers_that_cannot_be_read_is_not_taken_up(
    kinds: tuple[layers.Layer, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "LAYERS", (Greeting(), Records()))
    state = layered()
    monkeypatch.setattr(layers, "LAYERS", kinds)
    with pytest.raises(older_states.StateError, match=why):
        older_states.of_machines(state)
