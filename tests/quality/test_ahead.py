"""Reports that were made while a run computed metrics are taken by the validation behind it, which finds the same and reads the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.job import Job
from pipelines.locking import lock
from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import DataFile
from stompcap.options import Options
from stompcap.quality import ahead
from stompcap.quality.ahead import Ahead
from stompcap.quality.report import Asked
from stompcap.tables import TABLES
from tests.quality import lakes
from tests.quality.faults import no_spark, run

AHEAD = ("streams", "raw_frames", "segments", "frames")


def written(lake: Path) -> list[DataFile]:
    """The files of the tables that a run writes first."""
    return [
        DataFile(name, file.name, file.size, file.rows, "")
        for name in AHEAD
        for file in data_files.of(open_tables.table(str(lake / name)))
    ]


@contextmanager
def begun(lake: Path, files: list[DataFile]) -> Iterator[Ahead]:
    with closing(Ahead(str(lake))) as reports:
        reports.begin(files)
        yield reports


def judged(lake: Path, **options: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "checked_ts"} for row in run(lake, **options)]


def test_a_validation_takes_the_reports_that_are_there_and_finds_the_same(tmp_path: Path, read: list[str]) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    alone = judged(lake)
    every = sorted(read)
    read.clear()
    with begun(lake, written(lake)) as reports:
        assert judged(lake, ahead=reports) == alone
    assert sorted(read) == every  # each file once, by whichever of the two


def test_what_was_asked_for_otherwise_is_not_taken(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    with begun(lake, written(lake)) as reports:
        keys = [(file.table, file.path) for file in written(lake)]
        assert {one.table for one in reports.of(Asked.of_lake(str(lake)), keys)} == set(AHEAD)
        assert not list(reports.of(Asked.of_tables(list(TABLES)), keys))


def test_nothing_is_begun_where_spark_would_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    files = written(lake)
    monkeypatch.setattr(ahead, "DRIVER_ROWS", sum(file.rows for file in files) - 1)
    with begun(lake, files) as reports:
        assert not list(reports.of(Asked.of_lake(str(lake)), [(file.table, file.path) for file in files]))


def test_a_file_that_cannot_be_read_fails_where_its_report_is_asked_for(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    files = written(lake)
    (lake / files[0].table / files[0].path).write_bytes(b"no Parquet")
    with begun(lake, files) as reports, pytest.raises(pa.ArrowInvalid, match="not a parquet file"):
        run(lake, ahead=reports)


def test_a_run_begins_with_them_when_it_has_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lakes.write(tmp_path / "lake", lakes.tables())
    job, files = Job(no_spark, str(lake), Options()), written(lake)
    monkeypatch.setattr(lock, "demand", lambda _: None)
    with begun(lake, []) as job.ahead:
        job.commit(files, "batch", {}, [])
        assert {one.table for one in job.ahead.of(Asked.of_lake(str(lake)), [(file.table, file.path) for file in files])} == set(AHEAD)
