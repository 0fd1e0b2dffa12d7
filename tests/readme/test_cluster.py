"""README's recipe for a cluster, followed on a standalone one: the tables are those of a run on one machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stompcap.spark import jars
from tests.readme.cluster import STARTED_OFTEN, Cluster
from tests.readme.lakes import differing
from tests.readme.printed import ROOT, follow, made_by_ci, section

TITLE = "On a cluster"


def test_the_recipe_names_the_jars_that_fit() -> None:
    assert f"--packages {jars.coordinates()} " in section(TITLE).text


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
def test_the_recipe_gives_the_tables_of_a_local_run(used: Path, cluster: Cluster, tmp_path: Path) -> None:
    if not (ROOT / "dist" / "stompcap-env.tar.gz").exists():
        needs = "needs dist/: make dist"
        pytest.fail(needs) if os.environ.get("CI") else pytest.skip(needs)
    commands = section(TITLE).commands()
    made = {command for command in commands if command.startswith("make ")}
    assert made <= made_by_ci()
    given = {"MASTER": cluster.master, "CAPTURES": str(used / "captures"), "LAKE": str(tmp_path / "lake"), **STARTED_OFTEN}
    follow([command for command in commands if command not in made], ROOT, given, 900)
    assert differing(tmp_path / "lake", used / "lake") == []
    assert all(list(worker.glob("app-*/*/environment")) for worker in cluster.workers), "a worker took no part"
    assert not list(cluster.cache.rglob("kernels-*")), "a worker compiled kernels"
