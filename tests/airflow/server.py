"""Airflow's processes on this machine: a home and ports of their own, their health, what their database says, their end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

PATIENCE_S = 1200


def variables(database: Path, home: Path) -> dict[str, str]:
    """The variables of an Airflow with a new home, which begins with that database, and ports of its own."""
    home.mkdir()
    shutil.copy(database, home / "airflow.db")
    port = str(free_port())
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__CORE__PARALLELISM": "2",
    }


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


def states(home: Path, dag: str, kind: str = "%") -> dict[str, str | None]:
    """The state of every task of a DAG's last run."""
    with closing(sqlite3.connect(f"file:{home / 'airflow.db'}?mode=ro", uri=True, timeout=30)) as database:
        last = "SELECT run_id FROM dag_run WHERE dag_id = ? AND run_type LIKE ? ORDER BY id DESC LIMIT 1"
        return dict(database.execute(f"SELECT task_id, state FROM task_instance WHERE dag_id = ? AND run_id = ({last})", (dag, dag, kind)))


def end(leader: int) -> None:
    """End a session of processes by its leader."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(leader, signal_)
        for _ in range(40):
            if subprocess.run(["ps", "-o", "pid=", "-g", str(leader)], capture_output=True, check=False).stdout.strip() == b"":
                return
            time.sleep(0.25)
