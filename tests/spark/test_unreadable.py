"""Captures that cannot be read, in a lake: their row says why, the others are as if they had not been named, and they are tried again."""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle

from pipelines.ingest import extract, ledger
from pipelines.intake import WHOLE
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import execute
from stompcap import capture
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from stompcap.options import Options
from stompcap.spark.workers.read import Read
from stompcap.spark.workers.worker import Batches
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
GOOD, BAD = DATA / "activemq_aftermath.pcap", DATA / "rabbitmq_stalls.pcap"
AGAIN = "again.pcap"
SECRET = "hunter2"


class Fails(Read):
    """Fails at one capture, behind its first segments, on whatever worker it runs."""

    def _segments(self, split: capture.Split, rank: int) -> Batches:
        yield from super()._segments(split, rank)
        if Path(split.path).name in (BAD.name, AGAIN):
            raise KeyError(SECRET)


def run(spark: SparkSession, lake: Path, *paths: Path, **options: Any) -> Result:
    return execute(Job(lambda: spark, str(lake), Options(**options)), ("extract", *WHOLE), [str(path) for path in paths])


def captures(lake: Path) -> dict[str, dict[str, Any]]:
    rows = lakes.small(str(lake), "captures").to_pylist()
    assert len({row["capture_id"] for row in rows}) == len(rows)
    return {Path(row["path"]).name: row for row in rows}


def counts(lake: Path, *left_out: str) -> dict[str, int]:
    tables = ("streams", "raw_frames", "frames", "sessions", "deliveries", "compliance_findings", "ack_latency")
    return {name: lakes.small(str(lake), name).num_rows for name in tables if name not in left_out}


def statuses(result: Result) -> dict[str, str | None]:
    return {Path(str(one["path"])).name: one["status"] for one in result.captures}


def test_a_capture_at_which_a_task_fails(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    monkeypatch.setattr(extract, "Read", Fails)
    again = Path(shutil.copy(BAD, tmp_path / AGAIN))
    lake, plain = tmp_path / "lake", tmp_path / "plain"
    try:
        result = run(spark, lake, GOOD, BAD, again)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        monkeypatch.undo()
    assert result.status == "incomplete"
    assert statuses(result) == {GOOD.name: "complete", BAD.name: "unreadable", again.name: "unreadable"}
    (line,) = result.refused
    assert "KeyError" in line
    assert SECRET not in line
    good, row = sorted(captures(lake).values(), key=lambda row: row["status"])
    assert (good["status"], row["status"], row["packets"]) == ("complete", "unreadable", None)
    assert {row["capture_id"]} == {one["capture_id"] for one in result.captures if one["status"] == "unreadable"}
    assert line == f"{row['path']}: {row['damage']}"
    assert [one["capture_id"] for one in ledger.known(str(lake))] == [good["capture_id"]]
    assert ledger.pending(str(lake), ["frames"]) == []
    inputs = [one["inputs"] for one in lakes.small(str(lake), "runs").to_pylist() if one["stage"] == "extract"]
    assert inputs == [[good["capture_id"]]]
    run(spark, plain, GOOD)
    assert counts(lake) == counts(plain)
    mended = run(spark, lake, GOOD, BAD)
    assert (mended.status, mended.refused) == ("done", [])
    assert statuses(mended) == {GOOD.name: "known", BAD.name: "complete"}
    assert {row["status"] for row in captures(lake).values()} == {"complete"}
    run(spark, plain, BAD)
    assert counts(lake) == counts(plain)
    assert set(statuses(run(spark, lake, GOOD, BAD)).values()) == {"known"}


def test_a_capture_that_is_over_a_limit_until_that_is_raised(spark: SparkSession, tmp_path: Path) -> None:
    path, lake = tmp_path / "large.pcap.gz", tmp_path / "lake"
    path.write_bytes(gzip.compress(BAD.read_bytes()))
    for _ in range(2):
        result = run(spark, lake, path, max_decompressed=1000)
        assert (result.status, statuses(result)) == ("incomplete", {path.name: "unreadable"})
        assert "--max-decompressed" in result.refused[0]
    row = captures(lake)[path.name]
    assert (row["status"], row["format"], row["compression"], row["size_octets"]) == ("unreadable", "pcap", "gzip", path.stat().st_size)
    assert "--max-decompressed" in row["damage"]
    version = lakes.DeltaTable(location(str(lake), "captures")).version()
    run(spark, lake, path, max_decompressed=1000)
    assert lakes.DeltaTable(location(str(lake), "captures")).version() == version
    run(spark, lake, path, max_decompressed=2000)
    assert "2000" in captures(lake)[path.name]["damage"]
    assert statuses(run(spark, lake, path)) == {path.name: "complete"}
    assert captures(lake)[path.name]["status"] == "complete"
    assert len(captures(lake)) == 1
    assert statuses(run(spark, lake, path, max_decompressed=1000)) == {path.name: "known"}


def test_a_file_that_is_written_anew_takes_the_place_of_what_could_not_be_read(spark: SparkSession, tmp_path: Path) -> None:
    path, lake = tmp_path / "large.pcap.gz", tmp_path / "lake"
    for octets in (GOOD.read_bytes(), BAD.read_bytes()):
        path.write_bytes(gzip.compress(octets))
        run(spark, lake, path, max_decompressed=1000)
        assert [row["size_octets"] for row in captures(lake).values()] == [path.stat().st_size]
    path.write_bytes(BAD.read_bytes())
    assert statuses(run(spark, lake, path)) == {path.name: "complete"}
    assert [row["status"] for row in captures(lake).values()] == ["complete"]


def test_what_is_no_capture_or_cannot_be_opened_has_no_row(spark: SparkSession, tmp_path: Path) -> None:
    text, lake = tmp_path / "notes.pcap", tmp_path / "lake"
    text.write_text("not a capture at all")
    result = run(spark, lake, text, tmp_path / "gone.pcap")
    assert len(result.refused) == 2
    assert captures(lake) == {}
