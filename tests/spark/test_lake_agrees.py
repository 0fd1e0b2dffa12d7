"""The lake, read by readers that are not Spark, agrees with the clients' logs; nothing in it is secret, twice, or unreadable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.lake.finality import stored
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.agreement import differences
from tests.e2e.plain_gold import wrong_latencies, wrong_summaries
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA, Observed, all_sessions, captures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PER_SESSION = ("streams", "raw_frames", "segments", "frames", "sessions", "subscriptions", "deliveries", "transactions", "receipts",
               "heartbeats", "heartbeat_violations", "compliance", "compliance_findings")


def read(lake: Path, name: str) -> pa.Table:
    return DeltaTable(str(lake / name)).to_pyarrow_table(columns=TABLES[name].arrow.names)


@pytest.fixture(scope="module")
def tables(lake: Path) -> dict[str, pa.Table]:
    return {name: read(lake, name) for name in TABLES}


def test_every_session_agrees_with_its_log(tables: dict[str, pa.Table]) -> None:
    seen = Observed(tables)
    found = [line for _, session in all_sessions() for line in differences(session, seen)]
    assert not found, "\n".join(found)


def test_aggregates_are_those_of_their_rows(tables: dict[str, pa.Table]) -> None:
    assert tables["ack_latency"].num_rows > 50
    assert tables["compliance_summary"].num_rows > 500
    assert list(wrong_latencies(tables)) == []
    assert list(wrong_summaries(tables)) == []


def test_the_run_tells_the_truth_about_itself(whole_run: Result, tables: dict[str, pa.Table]) -> None:
    assert whole_run.status == "done"
    assert whole_run.warnings == []
    assert {stage["name"] for stage in whole_run.stages} == {"start", "extract", "metrics", "validate"}
    for name in PER_SESSION:
        assert whole_run.rows.get(name, 0) == tables[name].num_rows, name
    assert tables["captures"].num_rows == len(captures())
    assert all(tables["quality_results"].column("success").to_pylist())


@pytest.mark.parametrize("name", PER_SESSION)
def test_spark_and_one_process_give_the_same_rows(name: str, tables: dict[str, pa.Table], plain: dict[str, pa.Table]) -> None:
    def rows(table: pa.Table) -> list[str]:
        kept = [column for column in table.column_names if column != "batch_id"]
        return sorted(repr(row) for row in table.select(kept).to_pylist())

    assert rows(tables[name]) == rows(plain[name])


@pytest.fixture(scope="module")
def plain() -> dict[str, pa.Table]:
    return tables_of(captures())


@pytest.mark.parametrize("name", TABLES)
def test_any_reader_can_read_it(name: str, lake: Path) -> None:
    table = DeltaTable(str(lake / name))
    assert table.protocol().min_reader_version == 1
    for log in sorted((lake / name / "_delta_log").glob("*.json")):
        for line in log.read_text().splitlines():
            protocol = json.loads(line).get("protocol", {})
            assert protocol.get("minReaderVersion", 1) == 1
            assert "readerFeatures" not in protocol
    assert [(field.name, field.type) for field in table.schema().fields] == [
        (field.name, field.type) for field in type(table.schema()).from_arrow(stored(TABLES[name])).fields
    ]
    metadata = table.metadata()
    assert metadata.description == TABLES[name].comment
    for column in TABLES[name].enumerations:
        assert f"delta.constraints.{column.name}_words" in metadata.configuration


@pytest.mark.parametrize("name", TABLES)
def test_keys_are_unique(name: str, tables: dict[str, pa.Table]) -> None:
    table = TABLES[name]
    keys = [tuple(row.values()) for row in tables[name].select(list(table.key)).to_pylist()]
    assert len(keys) == len(set(keys))


def test_duckdb_counts_the_same(lake: Path, tables: dict[str, pa.Table]) -> None:
    files = [path.removeprefix("file://") for path in DeltaTable(str(lake / "frames")).file_uris()]
    answer = duckdb.sql(f"SELECT count(*), sum(body_octets) FROM read_parquet({files})").fetchone()
    frames = tables["frames"]
    assert answer == (frames.num_rows, pa.compute.sum(frames.column("body_octets")).as_py())


def test_statistics_hold_for_every_file(lake: Path) -> None:
    """A reader that skips files by their statistics must not miss a row."""
    for name in ("frames", "raw_frames", "deliveries", "sessions"):
        table = DeltaTable(str(lake / name))
        for action in pa.table(table.get_add_actions(flatten=True)).to_pylist():
            rows = pq.read_table(lake / name / action["path"])
            assert rows.num_rows == action["num_records"]
            for column in TABLES[name].statistics:
                values = [value for value in rows.column(column).to_pylist() if value is not None]
                if values and action.get(f"min.{column}") is not None and isinstance(values[0], (int, str)):
                    assert min(values) >= action[f"min.{column}"]
                    assert action.get(f"max.{column}") is None or max(values) <= action[f"max.{column}"]


def test_no_passcode_in_any_file(lake: Path) -> None:
    """Decompressed, in every column, as it stands and in the encodings that brokers are known to spell it in."""
    secrets = [word for word in (DATA / "passcodes.txt").read_text().split() if word.startswith("pc-")]
    assert len(secrets) > 300
    spellings = list(zip(_spelled("pc-"), zip(*map(_spelled, secrets), strict=True), strict=True))
    for path in lake.rglob("*"):
        if path.suffix == ".parquet" and path.is_file():
            octets = _decompressed(path)
        elif path.is_file():
            octets = path.read_bytes()
        else:
            continue
        assert not [form for begin, forms in spellings if begin in octets for form in forms if form in octets], path


def _spelled(word: str) -> tuple[bytes, bytes, bytes]:
    """What begins a word begins it in each."""
    return word.encode(), ",".join(word).encode(), word.encode().hex().encode()


def _decompressed(path: Path) -> bytes:
    parts = []
    for column in pq.ParquetFile(path).read().columns:
        for chunk in column.chunks:
            parts += [bytes(buffer) for buffer in chunk.buffers() if buffer is not None]
            parts.append(repr(chunk.to_pylist()).encode() if chunk.type.num_fields else b"")
    return b"\0".join(parts)


def no_spark() -> SparkSession:
    raise AssertionError("a run that finds nothing new needs no Spark")


def test_a_second_run_adds_nothing_and_needs_no_spark(lake: Path) -> None:
    def files() -> set[str]:
        return {str(path) for path in lake.rglob("*.parquet") if path.relative_to(lake).parts[0] not in ("runs", "quality_results")}

    before, rows = files(), {name: read(lake, name).num_rows for name in TABLES if name not in ("runs", "quality_results")}
    result = execute(Job(no_spark, str(lake), Options()), STAGES, captures())
    assert [stage["name"] for stage in result.stages] == ["start"]
    assert {capture["status"] for capture in result.captures} == {"known"}
    assert files() == before
    assert {name: read(lake, name).num_rows for name in rows} == rows


def test_captures_named_again_with_other_options_are_never_silently_known(lake: Path) -> None:
    named = captures()[:2]
    assert execute(Job(no_spark, str(lake), Options()), STAGES, named).warnings == []
    [warning] = execute(Job(no_spark, str(lake), Options(overlap="last")), STAGES, named).warnings
    says = "taken in with the defaults: their rows stay as they are; to have --overlap last, add --reprocess to stompcap run"
    assert warning.endswith(says)
