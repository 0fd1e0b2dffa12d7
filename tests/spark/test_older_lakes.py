"""Lakes of older versions go on: what was open in them is what one run over all captures makes of it, or the run says what mends that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.reprocess import Wanted
from pipelines.result import Result
from pipelines.run import STAGES, Run, execute
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.runs import LINEAGE
from tests.e2e.test_older_lakes import MASKED
from tests.lakes.make import MANY, OLDER
from tests.lakes.older import put_back, rows_of, unpacked
from tests.lakes.wire import write

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
        return execute(Run(lambda: spark, str(lake), Options()), STAGES[:-1], captures, wanted=wanted)

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


def said(lake: Path, login: str | None = None) -> dict[str, list[str]]:
    """What the tables say, of all connections or of those of a login."""
    ids = {row["stream_id"] for row in rows_of(lake, "sessions") if row["login"] == login}
    found = {}
    for name in sorted(TABLES.keys() - OWN):
        rows = [{key: value for key, value in row.items() if key not in LINEAGE} for row in rows_of(lake, name)]
        if login is not None:
            rows = [row for row in rows if row.get("stream_id") in ids]
        found[name] = sorted(repr(sorted(row.items())) for row in rows)
    return found


@pytest.mark.parametrize("commit", OLDER)
def test_a_lake_goes_on_where_its_captures_are(commit: str, run: Runs, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    lake = unpacked(commit, tmp_path)
    lakes.bring_up(str(lake))
    new = whole(commit)
    put_back(lake, Path(new.before).parent)
    assert run(lake, [new.after]).warnings == []
    found = said(lake)
    assert {name for name in new.rows if found[name] != new.rows[name]} == (MASKED if commit == "dea8dce" else set())


@pytest.mark.parametrize("commit", OLDER)
def test_a_lake_goes_on_where_its_captures_are_gone(commit: str, run: Runs, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    """What passcodes the connections gave is not known any more; a state that cannot be taken up is told of, and its rows stay."""
    lake = unpacked(commit, tmp_path)
    before = {row["stream_id"]: row for row in rows_of(lake, "streams")}
    frames = rows_of(lake, "frames")
    new = whole(commit)
    warnings = run(lake, [new.after]).warnings
    streams = {row["stream_id"]: row for row in rows_of(lake, "streams")}
    assert before.keys() <= streams.keys()
    if warnings:
        assert commit not in OF_SEGMENTS
        [warning] = warnings
        assert "cannot go on from the state that another version left" in warning
        assert "stompcap run --reprocess" in warning
        assert len(streams) == 3
        kept = [row for row in rows_of(lake, "frames") if row["stream_id"] in before]
        assert len(kept) >= len(frames)
    else:
        assert len(streams) == 2
    for row in rows_of(lake, "deliveries"):
        assert row["status"] in ("settled", "unsettled", "open", "unknown")
    put_back(lake, Path(new.before).parent)
    assert run(lake, [], Wanted()).warnings == []
    found = said(lake)
    assert [name for name in new.rows if found[name] != new.rows[name]] == []
