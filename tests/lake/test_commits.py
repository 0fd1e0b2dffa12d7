"""Commits to a table: small files that are too many are merged as far as they fit memory, final rows come by themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.run import demand_settled
from stompcap.errors import EnvironmentProblem
from stompcap.lake import commits, data_files
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo
from stompcap.lake.finality import stored
from stompcap.lake.open_rows import OpenRows
from stompcap.lake.paths import DataFile, location
from stompcap.lake.removal import Streams, exchange
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES
from tests.examples import slow_behind
from tests.killed import Killed, killed_at
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = commits.MOST_SMALL + 1


def no_spark() -> SparkSession:
    raise AssertionError("a small table needs no Spark")


@pytest.mark.parametrize(("fit", "left"), slow_behind(1, [(5, FILES - 4), (FILES, 1), (2, FILES - 1)], several=True))
def test_as_many_small_files_are_merged_as_fit_memory(fit: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commits.COMPACTED_OCTETS == 32 << 20
    where = location(str(tmp_path), "stalls")
    DeltaTable.create(where, schema=TABLES["stalls"].arrow)
    rows = table("stalls", [{"stream_id": "s", "direction": "c2s"}])
    size = commits.written(str(tmp_path), "stalls", rows)[0].size
    monkeypatch.setattr(commits, "COMPACTED_OCTETS", fit * size)
    for number in range(FILES):
        lakes.append(str(tmp_path), "stalls", rows, [f"batch {number}"], "run")
    assert len(data_files.of(DeltaTable(where))) == left
    assert DeltaTable(where).to_pyarrow_table().num_rows == FILES


def test_a_file_is_not_written_again_with_files_that_are_much_smaller(tmp_path: Path) -> None:
    lake, where = str(tmp_path), location(str(tmp_path), "stalls")
    DeltaTable.create(where, schema=TABLES["stalls"].arrow)
    large = table("stalls", [{"stream_id": f"{number * 0x9E3779B97F4A7C15 % 2**64:x}", "direction": "c2s"} for number in range(9000)])
    lakes.append(lake, "stalls", large, ["large"], "run")
    [name] = [file.name for file in data_files.of(DeltaTable(where))]
    for number in range(FILES - 1):
        lakes.append(lake, "stalls", table("stalls", [{"stream_id": "s", "direction": "c2s"}]), [f"batch {number}"], "run")
    held = data_files.of(DeltaTable(where))
    assert sorted(file.rows for file in held) == [FILES - 1, 9000]
    assert name in {file.name for file in held}


def followed(folder: Path) -> tuple[str, str]:
    """A lake with an empty table that has a change feed, and where that lies."""
    where = location(str(folder), "stalls")
    DeltaTable.create(where, schema=stored(TABLES["stalls"]), configuration={"delta.enableChangeDataFeed": "true"})
    return str(folder), where


def files(lake: Path, stream: str, prefix: str = "") -> list[DataFile]:
    """A file of one row, which names of open connections' files begin with `prefix`."""
    writer = TableWriter(str(lake), "stalls", prefix)
    writer.write(table("stalls", [{"stream_id": stream, "direction": "c2s"}]))
    return [made for made in [writer.close()] if made is not None]


def streams(lake: Path) -> list[tuple[str, bool]]:
    rows = DeltaTable(location(str(lake), "stalls")).to_pyarrow_table(columns=["stream_id", "final"]).to_pylist()
    return sorted((row["stream_id"], row["final"]) for row in rows)


def test_final_rows_are_committed_apart_and_a_killed_batch_gets_the_rest(tmp_path: Path) -> None:
    lake, where = followed(tmp_path)
    lakes.commit(lake, "stalls", files(tmp_path, "a", "open-x-"), ["first"], "run")
    again = OpenRows("open-x-", again=pa.array(["a"]))
    with killed_at(1), pytest.raises(Killed):
        lakes.commit(lake, "stalls", files(tmp_path, "a") + files(tmp_path, "b", "open-x-"), ["second"], "run", again)
    assert streams(tmp_path) == [("a", False), ("a", True)]
    assert commits.half_brought(lake, "stalls")
    with pytest.raises(EnvironmentProblem, match="a run was killed while it committed table stalls; finish it first"):
        demand_settled(lake, "stalls")
    lakes.commit(lake, "stalls", files(tmp_path, "a") + files(tmp_path, "b", "open-x-"), ["second"], "run", again)
    assert streams(tmp_path) == [("a", True), ("b", False)]
    demand_settled(lake, "stalls")
    feed = DeltaTable(where).load_cdf(starting_version=0).read_all()
    changes = pa.table(feed).select(["_commit_version", "_change_type", "stream_id", "final"]).to_pylist()
    assert sorted(tuple(row.values()) for row in changes) == [
        (1, "insert", "a", False), (2, "insert", "a", True), (3, "delete", "a", False), (3, "insert", "b", False)
    ]  # fmt: skip


def test_final_rows_of_a_batch_that_cannot_be_finished_are_taken_back_until_it_can(tmp_path: Path) -> None:
    lake, _ = followed(tmp_path)
    again = OpenRows("open-x-", again=pa.array(["a"]))
    lakes.commit(lake, "stalls", files(tmp_path, "a", "open-x-"), ["first"], "run")
    with killed_at(1), pytest.raises(Killed):
        lakes.commit(lake, "stalls", files(tmp_path, "a"), ["second"], "run", again)
    for _ in range(2):
        commits.take_back(lake, "stalls", "second", "run")
        assert streams(tmp_path) == [("a", False)]
        assert not commits.half_brought(lake, "stalls")
    lakes.commit(lake, "stalls", files(tmp_path, "a"), ["second"], "run", again)
    assert streams(tmp_path) == [("a", True)]


def test_rows_computed_again_are_there_once_though_others_put_those_of_a_killed_batch_together(tmp_path: Path) -> None:
    lake, where = followed(tmp_path)
    lakes.commit(lake, "stalls", files(tmp_path, "a") + files(tmp_path, "b"), ["first"], "run")
    info, removed = CommitInfo("run", ("second",)), Streams(pa.array(["a"]), None)
    with killed_at(1), pytest.raises(Killed):
        exchange(no_spark, lake, "stalls", removed, files(tmp_path, "a"), info)
    assert streams(tmp_path) == [("a", True), ("a", True), ("b", True)]
    DeltaTable(where).optimize.compact()
    assert exchange(no_spark, lake, "stalls", removed, files(tmp_path, "a"), info) == 1
    assert streams(tmp_path) == [("a", True), ("b", True)]


def test_entries_of_the_log_that_are_too_old_go_with_some_commits_and_no_other_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commits.CLEANED_UP == 100
    monkeypatch.setattr(commits, "CLEANED_UP", 25)
    where = location(str(tmp_path), "stalls")
    DeltaTable.create(where, schema=TABLES["stalls"].arrow, configuration={"delta.checkpointInterval": "10"})
    delta, log = DeltaTable(where), Path(where, "_delta_log")
    left = list[int]()
    for version in range(1, 26):
        commits.replace_files(delta, files(tmp_path, "a"), [], CommitInfo("run"))
        delta.update_incremental()
        if version == 20:
            for entry in log.iterdir():
                os.utime(entry, (0, 0))
        left.append(len([*log.glob("*.json")]))
    assert left == [*range(2, 26), 7]  # those from the checkpoint of version 19 on
    assert DeltaTable(where).to_pyarrow_table().num_rows == 25
