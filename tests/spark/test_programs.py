"""What programs ask of lakes and captures through Spark: it works, or says in one line why not."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stompcap
from stompcap import views
from stompcap.lake import tables as lakes
from stompcap.spark import catalog
from stompcap.spark import register as register_source
from stompcap.tables import TABLES
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake without rows."""
    lake = str(tmp_path_factory.mktemp("lake"))
    lakes.create(lake)
    return lake


def test_a_lake_is_registered_beside_temporary_views_of_its_names(spark: SparkSession, empty: str) -> None:
    lakes.views(spark, empty)
    try:
        assert catalog.register(spark, empty, schema="beside") == (len(TABLES), 0, len(views.VIEWS))
        assert catalog.register(spark, empty, schema="beside") == (0, len(TABLES), len(views.VIEWS))
        told = [field.metadata.get("comment", "") for field in spark.table("beside.session_details").schema]
        assert all(told)
        assert max(map(len, told)) <= catalog.LONGEST_COMMENT, "a metastore takes none longer"
    finally:
        for name in (*TABLES, *views.VIEWS):
            spark.catalog.dropTempView(name)
        spark.sql("DROP SCHEMA beside CASCADE")


def test_a_copy_of_a_capture_is_not_another_complete_one(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "stompcap")
    for name in ("a.pcap", "b.pcap"):
        shutil.copy(DATA / "rabbitmq_midstream.pcap", tmp_path / name)
    result = stompcap.run([str(tmp_path)], str(tmp_path / "lake"), spark=spark)
    assert [one["status"] for one in result.captures] == ["complete", "known"]
    [row] = lakes.small(str(tmp_path / "lake"), "runs", filters=[("stage", "=", "extract")]).to_pylist()
    [capture] = lakes.small(str(tmp_path / "lake"), "captures").to_pylist()
    assert (row["octets"], row["packets"], row["host"]) == (capture["used_octets"], capture["packets"], socket.gethostname())
    assert 50_000_000 < row["peak_memory_octets"] < 8_000_000_000
    told = [(one.getMessage(), one.__dict__["fields"]) for one in caplog.records if one.name == "stompcap.run"]
    assert {fields["run_id"] for _, fields in told} == {result.run_id}
    assert [message for message, _ in (told[0], told[-1])] == ["run begins", "run ends"]
    [rows] = [fields["rows"] for message, fields in told if message == "stage done" and fields["stage"] == "extract"]
    assert rows.items() == dict(row["rows"]).items()


def test_an_unknown_table_is_said_with_those_there_are(spark: SparkSession, empty: str) -> None:
    with pytest.raises(stompcap.StompcapError, match=r"^nonsense: not a table or view of a lake, which are captures, .*delivery_details"):
        stompcap.read(spark, empty, "nonsense")


def test_captures_are_no_stream_and_the_error_says_what_follows_them(spark: SparkSession, tmp_path: Path) -> None:
    register_source(spark)
    with pytest.raises(Exception, match="stompcap watch"):
        spark.readStream.format("pcap").load(str(DATA)).writeStream.format("noop").option(
            "checkpointLocation", str(tmp_path)
        ).start().awaitTermination()
