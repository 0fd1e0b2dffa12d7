"""The report's questions asked of a lake: both engines give the answers of the same tables in memory, and the page is made of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stompcap.errors import StompcapError
from stompcap.lake import query
from stompcap.report import collect, overview, write
from stompcap.report.asking import ask
from stompcap.report.page import records
from stompcap.report.queries import QUERIES, SUMMARY
from tests.report.sample import ask as ask_in_memory
from tests.report.sample import lake as sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    from stompcap.spark.session import get_session

    return get_session("local[2]")


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return sample()


@pytest.fixture(scope="module")
def lake(tables: dict[str, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> str:
    from stompcap.lake.tables import append, create

    folder = str(tmp_path_factory.mktemp("lake"))
    create(folder)
    for name, rows in tables.items():
        append(folder, name, rows, ["sample"], "run")
    return folder


def no_spark() -> SparkSession:
    raise AssertionError("a small lake needs no Spark")


def close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


@pytest.mark.parametrize(
    "driver_rows", [pytest.param(0, id="Spark", marks=pytest.mark.slow), pytest.param(query.DRIVER_ROWS, id="this process")]
)
def test_a_lake_answers_as_tables_in_memory_do(
    request: pytest.FixtureRequest, lake: str, tables: dict[str, pa.Table], driver_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "DRIVER_ROWS", driver_rows)
    expected = ask_in_memory(tables)
    found = ask(lake, QUERIES, lambda: request.getfixturevalue("spark"))
    assert set(found) == set(expected)
    for name in expected:
        ours, theirs = records(found[name]), records(expected[name])
        assert len(ours) == len(theirs), name
        for row, other in zip(ours, theirs, strict=True):
            assert {key: (row[key], other[key]) for key in other if not close(row[key], other[key])} == {}, name


def test_tables_that_are_large_only_together_need_no_spark(
    lake: str, tables: dict[str, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = max(sum(tables[name].num_rows for name in one.tables) for one in QUERIES.values())
    assert most < sum(rows.num_rows for rows in tables.values())
    monkeypatch.setattr(query, "DRIVER_ROWS", most)
    found = ask(lake, QUERIES, no_spark)
    assert list(found) == list(QUERIES)
    assert records(found["rules"]) == records(ask_in_memory(tables)["rules"])
    monkeypatch.setattr(query, "DRIVER_ROWS", most - 1)
    with pytest.raises(AssertionError, match="no Spark"):
        ask(lake, QUERIES, no_spark)


def test_the_page_is_written(lake: str, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write(lake, str(out), no_spark)
    page = out.read_text("utf-8")
    assert "Destinations over time" in page
    assert "has not run" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_summary_has_its_facts(lake: str) -> None:
    assert set(overview(lake, no_spark)) == set(SUMMARY)


def test_a_large_lake_is_not_summed_up_after_each_run(lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "SUMMED_ROWS", 1000)
    assert overview(lake, no_spark) == {}


def test_a_page_that_cannot_be_written_is_said_in_words(lake: str, tmp_path: Path) -> None:
    with pytest.raises(StompcapError, match="name another file with -o"):
        write(lake, str(tmp_path / "no" / "report.html"), no_spark)


def test_what_is_no_lake_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(StompcapError):
        write(str(tmp_path / "none"), str(tmp_path / "report.html"), no_spark)
