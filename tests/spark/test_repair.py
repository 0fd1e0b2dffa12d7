"""A damaged lake repaired: it says what a new lake of the same captures would say, or what is lost for good."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.job import Job
from pipelines.recompute import repair as repairing
from pipelines.recompute.repair import Repaired
from pipelines.run import STAGES, execute
from stompcap.lake import damage
from stompcap.options import Options
from tests.e2e.truth import DATA
from tests.examples import STRIDE, THOROUGH
from tests.killed import Killed, killed_at
from tests.lake.damages import DAMAGES
from tests.spark.test_reprocess import Rows, parts, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ONE, OTHER = DATA / "rabbitmq_dialogue.pcap", DATA / "activemq_habits.pcap"
NOT_COMPARED = ("path", "made_ts")  # of a capture whose row is lost only an absolute path is known


def repaired(spark: SparkSession, lake: Path) -> Repaired:
    return repairing.repair(Job(lambda: spark, str(lake), Options()), dry_run=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("files")
    return [*parts(folder / "one", ONE, (0.4,)), *parts(folder / "other", OTHER, ())]


@pytest.fixture(scope="module")
def whole(spark: SparkSession, files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two runs, with connections that the second has gone on with and others that are open."""
    lake = tmp_path_factory.mktemp("whole") / "lake"
    for named in (files[:1], files[1:]):
        execute(Job(lambda: spark, str(lake), Options()), STAGES, named)
    return lake


@pytest.fixture(scope="module")
def new(spark: SparkSession, files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    lake = tmp_path_factory.mktemp("new") / "lake"
    execute(Job(lambda: spark, str(lake), Options()), STAGES, files)
    return rows_of(lake, *NOT_COMPARED, state=False)


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "lake"))


TABLES = [
    "streams", "raw_frames", "segments", "sessions", "stream_state", "captures", "compliance_summary", "rules", "frames", "ack_latency",
]  # fmt: skip
EACH = [(table, [*DAMAGES][-row % len(DAMAGES)]) for row, table in enumerate(TABLES)]
PAIRS = [[(table, name)] for table in TABLES for name in DAMAGES] if THOROUGH else [EACH[turn::3] for turn in range(3)]
"""Every damage and every table, each with one of the others; several tables are damaged at once, and each by itself if thorough."""


@pytest.mark.parametrize("damages", PAIRS, ids=str)
def test_a_repaired_lake_is_a_new_one(spark: SparkSession, lake: Path, new: Rows, damages: list[tuple[str, str]]) -> None:
    for table, name in damages:
        DAMAGES[name][0](lake / table)
    found = repaired(spark, lake)
    assert {one.table for one in found.damaged} == {table for table, _ in damages}
    assert not found.lost
    assert rows_of(lake, *NOT_COMPARED, state=False) == new
    assert not damage.examined(str(lake))
    assert not repaired(spark, lake).damaged


def test_a_repair_that_was_killed_is_ended_by_the_next(spark: SparkSession, whole: Path, new: Rows, tmp_path: Path) -> None:
    """Killed before each of its commits, from the first to the last."""
    for commit in count(1, STRIDE):
        lake = Path(shutil.copytree(whole, tmp_path / str(commit)))
        DAMAGES["table gone"][0](lake / "streams")
        DAMAGES["commit cut"][0](lake / "frames")
        try:
            with killed_at(commit):
                repaired(spark, lake)
        except Killed:
            repaired(spark, lake)
            assert rows_of(lake, *NOT_COMPARED, state=False) == new, commit
            continue
        assert commit > 20
        return


@pytest.mark.parametrize("table", ["frames", "captures"])
def test_what_cannot_be_had_again_is_said(
    spark: SparkSession, lake: Path, files: list[str], table: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    hidden = Path(shutil.move(files[-1], tmp_path / "hidden"))
    request.addfinalizer(lambda: shutil.move(hidden, files[-1]))
    DAMAGES["table gone"][0](lake / table)
    [said] = repaired(spark, lake).lost
    assert "lost for good" in said
    assert files[-1] in said


def test_a_dry_run_changes_nothing(spark: SparkSession, lake: Path) -> None:
    DAMAGES["file missing"][0](lake / "streams")
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    found = repairing.repair(Job(lambda: spark, str(lake), Options()), dry_run=True)
    assert [one.table for one in found.damaged] == ["streams"]
    assert "loses" in found.lost[0]
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*")} == before


def test_forgotten_connections_do_not_come_back(spark: SparkSession, lake: Path) -> None:
    from pipelines.forgetting.criteria import Criteria
    from pipelines.forgetting.forget import forget
    from tests.spark.test_reprocess import column

    gone = column(lake, "streams", "stream_id")[0]
    forget(Job(lambda: spark, str(lake), Options()), Criteria(streams=(gone,)))
    DAMAGES["table gone"][0](lake / "frames")
    repaired(spark, lake)
    assert gone not in column(lake, "streams", "stream_id")
    assert gone not in column(lake, "frames", "stream_id")
