"""Upkeep of a table: small files become few, clustered; no row changes, and no reader is disturbed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pipelines.ingest import ledger
from stompcap.cli import entry
from stompcap.lake import data_files, delta_log, maintenance
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from tests.report.sample import START, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
DAY_NS = 24 * 3600 * 10**9
OLD_S = 8 * 24 * 3600
HEADERS = [{"name": "destination", "value": "/queue/a"}, {"name": "destination", "value": None}]


def frame(day: int, stream: str) -> dict[str, Any]:
    """A frame of a stream on some day."""
    first = START + day * DAY_NS
    return {"stream_id": stream, "direction": "c2s", "stream_offset": day, "first_ns": first, "last_ns": first, "headers": HEADERS,
            "header": [("destination", "/queue/a")], "decode_errors": ["FR-01"], "first_ts": first // 1000}  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """Frames of six days, a file each, in no order; and what a killed task has left behind."""
    lake = str(tmp_path / "a lake [1]")
    lakes.create(lake)
    for day in (4, 0, 3, 5, 1, 2):
        lakes.append(lake, "frames", table("frames", [frame(day, stream) for stream in "cab"]), [f"unit {day}"], "run")
    left, new = (Path(location(lake, "frames"), f"part-{name}.zstd.parquet") for name in ("left", "new"))
    left.write_bytes(b"left")
    new.write_bytes(b"new")
    os.utime(left, (time.time() - OLD_S, time.time() - OLD_S))
    return lake


def rows(delta: DeltaTable) -> list[str]:
    return sorted(map(repr, delta.to_pyarrow_table().to_pylist()))


@pytest.mark.parametrize("most", [maintenance.DRIVER_OCTETS, 0], ids=["in this process", "by Spark"])
def test_small_files_become_few_in_order_of_time(most: int, lake: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    before = DeltaTable(location(lake, "frames"))
    octets = sum(file.size for file in data_files.of(before))
    monkeypatch.setattr(maintenance, "DRIVER_OCTETS", most)
    monkeypatch.setattr(maintenance, "TARGET_OCTETS", octets // 2 + 10)
    done = maintenance.maintain(lambda: spark, lake, "frames", 168)
    after = DeltaTable(location(lake, "frames"))
    assert (done.table, done.files_before, done.files_after, done.removed) == ("frames", 6, 2, 1)
    assert (done.octets_before, done.octets_after) == (octets, sum(file.size for file in data_files.of(after)))
    held = [pq.ParquetFile(path).read() for path in data_files.uris(after)]
    assert sorted(sorted({row["stream_offset"] for row in part.to_pylist()}) for part in held) == [[0, 1, 2], [3, 4, 5]]
    assert all(part.column("stream_id").to_pylist() == sorted("abc" * 3) for part in held)
    assert rows(after) == rows(before) == rows(DeltaTable(location(lake, "frames"), version=before.version()))
    assert delta_log.changes(after, before.version()) == []
    assert {path.name for path in Path(location(lake, "frames")).glob("part-[ln]*")} == {"part-new.zstd.parquet"}


def no_spark() -> SparkSession:
    raise AssertionError("little is to be done")


def test_a_second_time_nothing_is_to_be_done(lake: str) -> None:
    maintenance.maintain(no_spark, lake, "frames", 168)
    before = DeltaTable(location(lake, "frames")).file_uris()
    done = maintenance.maintain(no_spark, lake, "frames", 168)
    assert DeltaTable(location(lake, "frames")).file_uris() == before
    assert (done.files_before, done.files_after, done.removed) == (1, 1, 0)


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def test_the_command_says_what_it_did(lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        ledger.record(lake, f"run {number}", "extract", ledger.now(), [], {}, {})
    assert called(monkeypatch, "maintain", "--lake", lake, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    figures = {one["table"]: (one["files_before"], one["files_after"], one["removed"]) for one in told["tables"]}
    assert figures["frames"] == (6, 1, 1)
    assert figures["runs"] == (3, 1, 0)
    assert (told["total"]["files_before"], told["total"]["files_after"], told["total"]["removed"]) == (9, 2, 1)
    assert called(monkeypatch, "maintain", "--lake", lake) == 0
    assert "total" in capsys.readouterr().out
