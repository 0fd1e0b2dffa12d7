"""`stompcap watch` as a process: files rotate in while it runs, it is ended or killed at any moment; the tables are those of one run."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.job import Job
from pipelines.locking import lock
from pipelines.run import STAGES, execute
from stompcap.options import Options
from tests.cli.commands import ROOT, hears, in_session
from tests.e2e.truth import DATA
from tests.examples import THOROUGH
from tests.spark.test_killed import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NAMES = ("rabbitmq_midstream.pcap", "rabbitmq_heartbeats.pcap", "artemis_violations.pcapng", "activemq_stalls.pcap")
LONGEST_S = 240
KILLS = 8 if THOROUGH else 3


class Watch:
    """A watch over a folder, in a session of its own, whose rounds are objects on its standard output."""

    def __init__(self, folder: Path, lake: Path) -> None:
        self.lake, self.err = lake, open(folder.parent / "err", "w+")  # noqa: SIM115 - it is open as long as the process
        words = ["watch", str(folder), "--lake", str(lake), "--every", "1s", "--json", "--verbose"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stompcap", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err, text=True,
            start_new_session=True, preexec_fn=hears, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def next(self, status: str = "done") -> dict[str, Any]:
        """The next round of that status."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told: dict[str, Any] = json.loads(line)
            if "type" in told:  # an incident
                continue
            if told["status"] == status:
                return told
            assert told["status"] in ("idle", "done"), told
        raise AssertionError(self.said())

    def works(self) -> None:
        """Returns when a round of it holds the lake; one that was killed has left its word there."""
        until, word = time.monotonic() + LONGEST_S, f'"pid": {self.process.pid},'
        while not (self.lake / lock.NAME).exists() or word not in (self.lake / lock.NAME).read_text():
            assert time.monotonic() < until
            assert self.process.poll() is None, self.said()
            time.sleep(0.01)

    def ends(self, number: signal.Signals) -> tuple[int, float]:
        """Send it a signal: its exit code, and the seconds until it ended."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode, time.monotonic() - began

    def said(self) -> str:
        """What it wrote on standard error."""
        self.err.seek(0)
        return self.err.read()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[[], Watch]]:
    """Begins a watch over the folder `captures` into the lake `lake`; at the test's end none is left."""
    begun: list[Watch] = []
    (tmp_path / "captures").mkdir()

    def begin() -> Watch:
        begun.append(Watch(tmp_path / "captures", tmp_path / "lake"))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.communicate()
        one.err.close()


def rotate(folder: Path, name: str) -> None:
    """A finished capture appears in a folder, as one that was renamed into it."""
    shutil.copy(DATA / name, folder / "part")
    os.utime(folder / "part", (1_790_000_000,) * 2)
    (folder / "part").rename(folder / "captures" / name)


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What one run over all files says."""
    lake = tmp_path_factory.mktemp("expected")
    execute(Job(lambda: spark, str(lake), Options()), STAGES, [str(DATA / name) for name in NAMES])
    return rows_of(lake)


def without_paths(tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """The tables but `captures`, whose rows have the paths of files."""
    return {name: rows for name, rows in tables.items() if name != "captures"}


def test_what_rotates_in_gives_the_tables_of_one_run(
    watch: Callable[[], Watch], expected: dict[str, list[str]], tmp_path: Path
) -> None:
    first = watch()
    rotate(tmp_path, NAMES[0])
    told = first.next()
    assert [Path(one["path"]).name for one in told["captures"]] == [NAMES[0]]
    assert told["rows"]["frames"] > 0
    with lock.held(str(tmp_path / "lake"), 30):
        pass  # others may work between rounds
    rotate(tmp_path, NAMES[1])
    first.works()
    code, seconds = first.ends(signal.SIGTERM)
    assert (code, in_session(first.process.pid)) == (143, []), first.said()
    assert seconds < 10
    rotate(tmp_path, NAMES[2])
    second = watch()
    told = second.next()
    assert {Path(one["path"]).name for one in told["captures"]} == set(NAMES[:3])
    rotate(tmp_path, NAMES[3])
    assert second.next()["rows"]["captures"] == 1
    second.next("idle")
    code, seconds = second.ends(signal.SIGTERM)
    assert (code, in_session(second.process.pid)) == (0, []), second.said()
    assert seconds < 10
    assert "interrupted" not in second.said()
    assert without_paths(rows_of(tmp_path / "lake")) == without_paths(expected)


@pytest.mark.slow
def test_a_watch_that_is_killed_loses_nothing(watch: Callable[[], Watch], expected: dict[str, list[str]], tmp_path: Path) -> None:
    chance = random.Random(61613)
    for kill in range(KILLS):
        one = watch()
        if kill < len(NAMES):
            rotate(tmp_path, NAMES[kill])
        one.works()
        time.sleep(chance.uniform(0, 4))
        assert one.ends(signal.SIGKILL)[0] == -signal.SIGKILL
    for name in NAMES[KILLS:]:
        rotate(tmp_path, name)
    last = watch()
    last.next("idle")
    assert last.ends(signal.SIGINT)[0] == 0
    assert without_paths(rows_of(tmp_path / "lake")) == without_paths(expected)
