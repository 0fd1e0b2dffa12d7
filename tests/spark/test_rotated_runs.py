"""A rotated capture in a run for each file: the tables are those of one run, and right for every reader in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from deltalake import DeltaTable

from benchmarks.rotation import rotated
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.capture.by_rank import CapturesByRank
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.cutting import cut
from tests.e2e.runs import LINEAGE
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
OWN = {"captures", "runs", "batches", "quality_results", "stream_state"}
CAPTURE = DATA / "rabbitmq_dialogue.pcap"
READ_BY_SPARK = ("streams", "stream_state", "frames", "deliveries", "ack_latency")
"""Some of each kind; it takes seconds for each."""


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Callable[..., Result]:
    """Some stages of a run over captures into a lake."""

    def start(lake: Path, captures: list[str], *stages: str) -> Result:
        return execute(Job(lambda: spark, str(lake), Options()), stages or STAGES[:-1], captures)

    return start


def rows_of(lake: Path) -> dict[str, list[str]]:
    found = {}
    for name in TABLES.keys() - OWN:
        table = DeltaTable(str(lake / name)).to_pyarrow_table()
        found[name] = sorted(map(repr, table.drop_columns([one for one in LINEAGE if one in table.column_names]).to_pylist()))
    return found


@pytest.fixture(scope="module")
def whole(run: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    lake = tmp_path_factory.mktemp("whole")
    run(lake, [str(CAPTURE)])
    return rows_of(lake)


def test_a_run_for_each_file(run: Callable[..., Result], whole: dict[str, list[str]], spark: SparkSession, tmp_path: Path) -> None:
    lake, captures = tmp_path / "lake", cut(CAPTURE, tmp_path, [0.3, 0.4, 0.8])
    for number, capture in enumerate(captures):
        run(lake, captures[: number + 1] if number % 2 else [capture])
        for name in TABLES:
            counts = {lakes.small(str(lake), name).num_rows}
            if number % 2 and name in READ_BY_SPARK:
                counts.add(spark.read.format("delta").load(str(lake / name)).count())
            files = DeltaTable(str(lake / name)).file_uris()
            [(count,)] = duckdb.sql(f"SELECT count(*) FROM read_parquet({files!r})").fetchall() if files else [(0,)]
            assert {count} == counts, name
    assert rows_of(lake) == whole
    run(lake, captures)
    assert rows_of(lake) == whole


def test_captures_of_earlier_runs_may_be_sent_once(
    run: Callable[..., Result], whole: dict[str, list[str]], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a lake knows many: tasks are given those that they read, and ask for others where connections go on."""
    sent, real = list[CapturesByRank](), spark.sparkContext.broadcast
    monkeypatch.setattr("stompcap.spark.shared.FEW", 0)
    monkeypatch.setattr(spark.sparkContext, "broadcast", lambda value: sent.append(value) or real(value))
    lake, captures = tmp_path / "lake", cut(CAPTURE, tmp_path, [0.3, 0.6])
    for capture in captures:
        run(lake, [capture])
    assert [len(known) for known in sent] == [2, 3]
    assert rows_of(lake) == whole


def test_stages_one_by_one_and_late(run: Callable[..., Result], whole: dict[str, list[str]], tmp_path: Path) -> None:
    """Bronze is two files ahead when the others are decoded; sessions are a file behind."""
    lake, captures = tmp_path / "lake", cut(CAPTURE, tmp_path, [0.3, 0.6])
    run(lake, captures[:1], "extract")
    run(lake, [], "decode")
    run(lake, captures[1:2], "extract")
    run(lake, [], "correlate")
    run(lake, captures[2:], "extract")
    for stage in ("decode", "correlate", "metrics"):
        run(lake, [], stage)
    assert rows_of(lake) == whole


def test_a_growing_capture(run: Callable[..., Result], whole: dict[str, list[str]], tmp_path: Path) -> None:
    lake, growing, octets = tmp_path / "lake", tmp_path / "growing.pcap", CAPTURE.read_bytes()
    for end in (len(octets) // 3, len(octets) // 2, len(octets)):
        growing.write_bytes(octets[:end])
        run(lake, [str(growing)])
    assert rows_of(lake) == whole


def test_captures_that_are_gone(run: Callable[..., Result], whole: dict[str, list[str]], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for capture in cut(CAPTURE, tmp_path, [0.5]):
        run(lake, [capture])
        Path(capture).unlink()
        state = lakes.small(str(lake), "stream_state", ["payload", "stream_offset"])
        assert len(state.column("stream_offset").drop_null())
        assert not len(state.column("payload").drop_null())  # raw_frames has these octets
    assert rows_of(lake) == whole


def test_a_capture_without_packets_in_between(run: Callable[..., Result], whole: dict[str, list[str]], tmp_path: Path) -> None:
    """As tcpdump writes where nothing comes until it rotates; the connections that are open go on behind it."""
    lake, empty = tmp_path / "lake", tmp_path / "empty.pcap"
    empty.write_bytes(CAPTURE.read_bytes()[:24])
    first, last = cut(CAPTURE, tmp_path, [0.5])
    for capture in (first, str(empty), last):
        run(lake, [capture])
    assert rows_of(lake) == whole


@pytest.mark.slow
def test_a_busy_connection_in_whole_runs_and_in_stages(run: Callable[..., Result], tmp_path: Path) -> None:
    """Its state is that of all machines: extract on its own takes it through them, and leaves nothing to the other stages."""
    whole, parts = rotated(tmp_path, 1, 12_000, 4)
    lake = tmp_path / "lake"
    kept = []
    for number, part in enumerate(parts):
        run(lake, [str(part)], *(("extract",) if number == 2 else ()))
        rows = lakes.small(str(lake), "stream_state", ["pieces"])
        kept.append((rows.num_rows, rows.column("pieces").null_count))
        if number == 2:
            for stage in ("decode", "correlate", "metrics"):
                run(lake, [], stage)
    assert all(count < 200 and not segments for count, segments in kept), kept
    run(tmp_path / "one", [str(whole)])
    assert rows_of(lake) == rows_of(tmp_path / "one")


@pytest.mark.slow
def test_a_busy_connection_of_which_captures_come_late(run: Callable[..., Result], tmp_path: Path) -> None:
    """Its state has gone on without them: it is computed again, or the run says that it was not."""
    whole, parts = rotated(tmp_path, 2, 12_000, 4)
    first, second, third, *rest = map(str, parts)
    run(tmp_path / "one", [str(whole)])
    lake = tmp_path / "lake"
    for late in (first, third, second, *rest):
        assert run(lake, [late]).warnings == []
    assert rows_of(lake) == rows_of(tmp_path / "one")

    lake = tmp_path / "gone"
    for capture in (first, third):
        run(lake, [capture])
    Path(first).rename(tmp_path / "moved away")
    [warning] = run(lake, [second]).warnings
    assert warning.startswith(f"{second}: came late; 2 open connections of many packets took its packets as the latest")
    assert lakes.small(str(lake), "streams").num_rows == 2
