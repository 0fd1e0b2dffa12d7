"""Files that runs have replaced do not pile up, and no file that a reader may need goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.lake import commits, delta_log, maintenance, replaced
from stompcap.lake import tables as lakes
from stompcap.lake.open_rows import OpenRows
from stompcap.lake.paths import DataFile
from stompcap.lake.table_writer import TableWriter
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "open-0-"


def written(lake: Path, number: int, prefix: str) -> DataFile:
    writer = TableWriter(str(lake), "stalls", prefix)
    writer.write(table("stalls", [{"stream_id": f"{number}", "begin_ns": number, "end_ns": number}]))
    file = writer.close()
    assert file is not None
    return file


def run(lake: Path, runs: int, prefixes: tuple[str, ...] = ("", PREFIX)) -> None:
    """As many batches, each of which takes one stream further, and has another that is final."""
    lakes.create(str(lake))
    for number in range(runs):
        files = [written(lake, number, prefix) for prefix in prefixes]
        lakes.commit(str(lake), "stalls", files, [f"{number}"], "r", OpenRows(PREFIX, pa.array([f"{number - 1}"])))


def kinds(lake: Path) -> tuple[int, int]:
    """How many files there are of final rows, and of open streams."""
    names = [file.name for file in (lake / "stalls").glob("*.parquet")]
    return sum(name.startswith("part-") for name in names), sum(name.startswith(PREFIX) for name in names)


@pytest.mark.parametrize(("kept_s", "left"), [(0, (12, 1)), (3600, (12, 12))], ids=["none", "for an hour"])
def test_replaced_files(kept_s: int, left: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced, "KEPT_S", [kept_s])
    monkeypatch.setattr(replaced, "EVERY", 4)
    monkeypatch.setattr(commits, "MOST_SMALL", 12)
    run(tmp_path, 12)
    assert kinds(tmp_path) == left
    assert DeltaTable(str(tmp_path / "stalls")).to_pyarrow_table().num_rows == 13


@pytest.mark.slow
def test_files_that_were_put_together_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced, "KEPT_S", [0])
    monkeypatch.setattr(commits, "MOST_SMALL", 6)
    run(tmp_path, 42)
    assert max(kinds(tmp_path)) <= 20
    assert DeltaTable(str(tmp_path / "stalls")).to_pyarrow_table().num_rows == 43


@pytest.mark.parametrize("first", [1, 6, 12])
def test_where_others_cleaned_the_log_only_files_that_it_still_names_are_kept(first: int, tmp_path: Path) -> None:
    """Versions before `first` are gone, and nobody can read what they alone had: with them goes what says when it was replaced."""
    run(tmp_path, 12, (PREFIX,))
    where = tmp_path / "stalls"
    before = DeltaTable(str(where)).to_pyarrow_table().sort_by("stream_id")
    DeltaTable(str(where)).create_checkpoint()
    for number in range(first):
        (where / "_delta_log" / f"{number:020d}.json").unlink()
    kept = len([*delta_log.removed(DeltaTable(str(where)))])
    assert (replaced.drop(str(tmp_path), "stalls"), kinds(tmp_path)) == (11 - kept, (0, 1 + kept))
    assert DeltaTable(str(where)).to_pyarrow_table().sort_by("stream_id") == before


@pytest.mark.slow
def test_maintain_deletes_what_no_run_has_come_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_SMALL", 12)
    run(tmp_path, 12)
    monkeypatch.setattr(replaced, "KEPT_S", [0])
    done = maintenance.maintain(no_spark, str(tmp_path), "stalls", 168)
    assert (done.removed, kinds(tmp_path)) == (11 + 12, (1, 1))


def no_spark() -> SparkSession:
    raise AssertionError("little is to be done")
