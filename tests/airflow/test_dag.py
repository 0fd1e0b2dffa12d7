"""The DAG runs every stage by spark-submit, from Airflow's own environment, over the bundled captures."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAG = ROOT / "airflow_dags" / "stompcap_daily.py"
PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
STAGES = ["extract", "decode", "correlate", "metrics", "validate", "report"]


def test_the_dag_imports_airflow_and_nothing_heavy() -> None:
    tree = ast.parse(DAG.read_text())
    imported = {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= {"__future__", "airflow", "datetime", "os", "pathlib"}


def test_every_stage_of_the_dag_has_its_job() -> None:
    assert [(ROOT / "jobs" / f"{stage}.py").is_file() for stage in STAGES] == [True] * len(STAGES)


@pytest.fixture
def airflow(tmp_path: Path) -> dict[str, str]:
    """The environment of an Airflow with a home of its own, its database made."""
    if not PYTHON.exists():
        needs = "needs .venv-airflow: make airflow"
        pytest.fail(needs) if os.environ.get("CI") else pytest.skip(needs)
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "AIRFLOW"))},
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAG.parent),
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",  # six short jobs: a start is most of each
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
    }
    subprocess.run([PYTHON, "-m", "airflow", "db", "migrate"], env=environment, check=True, capture_output=True, timeout=300)
    return environment


@pytest.mark.airflow
@pytest.mark.slow
def test_the_dag_makes_a_lake_and_a_report(airflow: dict[str, str], tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    captures.mkdir()
    shutil.copy(ROOT / "data" / "activemq_dialogue.pcap", captures)
    params = {"captures": [str(captures)], "lake": str(tmp_path / "lake"), "report": str(tmp_path / "report.html")}
    done = subprocess.run(
        [PYTHON, str(Path(__file__).with_name("run_dag.py")), str(DAG.parent), json.dumps(params)],
        env=airflow, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told["tasks"] == dict.fromkeys(STAGES, "success")
    assert told["imported"] == []

    from deltalake import DeltaTable

    rows = DeltaTable(str(tmp_path / "lake" / "sessions")).to_pyarrow_table().num_rows
    assert rows > 0
    assert (tmp_path / "report.html").stat().st_size > 1000
