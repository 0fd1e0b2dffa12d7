"""Reports that were made while a run computed metrics are taken by the validation behind it, which finds the same and reads the rest."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.job import Job
from pipelines.metrics import aggregates
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import DataFile
from stompcap.options import Options
from stompcap.quality import ahead, report
from stompcap.quality.ahead import Ahead
from stompcap.quality.report import Asked
from stompcap.tables import TABLES
from tests.quality import lakes
from tests.quality.faults import no_spark, run

AHEAD = ("streams", "raw_frames", "segments", "frames")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of the files that were read."""
    found: list[str] = []
    whole = report.report

    def reading(table: Any, *rest: Any) -> Any:
        found.append(table.name)
        return whole(table, *rest)

    monkeypatch.setattr(report, "report", reading)
    return found


def written(lake: Path) -> list[DataFile]:
    """The files of the tables that a run writes first."""
    return [
        DataFile(name, file.name, file.size, file.rows, "")
        for name in AHEAD
        for file in data_files.of(open_tables.table(str(lake / name)))
    ]


def judged(lake: Path, **options: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "checked_ts"} for row in run(lake, **options)]


def test_a_validation_takes_the_reports_that_are_there_and_finds_the_same(tmp_path: Path, read: list[str]) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    alone = judged(lake)
    every = sorted(read)
    read.clear()
    with ahead.begun(str(lake), written(lake)) as reports:
        assert judged(lake, ahead=reports) == alone
    assert sorted(read) == every  # each file once, by whichever of the two


def test_what_was_asked_for_otherwise_is_not_taken(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    with ahead.begun(str(lake), written(lake)) as reports:
        assert {one.table for one in reports.of(Asked.of_lake(str(lake)), reports.reports)} == set(AHEAD)
        assert not list(reports.of(Asked.of_tables(list(TABLES)), reports.reports))


def test_nothing_is_begun_where_spark_would_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    files = written(lake)
    monkeypatch.setattr(ahead, "DRIVER_ROWS", sum(file.rows for file in files) - 1)
    with ahead.begun(str(lake), files) as reports:
        assert not reports.reports


def test_a_file_that_cannot_be_read_fails_where_its_report_is_asked_for(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    files = written(lake)
    (lake / files[0].table / files[0].path).write_bytes(b"no Parquet")
    with ahead.begun(str(lake), files) as reports, pytest.raises(pa.ArrowInvalid, match="not a parquet file"):
        run(lake, ahead=reports)


def test_a_run_begins_with_them_before_it_computes_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    job, begun = Job(no_spark, str(lake), Options()), list[Ahead | None]()
    job.written = written(lake)
    monkeypatch.setattr(aggregates, "refresh_all", lambda job, *_: begun.append(job.reports))
    with ExitStack() as held:
        job.begin_reports = lambda files: held.enter_context(ahead.begun(str(lake), files))
        aggregates.aggregate(job, [], {})
        assert [one and {table for table, _ in one.reports} for one in begun] == [set(AHEAD)]
