"""Connections computed again from their captures: what the lake says then is what a new lake would say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines.forgetting.criteria import Criteria
from pipelines.forgetting.forget import forget
from pipelines.ingest.unfinished import unfinished
from pipelines.job import Job
from pipelines.recompute import reprocess
from pipelines.recompute.reprocess import Wanted
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.options import Options
from stompcap.settings import Settings, Thresholds
from stompcap.tables import TABLES
from tests.e2e.cutting import records
from tests.e2e.truth import DATA
from tests.examples import STRIDE
from tests.killed import Killed, killed_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CAPTURE = DATA / "rabbitmq_dialogue.pcap"
HEARTBEATS, LATER = DATA / "activemq_heartbeats.pcap", DATA / "rabbitmq_habits.pcap"
WITHOUT_VALIDATION = [stage for stage in STAGES if stage != "validate"]
OPERATIONS = ("runs", "batches", "quality_results")
LINEAGE = {"run_id", "batch_id"}
OTHER = Options(body_preview=7, settings=Settings((), Thresholds(receipt_wait_s=1)))
Rows = dict[str, list[str]]


def rows_of(lake: Path, *without: str, state: bool = True) -> Rows:
    """All that the tables say, but for the names of runs and batches."""
    found = {}
    for name in TABLES:
        if name not in OPERATIONS and (state or name != "stream_state"):
            table = DeltaTable(str(lake / name)).to_pyarrow_table()
            found[name] = sorted(map(repr, table.drop_columns(sorted((LINEAGE | {*without}) & {*table.column_names})).to_pylist()))
    return found


def column(lake: Path, table: str, name: str) -> list[str]:
    found: list[str] = DeltaTable(str(lake / table)).to_pyarrow_table().column(name).to_pylist()
    return found


def parts(folder: Path, capture: Path, cuts: Iterable[float]) -> list[str]:
    """A recorded capture as rotated files, cut at these shares of its packets."""
    octets = capture.read_bytes()
    packets = records(octets)
    bounds = [0, *(int(cut * len(packets)) for cut in cuts), len(packets)]
    paths = []
    folder.mkdir()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        path = folder / f"{capture.stem}{number}.pcap"
        path.write_bytes(octets[:24] + b"".join(packets[begin:end]))
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Callable[..., Result]:
    def start(lake: Path, *captures: str, options: Options | None = None, wanted: Wanted | None = None) -> Result:
        return execute(Job(lambda: spark, str(lake), options or Options()), WITHOUT_VALIDATION, captures, wanted=wanted)

    return start


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Rotated files of two recordings, and one of hours later."""
    folder = tmp_path_factory.mktemp("files")
    return [*parts(folder / "one", CAPTURE, (0.4,)), *parts(folder / "two", HEARTBEATS, (0.5,)), *parts(folder / "later", LATER, ())]


@pytest.fixture(scope="module")
def taken_in(run: Callable[..., Result], files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a run for each file."""
    lake = tmp_path_factory.mktemp("taken") / "lake"
    for path in sorted(files, key=lambda path: "activemq" not in path):
        run(lake, path)
    return lake


@pytest.fixture(scope="module")
def fresh(run: Callable[..., Result], files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What a new lake says with the other options."""
    lake = tmp_path_factory.mktemp("fresh") / "lake"
    run(lake, *files, options=OTHER)
    return rows_of(lake)


@pytest.fixture
def lake(taken_in: Path, tmp_path: Path) -> Path:
    shutil.copytree(taken_in, tmp_path / "lake")
    return tmp_path / "lake"


@pytest.mark.parametrize("at_once", [1 << 20, 30], ids=["at once", "in parts"])
def test_a_source_with_other_options_is_what_a_new_lake_would_be(
    at_once: int, run: Callable[..., Result], fresh: Rows, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reprocess, "AT_ONCE", at_once)
    assert rows_of(lake) != fresh
    result = run(lake, options=OTHER, wanted=Wanted())
    assert result.warnings == []
    assert rows_of(lake) == fresh
    assert len(set(column(lake, "streams", "stream_id"))) == len(column(lake, "streams", "stream_id"))
    assert "reprocess" in column(lake, "runs", "stage")


def test_captures_named_again_have_the_options_that_they_were_computed_again_with(
    run: Callable[..., Result], files: list[str], lake: Path
) -> None:
    run(lake, options=OTHER, wanted=Wanted())
    assert run(lake, *files, options=OTHER).warnings == []
    [warning] = run(lake, *files).warnings
    assert "add --reprocess" in warning


def test_one_stream_changes_its_rows_alone(run: Callable[..., Result], fresh: Rows, lake: Path) -> None:
    before = rows_of(lake)
    ids = column(lake, "sessions", "stream_id")
    name = next(one for one in ids if [row for row in before["frames"] if one in row] != [row for row in fresh["frames"] if one in row])
    run(lake, options=OTHER, wanted=Wanted(streams=(name,)))
    after = rows_of(lake)
    for table in ("frames", "streams", "raw_frames", "sessions", "compliance", "segments"):
        theirs = [row for row in fresh[table] if name in row]
        assert after[table] == sorted([*(row for row in before[table] if name not in row), *theirs]), table
    assert after["frames"] != before["frames"]


def test_open_connections_computed_again_go_on(run: Callable[..., Result], tmp_path: Path) -> None:
    """Between two runs: the next one goes on with them, and says what it would have said."""
    first, second = parts(tmp_path / "parts", HEARTBEATS, (0.4,))
    for name in ("again", "never"):
        run(tmp_path / name, first)
        if name == "again":
            assert "False" in str(column(tmp_path / name, "streams", "final"))
            before = rows_of(tmp_path / name)
            run(tmp_path / name, wanted=Wanted())
            assert rows_of(tmp_path / name) == before
        run(tmp_path / name, second)
    assert rows_of(tmp_path / "again") == rows_of(tmp_path / "never")


def test_connections_of_a_capture_that_is_gone_stay(run: Callable[..., Result], files: list[str], fresh: Rows, lake: Path) -> None:
    """The others are computed again."""
    before = rows_of(lake)
    gone = Path(files[0])
    away = gone.rename(gone.with_suffix(".away"))
    try:
        [warning] = run(lake, options=OTHER, wanted=Wanted()).warnings
    finally:
        away.rename(gone)
    assert str(gone) in warning
    assert "stay as they are" in warning
    after = rows_of(lake)
    assert set(after["frames"]) <= set(before["frames"]) | set(fresh["frames"])
    assert set(after["frames"]) - set(before["frames"])
    assert set(after["frames"]) - set(fresh["frames"])


def test_connections_of_named_captures(run: Callable[..., Result], files: list[str], fresh: Rows, lake: Path) -> None:
    before = rows_of(lake)
    run(lake, files[0], options=OTHER, wanted=Wanted())
    after = rows_of(lake)
    assert set(after["frames"]) - set(before["frames"])
    assert set(after["frames"]) & set(before["frames"]) - set(fresh["frames"])


def test_what_was_forgotten_does_not_come_back(spark: SparkSession, run: Callable[..., Result], lake: Path) -> None:
    gone = sorted(set(column(lake, "streams", "stream_id")))[:3]
    forget(Job(lambda: spark, str(lake), Options()), Criteria(streams=tuple(gone)))
    left = sorted(column(lake, "streams", "stream_id"))
    run(lake, options=OTHER, wanted=Wanted())
    assert sorted(column(lake, "streams", "stream_id")) == left


@pytest.mark.slow
def test_killed_at_any_commit(run: Callable[..., Result], fresh: Rows, taken_in: Path, tmp_path: Path) -> None:
    """Run again, or another run first: the same as if it had not been killed."""
    for commit in count(2, STRIDE):
        lake = tmp_path / str(commit)
        shutil.copytree(taken_in, lake)
        with killed_at(commit):
            try:
                run(lake, options=OTHER, wanted=Wanted())
            except Killed:
                pass
            else:
                break
        if commit % 2:
            run(lake, str(DATA / "rabbitmq_dialogue.pcap.nothing"))
            assert unfinished(str(lake)) == []
        run(lake, options=OTHER, wanted=Wanted())
        assert rows_of(lake) == fresh, f"killed at commit {commit}"
        assert unfinished(str(lake)) == []
        shutil.rmtree(lake)
    assert commit > len(TABLES) - len(OPERATIONS)
