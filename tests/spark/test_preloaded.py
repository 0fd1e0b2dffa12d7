"""The daemon of Python workers that is started beside the JVM: it becomes the process that the JVM starts, and is never left behind."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stompcap.spark import gateway, preloaded
from stompcap.spark.preloaded import VARIABLE, Preloaded
from tests.spark.test_gateway import ROOT, gone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULE = "tests.spark.waiting_daemon"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(preloaded, "MODULE", MODULE)
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def started_by_the_jvm(environment: dict[str, str], folder: Path) -> str:
    command, environment = [sys.executable, "-m", MODULE, "pyspark.worker"], environment | {"TOLD": "yes"}
    return subprocess.run(command, env=environment, cwd=folder, input="octets", capture_output=True, text=True, check=True).stdout


def test_it_takes_over_streams_environment_folder_and_arguments(environment: dict[str, str], tmp_path: Path) -> None:
    waiting = Preloaded(environment)
    found = json.loads(started_by_the_jvm(environment, tmp_path))
    assert found == [waiting._process.pid, ["pyspark.worker"], str(tmp_path), "yes", "octets"]
    waiting.end()
    assert waiting._process.returncode == 0
    assert not os.path.exists(environment[VARIABLE])


def test_where_none_waits_the_process_works_by_itself(environment: dict[str, str], tmp_path: Path) -> None:
    assert started_by_the_jvm(environment, tmp_path) == "alone\n"
    waiting = Preloaded(environment)
    started_by_the_jvm(environment, tmp_path)
    assert started_by_the_jvm(environment, tmp_path) == "alone\n", "the JVM starts a second one where the first has ended"
    waiting.end()


def test_one_that_is_not_needed_ends(environment: dict[str, str]) -> None:
    waiting = Preloaded(environment)
    waiting.end()
    assert waiting._process.returncode == 0
    assert not os.path.exists(environment[VARIABLE])


def test_one_that_was_ended_by_force_leaves_no_socket(environment: dict[str, str]) -> None:
    waiting = Preloaded(environment)
    waiting._process.kill()
    waiting.end()
    assert not os.path.exists(environment[VARIABLE])


def test_it_ends_with_the_process_that_started_it_even_if_that_is_killed(environment: dict[str, str]) -> None:
    program = (
        "import os, time; from stompcap.spark import preloaded\n"
        f"preloaded.MODULE = '{MODULE}'; environment = dict(os.environ); waiting = preloaded.Preloaded(environment)\n"
        f"print(waiting._process.pid, environment['{VARIABLE}'], flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    with parent, io.TextIOWrapper(parent.stdout or io.BytesIO()) as out:
        child, path = out.readline().split()
        assert os.path.exists(path)
        parent.kill()
    assert gone(int(child))
    assert not os.path.exists(path)


def test_a_path_that_is_too_long_for_a_socket_is_an_error(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(OSError, match="too long"):
        Preloaded(environment)
    assert VARIABLE not in environment
    assert not list(folder.iterdir())


def test_where_no_process_can_be_started_no_socket_is_left(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # the path of `tmp_path` is too long for a socket
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setattr(sys, "executable", f"{folder}/nothing")
        with pytest.raises(FileNotFoundError, match="nothing"):
            Preloaded(environment)
        assert VARIABLE not in environment
        assert not os.listdir(folder)


@pytest.mark.spark
def test_workers_are_forked_from_it(spark: SparkSession) -> None:
    [row] = spark.range(0, 1, 1, 1).mapInPandas(lambda frames: (one.assign(id=os.getppid()) for one in frames), "id BIGINT").collect()
    assert gateway._daemon is not None
    assert row.id == gateway._daemon._process.pid
