"""Two capture points under one source through Spark: the first gives all rows, the run says so; in any order of runs the same."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from benchmarks.rotation import rotated
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.quality.wording import ONE_POINT
from tests.e2e.cutting import cut
from tests.e2e.test_capture_points import COPIES, tapped
from tests.examples import THOROUGH
from tests.spark.test_reprocess import CAPTURE, HEARTBEATS, Rows, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MS, HOUR = 1_000, 3_600_000_000  # microseconds
Start = Callable[..., Result]
ORDERS = [
    (order, *tap) for row, order in enumerate(("a b", "b a", "b c a", "a c b"))
    for column, tap in enumerate([(17 * MS // 10, 0.25), (HOUR, 0), (-HOUR, 0)]) if THOROUGH or row % 3 == column
]  # fmt: skip
"""Every order of runs, with one of the other tap's clocks, each of which comes up; with all of them in the thorough profile."""


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Start:
    def start(lake: Path, *captures: str, stages: Sequence[str] = STAGES[:-1]) -> Result:
        return execute(Job(lambda: spark, str(lake), Options()), stages, captures)

    return start


@pytest.fixture(scope="module")
def alone(run: Start, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What the first tap has."""
    lake = tmp_path_factory.mktemp("alone")
    run(lake, str(CAPTURE))
    return of_packets(lake)


def of_packets(lake: Path) -> Rows:
    """What the packets say but for the count of duplicates."""
    found = rows_of(lake, *COPIES, state=False)
    del found["captures"]
    return found


def between(folder: Path) -> str:
    """Other connections, ten minutes after those of CAPTURE, which are over by then."""
    begins = [struct.unpack_from("<I", path.read_bytes(), 24)[0] for path in (CAPTURE, HEARTBEATS)]
    return tapped(HEARTBEATS, folder, (begins[0] - begins[1] + 600) * 1_000_000, lost=0)


def told(lake: Path, result: Result, *captures: str) -> None:
    """A warning and a row of the last validation name both captures, their share, and what mends it."""
    [check] = [
        row for row in DeltaTable(str(lake / "quality_results")).to_pyarrow_table().to_pylist()
        if row["expectation"] == ONE_POINT and row["run_id"] == result.run_id
    ]  # fmt: skip
    assert not check["success"]
    for said in (*result.warnings, check["message"]):
        assert all(path in said for path in captures)
        assert "captured at two points" in said
        assert said.endswith("give each a --source")
    assert json.loads(check["observed"])["first"][0]["paths"] == [*captures]  # first that of which the rows are


@pytest.mark.parametrize("order", ["ab", "a b", "b a"], ids=["one run", "two runs", "the other first"])
def test_tables_are_those_of_the_first(order: str, run: Start, alone: Rows, tmp_path: Path) -> None:
    paths = {"a": str(CAPTURE), "b": tapped(CAPTURE, tmp_path, 17 * MS // 10, lost=0.02)}
    for some in order.split():
        result = run(tmp_path / "lake", *(paths[name] for name in some), stages=STAGES)
    assert of_packets(tmp_path / "lake") == alone
    [said] = result.warnings
    assert " TCP segments (100 % of the smaller file) are in both" in said
    told(tmp_path / "lake", result, *paths.values())
    streams = DeltaTable(str(tmp_path / "lake" / "streams")).to_pyarrow_table()
    assert sum(sum(streams.column(name).to_pylist()) for name in COPIES[:2]) > 400


@pytest.mark.parametrize(("order", "delay_us", "begin"), ORDERS)
def test_in_two_runs_as_in_one(order: str, delay_us: int, begin: float, run: Start, tmp_path: Path) -> None:
    """Also halves that overlap; where the clock of one is an hour off; and where connections are over by other packets in between."""
    first, _ = cut(CAPTURE, tmp_path, [0.75]) if begin else (str(CAPTURE), "")
    paths = {"a": first, "b": tapped(CAPTURE, tmp_path, delay_us, lost=0, begin=begin)} | ({"c": between(tmp_path)} if "c" in order else {})
    for name in order.split():
        result = run(tmp_path / "lake", paths[name])
    [said] = [said for said in result.warnings if "captured at two points" in said]
    assert all(paths[name] in said for name in "ab")
    run(tmp_path / "together", *paths.values())
    assert rows_of(tmp_path / "lake", "other_points") == rows_of(tmp_path / "together", "other_points")


@pytest.mark.parametrize("files", [1, 2], ids=["closed", "open"])
def test_a_busy_connection_in_two_runs_as_in_one(files: int, run: Start, tmp_path: Path) -> None:
    _, (whole, *_) = rotated(tmp_path, 1, 12_000 * files, files)
    other = tapped(whole, tmp_path, HOUR, lost=0)
    run(tmp_path / "lake", str(whole))
    assert lakes.small(str(tmp_path / "lake"), "stream_state", ["pieces"]).column("pieces").null_count < 8192
    [said] = run(tmp_path / "lake", other).warnings
    assert "captured at two points" in said
    run(tmp_path / "together", str(whole), other)
    assert rows_of(tmp_path / "lake", "other_points", state=False) == rows_of(tmp_path / "together", "other_points", state=False)


def test_where_captures_are_gone_it_is_said(run: Start, tmp_path: Path) -> None:
    first = tmp_path / "first.pcap"
    first.write_bytes(CAPTURE.read_bytes())
    other = tapped(CAPTURE, tmp_path, HOUR, lost=0)
    for path in (str(first), between(tmp_path)):
        run(tmp_path / "lake", path)
    first.unlink()
    result = run(tmp_path / "lake", other, stages=STAGES)
    told(tmp_path / "lake", result, str(first), other)
