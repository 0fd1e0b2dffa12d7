"""Connections forgotten in lakes that older versions made: the command ends as in any other, and leaves nothing of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.forgetting.criteria import Criteria
from stompcap.lake import maintenance
from stompcap.tables import TABLES
from tests.examples import combined
from tests.lakes.make import OLDER
from tests.lakes.older import rows_of, unpacked
from tests.lakes.wire import PASSCODES
from tests.pipelines.forgetting.forgotten_lakes import forgotten, holding, no_spark


@pytest.mark.slow
@pytest.mark.parametrize(("commit", "login"), combined([*OLDER], ["small", "busy"]))
def test_what_is_forgotten_leaves_no_octets(commit: str, login: str, tmp_path: Path) -> None:
    other = "busy" if login == "small" else "small"
    lake = unpacked(commit, tmp_path)
    assert forgotten(lake, Criteria(login=login)).connections == 1
    for name in TABLES:
        maintenance.maintain(no_spark, str(lake), name, 0)
    assert holding(lake, f"/queue/{login}") == []
    assert [row["login"] for row in rows_of(lake, "sessions")] == [other]
    assert holding(lake, f"/queue/{other}") != []


@pytest.mark.parametrize("commit", OLDER)
def test_no_older_lake_has_a_passcode(commit: str, tmp_path: Path) -> None:
    assert holding(unpacked(commit, tmp_path), *(secret.decode() for secret in PASSCODES.values())) == []
