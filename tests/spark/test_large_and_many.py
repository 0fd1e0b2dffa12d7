"""One large capture in many parts, thousands of small ones in few tasks, compressed ones, growing ones: the tables say the same."""

from __future__ import annotations

import gzip
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines import intake
from pipelines.ingest import extract as extraction
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import execute
from stompcap import capture
from stompcap import spark as stompcap_spark
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BRONZE = ("streams", "raw_frames", "segments")
ALL = (*BRONZE, "frames", "sessions", "deliveries", "heartbeats", "compliance")
ONE, OTHER = (DATA / f"{name}.pcap" for name in ("rabbitmq_dialogue", "rabbitmq_bodies"))
LINEAGE = ("batch_id", "capture_id", "first_capture_id", "last_capture_id")
NUMBERS = ("packet", "first_packet", "last_packet")


def run(spark: SparkSession, lake: Path, path: Path, *more: str) -> Result:
    return execute(Job(lambda: spark, str(lake), Options(split_octets=1 << 16)), ("extract", *more), [str(path)])


def rows(table: pa.Table, *without: str) -> Counter[str]:
    return Counter(map(repr, table.select([name for name in table.column_names if name not in without]).to_pylist()))


def read(lake: Path, name: str) -> pa.Table:
    return DeltaTable(str(lake / name)).to_pyarrow_table(columns=TABLES[name].arrow.names)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both captures in one file."""
    path = tmp_path_factory.mktemp("large") / "large.pcap"
    path.write_bytes(ONE.read_bytes() + OTHER.read_bytes()[24:])
    return path


@pytest.fixture(scope="module")
def plain(large: Path) -> dict[str, pa.Table]:
    return tables_of([str(large)])


@pytest.mark.parametrize(("tasks", "stages", "tables"), [(1, (), BRONZE), (5, ("metrics",), ALL)])
def test_parts_and_tasks_change_nothing(
    spark: SparkSession,
    tmp_path: Path,
    large: Path,
    plain: dict[str, pa.Table],
    tasks: int,
    stages: tuple[str, ...],
    tables: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extraction, "tasks_for", lambda *_: tasks)
    assert len(capture.examine(str(large), "s", 1 << 16).splits) > 5
    run(spark, tmp_path / "lake", large, *stages)
    for name in tables:
        assert rows(read(tmp_path / "lake", name), "batch_id") == rows(plain[name], "batch_id"), name


def test_spilled_payload_changes_nothing(spark: SparkSession, tmp_path: Path, large: Path, plain: dict[str, pa.Table]) -> None:
    path = tmp_path / "large.pcap.gz"
    path.write_bytes(gzip.compress(large.read_bytes()))
    run(spark, tmp_path / "lake", path)
    for name in BRONZE:
        assert rows(read(tmp_path / "lake", name), *LINEAGE) == rows(plain[name], *LINEAGE), name


def test_the_source_gives_the_same_packets_in_parts(spark: SparkSession, large: Path) -> None:
    stompcap_spark.register(spark)
    whole = spark.read.format("pcap").load(str(large)).toArrow()
    parts = spark.read.format("pcap").option("splitOctets", 1 << 16).load(str(large))
    assert parts.selectExpr("spark_partition_id()").distinct().count() > 5
    assert parts.toArrow().sort_by("packet").equals(whole.sort_by("packet"))


@pytest.mark.parametrize("wanted", ["0", "65535", "64k"])
def test_parts_too_small_are_refused(spark: SparkSession, large: Path, wanted: str) -> None:
    stompcap_spark.register(spark)
    with pytest.raises(Exception, match="splitOctets is a number of bytes, 65536 at least"):
        spark.read.format("pcap").option("splitOctets", wanted).load(str(large)).count()


def test_a_growing_file_is_read_on(spark: SparkSession, tmp_path: Path, large: Path, plain: dict[str, pa.Table]) -> None:
    path, lake = tmp_path / "growing.pcap", tmp_path / "lake"
    end = ONE.stat().st_size
    octets = large.read_bytes()
    path.write_bytes(octets[: end + 9])  # a record is being written
    first = run(spark, lake, path)
    assert [one["status"] for one in first.captures] == ["truncated"]
    path.write_bytes(octets[: end + 11])
    assert [one["status"] for one in run(spark, lake, path).captures] == ["known"]
    path.write_bytes(octets)
    second = run(spark, lake, path)
    assert [one["status"] for one in second.captures] == ["complete"]
    before = {name: read(lake, name) for name in BRONZE}
    assert [one["status"] for one in run(spark, lake, path).captures] == ["known"]
    for name in BRONZE:
        assert rows(read(lake, name)) == rows(before[name])
        assert rows(before[name], *LINEAGE) == rows(plain[name], *LINEAGE), name  # no connection is open where the first run ended
    captures = sorted(read(lake, "captures").to_pylist(), key=lambda row: row["size_octets"])
    assert [row["continues"] for row in captures] == [None, captures[0]["capture_id"]]
    assert [row["used_octets"] for row in captures] == [end, len(octets)]
    assert not any("another capture" in line for line in second.warnings)
    assert sum(row["packets"] for row in captures) == capture.survey(str(large), "s")["packets"]
    path.write_bytes(ONE.read_bytes()[:24] + OTHER.read_bytes()[24:])
    assert any("taken as another capture" in line for line in run(spark, lake, path).warnings)


def test_a_file_that_grows_while_it_is_read(spark: SparkSession, tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growing.pcap"
    shutil.copy(ONE, path)
    extract = extraction.extract

    def grown(*arguments: object) -> object:
        path.write_bytes(large.read_bytes())
        return extract(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "extract", grown)
    run(spark, tmp_path / "lake", path)
    plain = tables_of([str(ONE)])
    for name in BRONZE:
        assert rows(read(tmp_path / "lake", name), *LINEAGE) == rows(plain[name], *LINEAGE), name


def test_thousands_of_small_captures(spark: SparkSession, tmp_path: Path) -> None:
    """Each packet of a capture in a file of its own, and some files twice: the tables of the one capture."""
    octets, at, count = ONE.read_bytes(), 24, 0
    folder = tmp_path / "captures"
    folder.mkdir()
    while at < len(octets):
        end = at + 16 + int.from_bytes(octets[at + 8 : at + 12], "little")
        (folder / f"{count:05}.pcap").write_bytes(octets[:24] + octets[at:end])
        at, count = end, count + 1
    copies = max(0, 2000 - count)
    for number in range(copies):
        os.link(folder / f"{number % count:05}.pcap", folder / f"again{number}.pcap")
    result = run(spark, tmp_path / "lake", folder)
    assert len(result.captures) == count + copies >= 2000
    assert read(tmp_path / "lake", "captures").num_rows == count
    plain = tables_of([str(ONE)])
    for name in BRONZE:
        assert rows(read(tmp_path / "lake", name), *LINEAGE, *NUMBERS) == rows(plain[name], *LINEAGE, *NUMBERS), name
