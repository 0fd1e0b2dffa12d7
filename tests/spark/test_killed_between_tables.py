"""A run killed when raw_frames has its rows and stream_state has not: octets of captures that are gone are those of the states."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.options import Options
from tests.e2e.cutting import FILE_HEADER, cut, records
from tests.e2e.truth import DATA
from tests.killed import Killed, killed_between
from tests.spark.test_killed import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
RUN_STAGES = [stage for stage in STAGES if stage != "validate"]
CAPTURED = ["stream_id", "direction", "stream_offset", "length_octets", "kind", "raw"]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Callable[..., Result]:
    """A run over captures into a lake."""

    def start(lake: Path, *captures: str) -> Result:
        return execute(Job(lambda: spark, str(lake), Options()), RUN_STAGES, captures)

    return start


def begun(run: Callable[..., Result], folder: Path) -> tuple[Path, list[str]]:
    """A lake whose first capture is gone, and the others."""
    first, *others = cut(DATA / "rabbitmq_midstream.pcap", folder, [0.3, 0.6])
    run(folder / "lake", first)
    Path(first).unlink()
    assert DeltaTable(str(folder / "lake" / "stream_state")).to_pyarrow_table().num_rows
    return folder / "lake", others


def captured(lake: Path) -> pa.Table:
    """Rows of raw_frames."""
    return DeltaTable(str(lake / "raw_frames")).to_pyarrow_table().select(CAPTURED)


def batches(lake: Path) -> set[str]:
    """The batches that are in table captures."""
    return set(DeltaTable(str(lake / "captures")).to_pyarrow_table().column("batch_id").to_pylist())


def test_the_next_run_finishes_it(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    lake, (second, third) = begun(run, tmp_path / "a")
    with killed_between("raw_frames", "stream_state"), pytest.raises(Killed):
        run(lake, second)
    assert [line for line in run(lake, second, third).warnings if "is finished first" in line]
    other, captures = begun(run, tmp_path / "b")
    for capture in captures:
        run(other, capture)
    found, expected = rows_of(lake), rows_of(other)
    assert {name for name in expected if found[name] != expected[name]} <= {"captures", "stream_state"}, "these have paths"


def a_day_later(path: str) -> None:
    """Change the times of a capture, so that nothing before it is open any more."""
    octets = Path(path).read_bytes()
    later = [struct.pack("<I", struct.unpack_from("<I", record)[0] + 86400) + record[4:] for record in records(octets)]
    Path(path).write_bytes(octets[:FILE_HEADER] + b"".join(later))


def test_where_it_cannot_be_finished_no_octet_of_the_first_capture_is_lost(run: Callable[..., Result], tmp_path: Path) -> None:
    """The run that was killed had made final what the states go on with."""
    lake, (second, third) = begun(run, tmp_path)
    a_day_later(second)
    known = batches(lake)
    before = captured(lake).filter(pa.compute.field("kind") == "frame").to_pylist()
    with killed_between("raw_frames", "stream_state"), pytest.raises(Killed):
        run(lake, second)
    shutil.move(second, tmp_path / "away")
    assert [line for line in run(lake, third).warnings if "put these files back" in line]
    rows = DeltaTable(str(lake / "raw_frames")).to_pyarrow_table()
    (batch,) = batches(lake) - known
    after = rows.filter(pa.compute.field("batch_id") == batch).select(CAPTURED)
    assert {repr(row) for row in before} <= {repr(row) for row in after.to_pylist()}
    told = execute(Job(lambda: pytest.fail("a small lake needs no Spark"), str(lake), Options()), ["validate"], whole=True).warnings
    assert [line for line in told if line.startswith("quality: batches: 1 of 3 batches was begun by a run that was killed, and its rows")]
    repeated = ("quality: raw_frames: ", "quality: streams: ")  # whether streams is committed too is a matter of threads
    assert [line for line in told if line.startswith(repeated) and " of another (stream_id " in line]
