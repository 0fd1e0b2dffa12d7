"""Runs that are killed: whatever they had committed, the next run finishes it, alone or with more captures, and nothing stands twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.cutting import cut
from tests.e2e.truth import DATA
from tests.examples import STRIDE, THOROUGH
from tests.killed import Killed, killed_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROTATED = tempfile.TemporaryDirectory(prefix="stompcap-killed-")
FIRST, SECOND = cut(DATA / "rabbitmq_midstream.pcap", Path(ROTATED.name), [0.5])
RUN_STAGES = [stage for stage in STAGES if stage != "validate"]
OPERATIONS = ("runs", "batches", "quality_results")
LINEAGE = {"run_id", "batch_id"}
KILLS = 30 if THOROUGH else 3


def rows_of(lake: Path) -> dict[str, list[str]]:
    """All that the tables say, but for the names of runs and batches."""
    found = {}
    for name in TABLES:
        if name not in OPERATIONS:
            table = DeltaTable(str(lake / name)).to_pyarrow_table()
            found[name] = sorted(repr(row) for row in table.drop_columns(sorted(LINEAGE & set(table.column_names))).to_pylist())
    return found


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Callable[..., Result]:
    """A run over captures into a lake."""

    def start(lake: Path, *captures: str, options: Options | None = None) -> Result:
        return execute(Job(lambda: spark, str(lake), options or Options()), RUN_STAGES, captures)

    return start


@pytest.fixture(scope="module")
def expected(run: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What runs that nobody kills say of both captures."""
    lake = tmp_path_factory.mktemp("expected")
    run(lake, FIRST)
    run(lake, SECOND)
    return rows_of(lake)


def test_a_run_killed_at_any_commit_is_finished_by_one_with_more(
    run: Callable[..., Result], expected: dict[str, list[str]], tmp_path: Path
) -> None:
    for commit in count(step=STRIDE):  # tables are committed side by side, in another order each time
        lake = tmp_path / str(commit)
        with killed_at(commit):
            try:
                run(lake, FIRST)
            except Killed:
                pass
            else:
                break
        result = run(lake, FIRST, SECOND)
        assert rows_of(lake) == expected, f"killed at commit {commit}"
        assert not [line for line in result.warnings if "put these files back" in line]
        shutil.rmtree(lake)
    assert commit > len(TABLES), "a run has more commits than tables"


def test_a_killed_run_is_finished_as_it_was_begun(run: Callable[..., Result], tmp_path: Path) -> None:
    """Its options hold, its file may have grown since, and another file is what the second run is called with."""
    grown, lake, other = tmp_path / "grown.pcap", tmp_path / "lake", tmp_path / "other"
    octets = Path(FIRST).read_bytes()
    grown.write_bytes(octets[:-100])
    options = Options(body_preview=3, source="tap")
    with killed_at(6), pytest.raises(Killed):
        run(lake, str(grown), options=options)
    grown.write_bytes(octets)
    result = run(lake, SECOND)
    assert [line for line in result.warnings if "is finished first" in line]
    grown.write_bytes(octets[:-100])
    run(other, str(grown), options=options)
    run(other, SECOND)
    assert rows_of(lake) == rows_of(other)


def test_a_killed_run_whose_file_is_gone_is_named(
    run: Callable[..., Result], expected: dict[str, list[str]], tmp_path: Path
) -> None:
    """What some tables have is said; the file put back, it is finished."""
    there, lake = tmp_path / "there.pcap", tmp_path / "lake"
    shutil.copy(FIRST, there)
    for commit in range(6, 12):  # tables are committed side by side: which of them are in is not the same each time
        shutil.rmtree(lake, ignore_errors=True)
        with killed_at(commit), pytest.raises(Killed):
            run(lake, str(there))
        if DeltaTable(str(lake / "stream_state")).to_pyarrow_table().num_rows:
            break
    there.rename(tmp_path / "away")
    (line,) = [line for line in run(lake, SECOND).warnings if "put these files back" in line]
    assert str(there) in line
    (tmp_path / "away").rename(there)
    assert [line for line in run(lake).warnings if "is finished first" in line]
    assert {row["path"] for row in DeltaTable(str(lake / "captures")).to_pyarrow_table().to_pylist()} == {SECOND, str(there)}
    found = rows_of(lake)
    differ = {name for name in expected if found[name] != expected[name]}
    assert differ <= {"captures", "stream_state"}, "these have paths and places in files"


# Kills itself some time after the first commit, or after the start.
KILLS_ITSELF = """
import os, signal, sys, threading
from deltalake import DeltaTable
from stompcap.cli import entry

behind, milliseconds, *sys.argv = sys.argv[1:]
die = threading.Timer(int(milliseconds) / 1000, os.kill, (os.getpid(), signal.SIGKILL))
die.daemon = True
whole = DeltaTable.create_write_transaction

def commit(self, *arguments, **named):
    if not die.is_alive():
        die.start()
    whole(self, *arguments, **named)

if behind == "start":
    die.start()
else:
    DeltaTable.create_write_transaction = commit
entry.main()
"""


def test_runs_killed_at_random_moments(run: Callable[..., Result], expected: dict[str, list[str]], tmp_path: Path) -> None:
    """By SIGKILL, a third of them anywhere, the others while they commit; some had been killed before."""
    chance, script = random.Random(61613), tmp_path / "kills_itself.py"
    script.write_text(KILLS_ITSELF)
    environment = {**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"}
    outcomes = []
    for kill in range(KILLS):
        lake = tmp_path / f"lake{kill // 2 if kill % 6 < 2 else kill + KILLS}"
        behind, most = ("start", 9000) if kill % 3 == 0 else ("commit", 400)
        captures = [FIRST, SECOND][: 1 + kill % 2]
        command = [sys.executable, str(script), behind, str(chance.randint(0, most)), "stompcap", "run", *captures, "--lake", str(lake)]
        outcomes.append(subprocess.run(command, capture_output=True, timeout=300, env=environment, check=False).returncode)
        if kill % 6 != 0:
            run(lake, FIRST, SECOND)
            assert rows_of(lake) == expected, f"kill {kill}"
    assert outcomes.count(-signal.SIGKILL) > KILLS // 2
    assert set(outcomes) <= {0, -signal.SIGKILL}
