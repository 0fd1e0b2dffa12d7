"""One lake for all that are walked through the commands."""

from __future__ import annotations

import pytest

from tests.cli.walked import Walk


@pytest.fixture(scope="session")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    return Walk(tmp_path_factory.mktemp("walk"))
