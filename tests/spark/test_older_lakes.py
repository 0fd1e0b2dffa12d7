"""Lakes of older versions go on: what was open in them is what one run over all captures makes of it, or the run says what mends that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.recompute.repair import repair
from pipelines.recompute.reprocess import Wanted
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.lake import tables as lakes
from stompcap.lake.finality import FINAL
from stompcap.lake.older_rows import older_rows
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.runs import LINEAGE
from tests.examples import every
from tests.lake.damages import DAMAGES
from tests.lakes.make import MANY, OLDER
from tests.lakes.older import put_back, rows_of, spoil, unpacked
from tests.lakes.wire import write
from tests.spark.test_followers import feed, keys, net
from tests.spark.test_other_writers import FOR_SPARK, z_ordered_and_vacuumed_by_delta_rs, z_ordered_by_spark
from tests.spark.test_reprocess import parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
OWN = {"captures", "runs", "batches", "quality_results", "stream_state", "rules"}
OF_SEGMENTS = ("dea8dce", "f1953dd", "1a2dc30")
"""Lakes that have the segments of the busy connection, not the state of machines."""

Runs = Callable[..., Result]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Runs:
    def start(lake: Path, captures: list[str], wanted: Wanted | None = None) -> Result:
        return execute(Job(lambda: spark, str(lake), Options()), STAGES[:-1], captures, wanted=wanted)

    return start


@dataclass(frozen=True)
class Whole:
    """The captures, and the rows of a lake that this version made of both in one run."""

    before: str
    after: str
    rows: dict[str, list[str]]


@pytest.fixture(scope="module")
def whole(run: Runs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """By the commit that made a lake."""

    @cache
    def of(many: int) -> Whole:
        lake, captures = tmp_path_factory.mktemp("new"), write(tmp_path_factory.mktemp("captures"), many)
        run(lake, list(captures))
        return Whole(*captures, said(lake))

    return lambda commit: of(MANY[commit])


def said(lake: Path) -> dict[str, list[str]]:
    """What the tables say."""
    found = {}
    for name in sorted(TABLES.keys() - OWN):
        rows = [{key: value for key, value in row.items() if key not in LINEAGE} for row in rows_of(lake, name)]
        found[name] = sorted(repr(sorted(row.items())) for row in rows)
    return found


@pytest.mark.parametrize("commit", every(5, list(OLDER)))
def test_a_lake_that_others_work_with_goes_on(
    commit: str, spark: SparkSession, run: Runs, whole: Callable[[str], Whole], tmp_path: Path
) -> None:
    """Its files put together by others, gone on with, followed, damaged, repaired, and gone on with: all say what a new lake says."""
    lake, new = unpacked(commit, tmp_path), whole(commit)
    lakes.create(str(lake))
    lakes.bring_up(str(lake))
    put_back(lake, Path(new.before).parent)
    first, second = parts(tmp_path / "parts", Path(new.after), (0.5,))
    for name in TABLES:
        (z_ordered_by_spark if name in FOR_SPARK else z_ordered_and_vacuumed_by_delta_rs)(spark, str(lake / name), name)
    before, since = unmarked(rows_of(lake, "frames")), DeltaTable(str(lake / "frames")).version() + 1
    [line] = run(lake, [first]).warnings
    assert "another program had put files" in line
    assert net(unmarked(feed(lake, "frames", since)), keys(before)) == keys(unmarked(rows_of(lake, "frames")))
    DAMAGES["table gone"][0](lake / "streams")
    DAMAGES["file cut"][0](lake / "frames")
    found = repair(Job(lambda: spark, str(lake), Options()), dry_run=False)
    assert {one.table for one in found.damaged} == {"streams", "frames"}
    assert not found.lost
    assert run(lake, [second]).warnings == []
    assert differing(lake, new) == set()


def unmarked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without the mark that those of older versions get when they are written again."""
    return [{name: value for name, value in row.items() if name != FINAL} for row in rows]


@pytest.mark.parametrize("commit", every(4, list(OLDER)[::-1][1:]))
def test_a_lake_goes_on_where_its_captures_are_gone(commit: str, run: Runs, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """A state that cannot be taken up is told of. When the captures are back, all can be computed again."""
    lake = unpacked(commit, tmp_path)
    goes_on(lake, run, whole(commit), lost=None if commit not in OF_SEGMENTS else False)


def test_a_state_that_nothing_can_read_is_computed_again(run: Runs, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    lake, new = unpacked("334e90f", tmp_path), whole("334e90f")
    lakes.create(str(lake))
    lakes.bring_up(str(lake))
    spoil(lake)
    put_back(lake, Path(new.before).parent)
    assert run(lake, [new.after]).warnings == []
    assert differing(lake, new) == set()


def test_a_state_that_nothing_can_read_without_captures_stays_as_it_stood(run: Runs, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    lake = unpacked("334e90f", tmp_path)
    lakes.create(str(lake))
    lakes.bring_up(str(lake))
    spoil(lake)
    goes_on(lake, run, whole("334e90f"), lost=True)


def goes_on(lake: Path, run: Runs, new: Whole, *, lost: bool | None) -> None:
    """Whether the busy connection is `lost`: then it stands as it stood, and what comes is another; None where it may be."""
    before = {row["stream_id"] for row in rows_of(lake, "streams")}
    frames = {place(row) for row in rows_of(lake, "frames")}
    warnings = run(lake, [new.after]).warnings
    streams = {row["stream_id"]: row for row in rows_of(lake, "streams")}
    assert before <= streams.keys()
    assert frames <= {place(row) for row in rows_of(lake, "frames")}
    assert lost in (None, bool(warnings))
    assert len(streams) == 2 + len(warnings)
    for warning in warnings:
        assert warning.startswith("an open connection of many packets cannot go on from the state that another version left")
        assert "stompcap run --reprocess" in warning
    assert sum(row["final"] for row in streams.values()) == len(warnings)
    put_back(lake, Path(new.before).parent)
    assert run(lake, [], Wanted()).warnings == []
    assert differing(lake, new) == set()
    assert older_rows(str(lake)) is None


def place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["stream_id"], row["direction"], row["stream_offset"]


def differing(lake: Path, new: Whole) -> set[str]:
    """The tables that say something else than a new lake's."""
    found = said(lake)
    return {name for name in new.rows if found[name] != new.rows[name]}
