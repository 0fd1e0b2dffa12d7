"""The stages one by one, as spark-submit jobs, give the tables that one run gives; errors end in one line and the right code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.rules import RULES
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA

pytestmark = pytest.mark.spark
ROOT = DATA.parent
CAPTURES = [str(DATA / name) for name in ("rabbitmq_midstream.pcap", "artemis_violations.pcapng", "rabbitmq_heartbeats.pcap")]
BIN = Path(sys.executable).parent
JOBS = ROOT / "jobs"


# Jobs as spark-submit would run each, in one application: a start is most of a short job.
ONE_BY_ONE = """import json, runpy, sys
for sys.argv in json.loads(sys.argv[1]):
    job = sys.argv[0]
    try:
        runpy.run_path(job, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
"""


def submit(script: Path, *arguments: str) -> str:
    from stompcap.spark import jars

    named = jars.configuration(local=False)
    delta = ["--jars", named["spark.jars"]] if "spark.jars" in named else ["--packages", named["spark.jars.packages"]]
    command = [str(BIN / "spark-submit"), "--master", "local[2]", *delta, str(script), *arguments]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
                   "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"}  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake made by one job after the other, at a path that wants care."""
    lake, script = tmp_path_factory.mktemp("staged") / "la ke [1]", tmp_path_factory.mktemp("jobs") / "one_by_one.py"
    script.write_text(ONE_BY_ONE)
    jobs = [[str(JOBS / f"{job}.py"), "--lake", str(lake), "--quiet"] for job in ("decode", "correlate", "metrics")]
    told = json.loads(submit(script, json.dumps([[str(JOBS / "extract.py"), "--lake", str(lake), "--json", *CAPTURES], *jobs])))
    assert told["status"] == "done"
    assert told["rows"]["captures"] == len(CAPTURES)
    return lake


@pytest.fixture(scope="module")
def plain() -> dict[str, pa.Table]:
    return tables_of(CAPTURES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["streams", "raw_frames", "segments", "frames", "sessions", "subscriptions", "deliveries", "transactions", "receipts", "heartbeats",
     "heartbeat_violations", "compliance", "compliance_findings"],
)  # fmt: skip
def test_stages_give_what_one_pass_gives(name: str, staged: Path, plain: dict[str, pa.Table]) -> None:
    found = DeltaTable(str(staged / name)).to_pyarrow_table(columns=TABLES[name].arrow.names)
    kept = [column for column in found.column_names if column != "batch_id"]
    rows = sorted(repr(row) for row in found.select(kept).to_pylist())
    assert rows, "a table without rows shows nothing"
    assert rows == sorted(repr(row) for row in plain[name].select(kept).to_pylist())


@pytest.mark.slow
def test_aggregates_are_there(staged: Path) -> None:
    assert DeltaTable(str(staged / "rules")).to_pyarrow_table().num_rows == len(RULES)
    summary = DeltaTable(str(staged / "compliance_summary")).to_pyarrow_table().to_pylist()
    assert summary
    assert all(row["applicable"] == row["passed"] + row["failed"] + row["not_evaluable"] for row in summary)
    latency = DeltaTable(str(staged / "ack_latency")).to_pyarrow_table().to_pylist()
    assert latency
    assert all(row["deliveries"] == row["settled"] + row["unsettled"] + row["unknown"] for row in latency)
    assert all((row["p50_us"] is None) == (row["settled"] == row["uncertain"]) for row in latency)
    assert all(row["ack_mode"] != "auto" for row in latency)


def stompcap(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BIN / "stompcap"), *arguments], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "--lake", "l"), 2, "CAPTURE"),
        (("sql", "SELECT 1", "--lake", "/nowhere/lake"), 3, "no lake here"),
        (("run", str(CAPTURES[0]), "--lake", "/proc/lake"), 3, "/proc/lake"),
        (("run", "x.pcap", "--lake", "l", "--ack-scope", "moon"), 2, "--ack-scope moon"),
        (("run", "x.pcap", "--lake", "l", "--ports", "99999"), 2, "99999"),
        (("rules", "explain", "XX-99"), 2, "XX-99"),
    ],
)
def test_errors_are_one_line_with_a_code(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BIN / "stompcap"), *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_folder_is_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "empty.pcap").touch()
    done = stompcap("run", str(tmp_path / "captures"), "--lake", str(tmp_path / "lake"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["warnings"] == ["no captures found: nothing to do"]
    named = stompcap("run", str(tmp_path / "captures" / "empty.pcap"), "--lake", str(tmp_path / "lake"), "--json")
    assert named.returncode == 0, named.stderr
    assert json.loads(named.stdout)["warnings"] == [f"{tmp_path}/captures/empty.pcap: empty: nothing to do"]


def test_a_lake_in_use_is_left_alone(tmp_path: Path) -> None:
    from pipelines.locking import lock
    from stompcap.lake import tables as lake

    place = str(tmp_path / "lake")
    lake.create(place)
    with lock.held(place):
        done = stompcap("run", CAPTURES[0], "--lake", place)
    assert done.returncode == 5
    assert "another run" in done.stderr


@pytest.mark.slow
def test_sql(staged: Path) -> None:
    done = stompcap("sql", "SELECT count(*) AS n FROM captures", "--lake", str(staged), "--format", "json")
    assert json.loads(done.stdout) == [{"n": len(CAPTURES)}], done.stderr
    wrong = stompcap("sql", "SELECT * FROM sesions", "--lake", str(staged))
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "no table sesions; did you mean sessions?" in wrong.stderr
    writing = stompcap("sql", "DELETE FROM captures", "--lake", str(staged))
    assert writing.returncode == 2
    assert "never writes" in writing.stderr
    assert DeltaTable(str(staged / "captures")).to_pyarrow_table().num_rows == len(CAPTURES)
