"""The DAG runs every stage by spark-submit, from Airflow's own environment: on this machine, and on a cluster by the scheduler."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from stompcap.spark import jars
from tests.e2e.truth import DATA
from tests.readme.cluster import STARTED_OFTEN, Cluster, standalone
from tests.readme.lakes import differing
from tests.readme.printed import ROOT, follow, section
from tests.shared import missing

DAG = ROOT / "airflow_dags" / "stompcap_daily.py"
DATABASE = ROOT / ".venv-airflow" / "empty.db"
STAGES = ["extract", "decode", "correlate", "metrics", "validate", "report"]
COMMANDS = section("With Airflow").commands()
SERVER = COMMANDS.index("airflow standalone")
LOCALLY, BEFORE, AFTER = COMMANDS[:4], COMMANDS[1:3] + COMMANDS[4:SERVER], COMMANDS[SERVER + 1 :]
PATIENCE_S = 1200


def test_the_dag_imports_airflow_and_nothing_heavy() -> None:
    tree = ast.parse(DAG.read_text())
    imported = {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= {"__future__", "airflow", "datetime", "os", "pathlib"}


def test_every_stage_of_the_dag_has_its_job() -> None:
    assert [(ROOT / "jobs" / f"{stage}.py").is_file() for stage in STAGES] == [True] * len(STAGES)


def test_the_dag_names_the_jars_that_fit() -> None:
    assert f'"{jars.coordinates()}"' in DAG.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a capture of each broker, and the lake that `stompcap run` makes of them."""
    made = tmp_path_factory.mktemp("airflow")
    (made / "captures").mkdir()
    for path in DATA.glob("*_dialogue.pcap*"):
        shutil.copy(path, made / "captures")
    follow([f"stompcap run '{made / 'captures'}' --lake '{made / 'lake'}'"], made, {}, 300)
    return made


@pytest.fixture
def airflow(folder: Path, tmp_path: Path) -> dict[str, str]:
    """The variables of an Airflow with a home and ports of its own, without connections, and of what it is to read and make."""
    if not DATABASE.exists():
        missing(".venv-airflow: make airflow")
    (tmp_path / "home").mkdir()
    shutil.copy(DATABASE, tmp_path / "home" / "airflow.db")
    port = str(free_port())
    return {
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__CORE__PARALLELISM": "2",
        **STARTED_OFTEN,
        "CAPTURES": str(folder / "captures"),
        "LAKE": str(tmp_path / "lake"),
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.spark
def test_the_dag_makes_a_lake_and_a_report_without_any_connection(airflow: dict[str, str], folder: Path, tmp_path: Path) -> None:
    follow(LOCALLY, ROOT, airflow, PATIENCE_S)
    assert states(tmp_path / "home") == dict.fromkeys(STAGES, "success")
    assert differing(tmp_path / "lake", folder / "lake") == []
    assert (tmp_path / "lake.html").stat().st_size > 1000


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
def test_the_scheduler_runs_the_dag(airflow: dict[str, str], folder: Path, cluster: Cluster, tmp_path: Path) -> None:
    given = airflow | {"MASTER": cluster.master, "SHARED": str(tmp_path)}
    server = tmp_path / "server"
    # What is typed in the terminal goes on there: the last command is left running, the ones behind it have its variables.
    begun = [*BEFORE, f"setsid {COMMANDS[SERVER]} >{server}.log 2>&1 & echo $! >{server}.pid"]
    follow(begun, ROOT, given, PATIENCE_S)
    try:
        wait_until_healthy(airflow["AIRFLOW__API__PORT"])
        follow([*COMMANDS[1:3], *AFTER], ROOT, given, PATIENCE_S)
        found = finished(tmp_path / "home")
    finally:
        end(int(Path(f"{server}.pid").read_text()))
    assert found == dict.fromkeys(STAGES, "success"), Path(f"{server}.log").read_text()[-6000:]
    assert differing(tmp_path / "lake", folder / "lake") == []
    assert all(len(list(worker.glob("app-*"))) >= 3 for worker in cluster.workers), "a worker took no part"
    assert not list(cluster.cache.rglob("kernels-*")), "a worker compiled kernels"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until_healthy(port: str) -> None:
    """Until API server, scheduler and DAG processor say that they are up."""
    until = time.monotonic() + PATIENCE_S
    while True:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=10) as answer:
            health = json.load(answer)
            if all((health.get(part) or {}).get("status") == "healthy" for part in ("metadatabase", "scheduler", "dag_processor")):
                return
        assert time.monotonic() < until, "Airflow did not come up"
        time.sleep(0.5)


def finished(home: Path) -> dict[str, str | None]:
    """The states of the tasks, when all are done or one has failed."""
    until = time.monotonic() + PATIENCE_S
    while True:
        found = states(home)
        done = len(found) == len(STAGES) and set(found.values()) == {"success"}
        if done or {"failed", "up_for_retry", "upstream_failed"} & set(found.values()) or time.monotonic() > until:
            return found
        time.sleep(1)


def states(home: Path) -> dict[str, str | None]:
    """The state of every task of the one run that the database knows."""
    with closing(sqlite3.connect(f"file:{home / 'airflow.db'}?mode=ro", uri=True, timeout=30)) as database:
        runs = database.execute("SELECT DISTINCT run_id FROM task_instance").fetchall()
        assert len(runs) <= 1
        return dict(database.execute("SELECT task_id, state FROM task_instance"))


def end(leader: int) -> None:
    """End a session of processes by its leader."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(leader, signal_)
        for _ in range(40):
            if subprocess.run(["ps", "-o", "pid=", "-g", str(leader)], capture_output=True, check=False).stdout.strip() == b"":
                return
            time.sleep(0.25)
