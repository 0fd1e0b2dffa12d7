"""Captures that come late: in whatever order rotated or overlapping files are given to runs, the tables are those of all at once."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import execute
from stompcap.options import Options
from tests.e2e.cutting import records
from tests.examples import STRIDE
from tests.killed import Killed, killed_at
from tests.spark.test_reprocess import CAPTURE, LATER, WITHOUT_VALIDATION, Rows, column, parts, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
Start = Callable[..., Result]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Start:
    def start(lake: Path, *captures: str, stages: Sequence[str] = WITHOUT_VALIDATION) -> Result:
        return execute(Job(lambda: spark, str(lake), Options(idle_timeout=120)), stages, captures)

    return start


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three rotated files of a recording, and one of hours later, by which the connections of the others are over."""
    folder = tmp_path_factory.mktemp("files")
    found = [*parts(folder / "one", CAPTURE, (0.3, 0.6)), *parts(folder / "later", LATER, ())]
    times = [struct.unpack_from("<II", Path(path).read_bytes(), 24) for path in found]
    assert times == sorted(times)
    assert times[3][0] - times[2][0] > 3600
    return found


@pytest.fixture(scope="module")
def together(run: Start, files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What one run over all says."""
    lake = tmp_path_factory.mktemp("together") / "lake"
    run(lake, *files)
    return rows_of(lake)


@pytest.mark.parametrize("order", [(3, 2, 0, 1), (1, 3, 0, 2)])
def test_rotated_files_in_the_wrong_order(order: Sequence[int], run: Start, files: list[str], together: Rows, tmp_path: Path) -> None:
    for number in order:
        assert run(tmp_path / "lake", files[number]).warnings == []
    assert rows_of(tmp_path / "lake") == together


def test_overlapping_captures_in_two_runs(run: Start, files: list[str], tmp_path: Path) -> None:
    """The same packets in both: they count once, whichever comes first."""
    octets = CAPTURE.read_bytes()
    packets = records(octets)
    some = [packets[: len(packets) * 6 // 10], packets[len(packets) * 4 // 10 :], packets[len(packets) // 10 : len(packets) * 9 // 10]]
    paths = [tmp_path / f"{number}.pcap" for number in range(len(some))]
    for path, mine in zip(paths, some, strict=True):
        path.write_bytes(octets[:24] + b"".join(mine))
    run(tmp_path / "together", *map(str, paths), files[3])
    for path in (str(paths[1]), files[3], str(paths[0]), str(paths[2])):
        run(tmp_path / "apart", path)
    assert rows_of(tmp_path / "apart") == rows_of(tmp_path / "together")


def test_connections_whose_captures_are_gone_stay_and_none_stands_twice(run: Start, files: list[str], tmp_path: Path) -> None:
    """The late capture has the beginning of the other, with some of its connections and the first part of others."""
    lake, late, early = tmp_path / "lake", tmp_path / "late.pcap", tmp_path / "early.pcap"
    octets = CAPTURE.read_bytes()
    packets = records(octets)
    early.write_bytes(octets[:24] + b"".join(packets[len(packets) // 10 :]))
    late.write_bytes(octets[:24] + b"".join(packets[: len(packets) // 2]))
    run(lake, str(early))
    run(lake, files[3])
    early.unlink()
    before = rows_of(lake)
    [warning] = run(lake, str(late)).warnings
    assert f"{late}: came late" in warning
    assert str(early) in warning
    assert "that the lake has already are left out" in warning
    ids = column(lake, "streams", "stream_id")
    assert len(set(ids)) == len(ids)
    after = rows_of(lake)
    assert set(before["frames"]) <= set(after["frames"])
    assert len(after["frames"]) > len(before["frames"])


@pytest.mark.slow
def test_stage_by_stage(run: Start, files: list[str], together: Rows, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for number in (1, 3):
        run(lake, files[number])
    run(lake, files[0], stages=["extract"])
    for stage in ("decode", "correlate", "metrics"):
        run(lake, stages=[stage])
    run(lake, files[2])
    assert rows_of(lake) == together


@pytest.mark.slow
def test_killed_at_any_commit(run: Start, files: list[str], together: Rows, tmp_path: Path) -> None:
    for number in (1, 3):
        run(tmp_path / "before", files[number])
    for commit in count(1, STRIDE):
        lake = tmp_path / str(commit)
        shutil.copytree(tmp_path / "before", lake)
        with killed_at(commit):
            try:
                run(lake, files[0])
            except Killed:
                pass
            else:
                break
        run(lake, files[0], files[2])
        assert rows_of(lake) == together, f"killed at commit {commit}"
        shutil.rmtree(lake)
    assert commit > 10
