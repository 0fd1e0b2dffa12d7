"""Captures without times through Spark: what was found is there, no time is told, and nothing shown is of 1970."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines.forgetting.criteria import Criteria
from pipelines.forgetting.forget import forget, warnings
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap import spark as stompcap_spark
from stompcap.cli import entry
from stompcap.options import Options
from stompcap.tables import TABLES
from stompcap.tables.unknown_times import is_time
from tests.e2e.pure import tables_of
from tests.e2e.test_without_times import NEGOTIATED, RECORDING, simple_blocks, zeroed
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
OPERATIONS = {"runs", "batches", "quality_results", "rules", "stream_state"}
Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module", params=[zeroed, simple_blocks], ids=lambda make: make.__name__)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = request.param(tmp_path_factory.mktemp("captures"))
    return made


@pytest.fixture(scope="module")
def result(path: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return execute(Job(lambda: spark, str(tmp_path_factory.mktemp("lake")), Options()), STAGES, [str(path)])


def test_the_gate_is_open_and_all_rows_are_there(result: Result) -> None:
    assert (result.status, result.warnings) == ("done", [])
    expected = tables_of([str(DATA / RECORDING)])
    for name in ("streams", "frames", "sessions", "deliveries", "receipts", "transactions"):
        assert DeltaTable(f"{result.lake}/{name}").to_pyarrow_table().num_rows == expected[name].num_rows, name
    assert all(DeltaTable(f"{result.lake}/quality_results").to_pyarrow_table().column("success").to_pylist())


def test_no_table_has_a_time(result: Result) -> None:
    for name in TABLES.keys() - OPERATIONS:
        rows = DeltaTable(f"{result.lake}/{name}").to_pyarrow_table()
        for column in TABLES[name].columns:
            if is_time(column) or (column.name.endswith(("_us", "_ms")) and column.name not in NEGOTIATED):
                assert rows.column(column.name).null_count == rows.num_rows, (name, column.name)


def test_packets_have_no_time(path: Path, spark: SparkSession) -> None:
    stompcap_spark.register(spark)
    packets = spark.read.format("pcap").load(str(path))
    assert packets.count() > 100
    assert packets.where("ts IS NOT NULL OR ts_ns IS NOT NULL").count() == 0
    assert spark.read.format("pcap").load(str(DATA / RECORDING)).where("ts IS NULL OR ts_ns IS NULL").count() == 0


@pytest.mark.parametrize("words", [
    ["show"], ["show", "SESSION"], ["show", "--format", "json"], ["sql", "SELECT * FROM streams"], ["sql", "SELECT * FROM session_details"],
    ["sql", "SELECT * FROM delivery_details"], ["sql", "SELECT * FROM ack_latency"], ["sql", "SELECT * FROM compliance_summary"],
    ["sql", "SELECT * FROM captures"], ["report", "-o", "OUT"],
], ids=" ".join)  # fmt: skip
def test_nothing_shown_is_of_1970(words: list[str], result: Result, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "report.html"
    session = DeltaTable(f"{result.lake}/sessions").to_pyarrow_table().column("stream_id")[0].as_py()
    given = {"OUT": str(out), "SESSION": session}
    monkeypatch.setattr("sys.argv", ["stompcap", *(given.get(word, word) for word in words), "--lake", result.lake])
    assert entry.outcome() == 0
    printed = capsys.readouterr()
    shown = printed.out + (out.read_text("utf-8") if out.exists() else "")
    assert shown
    assert "1970-" not in shown
    assert "Traceback" not in printed.err


def test_a_moment_finds_none_of_them(result: Result, spark: SparkSession) -> None:
    job = Job(lambda: spark, result.lake, Options())
    before = Criteria(before=datetime.datetime.now(datetime.UTC))
    rows = DeltaTable(f"{result.lake}/streams").to_pyarrow_table().num_rows
    assert forget(job, before).connections == 0
    assert DeltaTable(f"{result.lake}/streams").to_pyarrow_table().num_rows == rows
    [said] = warnings(result.lake, before)
    assert said.startswith(f"{rows} connections of unknown time stay")
    assert warnings(result.lake, Criteria(before=before.before, login="nobody")) == []
    assert warnings(result.lake, Criteria(login="nobody")) == []
