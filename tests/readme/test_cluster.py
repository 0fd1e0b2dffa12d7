"""The recipe for a cluster, followed on a standalone one: the tables are those of a run on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.generate import generate
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import location
from stompcap.spark import jars
from stompcap.tables import TABLES
from tests.readme.cluster import STARTED_OFTEN, Cluster, standalone
from tests.readme.lakes import differing
from tests.readme.printed import DOCS, ROOT, follow, made_by_ci, section
from tests.shared import missing

RECIPE = section("Submit a run", DOCS / "cluster.md")
MEGABYTES = 12
"""Enough that both workers write for some tenths of a second."""


def test_the_recipe_names_the_jars_that_fit() -> None:
    assert f"--packages {jars.coordinates()} " in RECIPE.text


def follow_recipe(cluster: Cluster, captures: Path, lake: Path) -> None:
    if not (ROOT / "dist" / "stompcap-env.tar.gz").exists():
        missing("dist/: make dist")
    commands = RECIPE.commands()
    made = {command for command in commands if command.startswith("make ")}
    assert made <= made_by_ci()
    given = {"MASTER": cluster.master, "CAPTURES": str(captures), "LAKE": str(lake), **STARTED_OFTEN}
    follow([command for command in commands if command not in made], ROOT, given, 900)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
def test_the_recipe_gives_the_tables_of_a_local_run(used: Path, cluster: Cluster, tmp_path: Path) -> None:
    follow_recipe(cluster, used / "captures", tmp_path / "lake")
    assert differing(tmp_path / "lake", used / "lake") == []
    assert all(list(worker.glob("app-*/*/environment")) for worker in cluster.workers), "a worker took no part"
    assert not list(cluster.cache.rglob("kernels-*")), "a worker compiled kernels"


def unnamed(lake: Path) -> set[Path]:
    """Data files that no commit names."""
    named = {Path(uri) for table in TABLES for uri in data_files.uris(open_tables.at(location(str(lake), table)))}
    return set(lake.glob("*/*.parquet")) - named


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
def test_a_worker_that_is_killed_while_it_writes_costs_no_row(tmp_path: Path) -> None:
    """Its tasks are done again; what they had written is named by no commit, until maintain removes it."""
    captures, lake, local = (tmp_path / name for name in ("captures", "lake", "local"))
    captures.mkdir()
    generate(captures / "made.pcap", MEGABYTES)
    with standalone(tmp_path) as cluster, ThreadPoolExecutor(1) as pool:
        run = pool.submit(follow_recipe, cluster, captures, lake)
        lost: set[Path] = set()
        while not run.done() and not lost:
            for worker in (0, 1) if any((lake / "raw_frames").glob("*.parquet")) else ():  # who has it open costs more to ask
                if lost := cluster.writes(worker, lake / "raw_frames"):
                    cluster.kill(worker)
                    break
            time.sleep(0.005)
        run.result()
    assert lost, "no worker was seen to write"
    assert all(list(worker.glob("app-*/*/environment")) for worker in cluster.workers), "a worker took no part"
    subprocess.run(
        [sys.executable, "-m", "stompcap", "run", str(captures), "--lake", str(local), "--quiet"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=300,
    )  # fmt: skip
    assert differing(lake, local) == []
    assert lost <= unnamed(lake)
    subprocess.run(
        [sys.executable, "-m", "stompcap", "maintain", "--lake", str(lake), "--retain-hours", "0", "--quiet"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=300,
    )  # fmt: skip
    assert unnamed(lake) == set()
    assert not lost & set(lake.rglob("*.parquet"))
