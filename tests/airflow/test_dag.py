"""The DAGs run the jobs from Airflow's own environment: on this machine as commands, and on a cluster by the scheduler and spark-submit."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from jinja2.nativetypes import NativeEnvironment

from stompcap.spark import jars
from tests.airflow.server import PATIENCE_S, end, states, variables, wait_until_healthy
from tests.e2e.truth import DATA
from tests.readme.cluster import STARTED_OFTEN, Cluster, standalone
from tests.readme.lakes import differing
from tests.readme.printed import DOCS, ROOT, follow, section
from tests.shared import missing

DAGS = ROOT / "airflow_dags"
DATABASE = ROOT / ".venv-airflow" / "empty.db"
INGEST = {"find": "success", "run": "success"}
COMMANDS = section("Set up", DOCS / "airflow.md").commands()
SERVER = COMMANDS.index("airflow standalone")
LOCALLY, BEFORE, AFTER = COMMANDS[:5], COMMANDS[1:3] + COMMANDS[5:SERVER], COMMANDS[SERVER + 1 :]
BY_HAND = LOCALLY[:3]


def test_the_dags_import_airflow_and_nothing_heavy() -> None:
    imported = set()
    for path in DAGS.glob("*.py"):
        tree = ast.parse(path.read_text())
        imported |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        imported |= {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported - set(sys.stdlib_module_names) == {"airflow", "stompcap_jobs"}


def test_every_job_of_the_dags_is_there() -> None:
    named = {name for path in DAGS.glob("*.py") for name in re.findall(r'\bjob="(\w+)"', path.read_text())}
    assert named == {"run", "report", "validate", "forget", "maintain"}
    assert [name for name in named if not (ROOT / "jobs" / f"{name}.py").is_file()] == []


@pytest.mark.parametrize(("given", "expected"), [("", []), ("must", ["--fail-on", "must"])])
def test_runs_are_given_the_gate_that_is_set(given: str, expected: list[str]) -> None:
    shared = (DAGS / "stompcap_jobs.py").read_text()
    template = re.search(r'^FAIL_ON_ARGS = "(.*)"$', shared, re.MULTILINE)
    assert template
    assert NativeEnvironment().from_string("{{ " + template[1] + " }}").render(params={"fail_on": given}) == expected
    assert [name for name in ("ingest", "backfill") if '+ FAIL_ON_ARGS' not in (DAGS / f"stompcap_{name}.py").read_text()] == []


def test_the_dags_name_the_jars_that_fit(tmp_path: Path) -> None:
    """Those of the versions in the environment of stompcap; where there is none, of the tested ones."""
    tree = ast.parse((DAGS / "stompcap_jobs.py").read_text())
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "coordinates"]
    names: dict[str, object] = {"distributions": distributions, "ENVIRONMENT": Path(sys.prefix)}
    exec(compile(ast.Module([function], []), "coordinates", "exec"), names)
    assert eval("coordinates()", names) == jars.coordinates()
    names["ENVIRONMENT"] = tmp_path
    assert eval("coordinates()", names) == "io.delta:delta-spark_4.2_2.13:4.4.0"
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("pyspark-4.1.1", "delta_spark-4.1.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
        project, version = name.split("-")
        (packages / f"{name}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
    assert eval("coordinates()", names) == "io.delta:delta-spark_4.1_2.13:4.1.0"


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
    return variables(DATABASE, tmp_path / "home") | {
        "CAPTURES": str(folder / "captures"),
        "LAKE": str(tmp_path / "lake"),
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.airflow
def test_the_dags_are_parsed_and_only_what_another_attempt_may_change_is_tried_again(airflow: dict[str, str], tmp_path: Path) -> None:
    told = follow([*BY_HAND, f"PYTHONPATH= python tests/airflow/parsed.py airflow_dags '{tmp_path / 'made'}'"], ROOT, airflow, 120)
    found = json.loads(told.splitlines()[-1])
    assert (found["errors"], found["heavy"]) == ({}, [])
    lake, assets = ["stompcap_lake", 3], ["stompcap_bronze", "stompcap_silver", "stompcap_gold"]
    tasks = {name: dag["tasks"] for name, dag in found["dags"].items()}
    assert tasks == {
        "stompcap_ingest": {"find": ["default_pool", 3, []], "run": [*lake, assets]},
        "stompcap_backfill": {"run": [*lake, assets]},
        "stompcap_report": {"report": ["default_pool", 3, []]},
        "stompcap_quality": {"validate": [*lake, []]},
        "stompcap_maintenance": {
            "kept_for_a_time": ["default_pool", 3, []], "forget": [*lake, []], "maintain": [*lake, []], "validate": [*lake, []],
        },
    }
    assert {dag["runs"] for dag in found["dags"].values()} == {1}
    again, final = "AirflowException", "AirflowFailException"
    assert found["ends"] == {"0": "done", **dict.fromkeys("1234", final), **dict.fromkeys(["5", "70", "137"], again)}


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.spark
def test_the_dags_make_a_lake_and_a_report_without_any_connection(airflow: dict[str, str], folder: Path, tmp_path: Path) -> None:
    follow(LOCALLY, ROOT, airflow, PATIENCE_S)
    assert (states(tmp_path / "home", "stompcap_ingest"), states(tmp_path / "home", "stompcap_report")) == (INGEST, {"report": "success"})
    assert differing(tmp_path / "lake", folder / "lake") == []
    assert (tmp_path / "lake.html").stat().st_size > 1000

    before = versions(tmp_path / "lake")
    gates = [f"airflow dags test stompcap_{name}" for name in ("ingest", "quality", "maintenance")]
    follow([*BY_HAND, gates[0]], ROOT, airflow, PATIENCE_S)
    assert states(tmp_path / "home", "stompcap_ingest") == INGEST
    assert versions(tmp_path / "lake") == before, "a second run changes nothing"
    follow([*BY_HAND, *gates[1:]], ROOT, airflow, PATIENCE_S)
    assert states(tmp_path / "home", "stompcap_quality") == {"validate": "success"}
    assert states(tmp_path / "home", "stompcap_maintenance") == {
        "kept_for_a_time": "success", "forget": "skipped", "maintain": "success", "validate": "success",
    }
    assert differing(tmp_path / "lake", folder / "lake") == []

    missing = json.dumps({"captures": [str(tmp_path / "missing.pcap")]})
    follow([*BY_HAND, f"airflow dags test stompcap_ingest --conf '{missing}' || true"], ROOT, airflow, PATIENCE_S)
    assert states(tmp_path / "home", "stompcap_ingest") == {"find": "success", "run": "failed"}, "and is not tried again"


def versions(lake: Path) -> dict[str, int]:
    """How often each table was written, but for the books of runs."""
    found = {log.parent.name: len(list(log.glob("*.json"))) for log in lake.glob("*/_delta_log")}
    return {name: number for name, number in found.items() if name not in ("runs", "quality_results")}


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.cluster
def test_the_scheduler_runs_the_dag(airflow: dict[str, str], folder: Path, cluster: Cluster, tmp_path: Path) -> None:
    given = airflow | STARTED_OFTEN | {"MASTER": cluster.master, "SHARED": str(tmp_path)}
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
    assert found == INGEST, Path(f"{server}.log").read_text()[-6000:]
    assert differing(tmp_path / "lake", folder / "lake") == []
    assert all(list(worker.glob("app-*")) for worker in cluster.workers), "a worker took no part"
    assert not list(cluster.cache.rglob("kernels-*")), "a worker compiled kernels"


def finished(home: Path) -> dict[str, str | None]:
    """The states of the tasks of the run by hand, when all are done or one has failed."""
    until = time.monotonic() + PATIENCE_S
    while True:
        found = states(home, "stompcap_ingest", "manual")
        bad = {"failed", "up_for_retry", "upstream_failed"} & set(found.values())
        if found == INGEST or bad or time.monotonic() > until:
            return found
        time.sleep(1)
