"""Layers made up for tests are among those that stompcap knows."""

import pytest

from stompcap.transport import layers
from tests.transport import made_up


@pytest.fixture(autouse=True)
def made_up_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "LAYERS", (*layers.LAYERS, *made_up.LAYERS))
