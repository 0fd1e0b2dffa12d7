"""Scheduler, DAG processor and API server as processes of their own, with a run every ten seconds: when what is started, and with what.

The jobs are a program that notes how it was called and ends as it is told; what a job does to a lake is tested elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.server import end, variables, wait_until_healthy
from tests.readme.printed import ROOT
from tests.shared import missing

ENVIRONMENT = ROOT / ".venv-airflow"
ASSETS = {"report", "quality"}
PATIENCE_S = 120
JOB = """#!{python}
import json, pathlib, sys, time
began, home, word = time.time(), pathlib.Path({home!r}), sys.argv[1]
told = home / "told"
code, seconds = map(int, told.read_text().split()) if word == "run" and told.exists() else (0, 6 if word == "validate" else 1)
time.sleep(seconds)
with (home / "called").open("a") as called:
    called.write(json.dumps({{"began": began, "ended": time.time(), "words": sys.argv[1:]}}) + "\\n")
sys.exit(code)
"""


@dataclass(frozen=True)
class Running:
    """An Airflow that runs, with a folder of captures."""

    home: Path

    def write(self, name: str, *, age_s: float = 0) -> str:
        """A capture last written so long ago; its path."""
        path = self.home / "captures" / name
        path.write_bytes(b"")
        os.utime(path, (time.time() - age_s,) * 2)
        return str(path)

    def called(self, job: str = "") -> list[dict[str, Any]]:
        """The calls of a job, or of all, that have ended."""
        path = self.home / "called"
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [one for one in calls if job in ("", one["words"][0])]

    def read(self, call: int) -> list[str]:
        """The captures that a call of `run` was given."""
        return [word for word in self.called("run")[call]["words"] if word.startswith(str(self.home / "captures"))]

    def runs(self, dag: str, kind: str = "%") -> list[str]:
        """The states of the runs of a DAG, in order."""
        return [state for (state,) in self.ask("SELECT state FROM dag_run WHERE dag_id = ? AND run_type LIKE ? ORDER BY id", dag, kind)]

    def attempts(self) -> list[tuple[str, int]]:
        """The last state of each `run` of the ingest with its attempts, where it was begun."""
        which = "dag_id = 'stompcap_ingest' AND task_id = 'run' AND try_number > 0"
        return self.ask(f"SELECT state, try_number FROM task_instance WHERE {which}")

    def ask(self, query: str, *words: str) -> list[Any]:
        """What Airflow's database says."""
        with closing(sqlite3.connect(f"file:{self.home / 'airflow.db'}?mode=ro", uri=True, timeout=30)) as database:
            return database.execute(query, words).fetchall()

    def until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        last = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < last, f"{what}: {self.ask('SELECT dag_id, state FROM dag_run ORDER BY id')} {self.called()}"
            time.sleep(0.3)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With attempts a few seconds apart instead of minutes, and DAGs that are not paused."""
    if not (ENVIRONMENT / "empty.db").exists():
        missing(".venv-airflow: make airflow")
    folder = tmp_path_factory.mktemp("scheduled")
    home = folder / "home"
    own = variables(ENVIRONMENT / "empty.db", home)
    (home / "captures").mkdir()
    dags = shutil.copytree(ROOT / "airflow_dags", folder / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    text, quicker = re.subn(r"timedelta\(minutes=1\)", "timedelta(seconds=1)", (dags / "stompcap_jobs.py").read_text())
    assert quicker == 1
    (dags / "stompcap_jobs.py").write_text(text)
    (folder / "bin").mkdir()
    job = folder / "bin" / "stompcap"
    job.write_text(JOB.format(python=ENVIRONMENT / "bin" / "python", home=str(home)))
    job.chmod(0o755)
    own |= {
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False", "STOMPCAP_SCHEDULE": "* * * * * */10", "STOMPCAP_POOL": "stompcap_lake",
        "STOMPCAP_ENV": str(folder), "STOMPCAP_HOME": str(ROOT), "STOMPCAP_CAPTURES": str(home / "captures"),
        "STOMPCAP_LAKE": str(folder / "lake"),
        # Processes that start together in a new home would each make their own.
        "AIRFLOW__API_AUTH__JWT_SECRET": "known to the processes of this test only, and as long as HMAC asks for",
        "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    others = ("AIRFLOW", "STOMPCAP_", "PYTHONPATH")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(others) or k == "STOMPCAP_HASH_KEY"} | own  # lakes are compared
    processes = []
    try:
        for name in ("api-server", "scheduler", "dag-processor"):
            with (folder / f"{name}.log").open("wb") as log:
                processes.append(subprocess.Popen(
                    ["airflow", name], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                ))  # fmt: skip
        wait_until_healthy(own["AIRFLOW__API__PORT"])
        yield Running(home)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            end(process.pid)
            process.wait()


@pytest.mark.airflow
@pytest.mark.slow
def test_captures_are_read_in_time_and_what_follows_from_it_is_started(running: Running) -> None:
    running.write("old.pcap", age_s=7200)
    running.until(lambda: "success" in running.runs("stompcap_ingest"), "no first run")
    assert running.called("run") == [], "nothing was written in its interval"
    asked = {name: len(running.runs(f"stompcap_{name}", "asset_triggered")) for name in ASSETS}
    assert asked == dict.fromkeys(ASSETS, 0)

    new = running.write("new.pcap")
    running.until(lambda: bool(running.called("run")), "the capture is not read")
    assert running.read(0) == [new]
    for name in ASSETS:
        running.until(lambda name=name: running.runs(f"stompcap_{name}", "asset_triggered") == ["success"], f"no {name}")

    done = len(running.runs("stompcap_ingest"))
    running.until(lambda: running.runs("stompcap_ingest")[done:].count("success") >= 2, "no more runs")
    assert len(running.called("run")) == 1, "nothing new"
    assert [running.runs(f"stompcap_{name}", "asset_triggered") for name in ASSETS] == [["success"]] * 2

    # Another run holds the lake, longer than an interval; what is written meanwhile is read afterwards.
    (running.home / "told").write_text("5 8")
    running.write("held.pcap")
    running.until(lambda: len(running.called("run")) == 2, "the second capture is not read")
    time.sleep(15)
    late = running.write("late.pcap")
    running.until(lambda: "failed" in running.runs("stompcap_ingest"), "the attempts do not end")
    assert ("failed", 4) in running.attempts(), "three more attempts"
    assert len(running.called("run")) == 5
    assert [running.runs(f"stompcap_{name}", "asset_triggered") for name in ASSETS] == [["success"]] * 2
    (running.home / "told").unlink()
    running.until(lambda: len(running.called("run")) == 6, "what was written during the attempts is not read")
    assert late in running.read(5)

    # The lake cannot be read: no attempt would change that.
    (running.home / "told").write_text("4 1")
    running.write("unreadable.pcap")
    running.until(lambda: running.runs("stompcap_ingest").count("failed") == 2, "the run does not fail")
    assert ("failed", 1) in running.attempts()
    (running.home / "told").unlink()

    # A pool of one slot: by now several DAGs have written.
    writing = sorted((one["began"], one["ended"]) for one in running.called() if one["words"][0] != "report")
    assert len({one["words"][0] for one in running.called()} - {"report"}) > 1
    assert all(before[1] <= after[0] for before, after in pairwise(writing))
