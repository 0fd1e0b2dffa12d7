"""docs/sql.md: each question has the printed answer in DuckDB, and the same rows in Spark."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.lake import tables as lakes
from stompcap.lake.reading import answered
from stompcap.options import Options
from tests.sql.document import OF_TRANSPORTS, Question, document, questions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRANSPORTS = Path(__file__).resolve().parents[2] / "data" / "transports"
UNANSWERED = ("each subscriber of a topic",)
"""Questions about what no recording has."""

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sql.md"


def plain(value: Any) -> Any:
    """A value by which answers of both engines compare: sums of DuckDB are wider, and its TIMESTAMPs have a zone."""
    if isinstance(value, Decimal):
        return float(value)
    if hasattr(value, "timestamp"):
        return round(value.timestamp(), 6)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.fixture(scope="module")
def carried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of what lies inside WebSocket, TLS and PROXY."""
    folder = tmp_path_factory.mktemp("carried") / "lake"
    options = Options(keylog=tuple(map(str, sorted(TRANSPORTS.glob("*.keys.txt")))))
    execute(Job(lambda: spark, str(folder), options), STAGES, [str(path) for path in sorted(TRANSPORTS.glob("*.pcap*"))])
    return folder


def test_there_are_questions_of_all_who_ask() -> None:
    found = questions()
    assert len(found) >= 30
    assert len({question.asked_by for question in found}) == 5
    assert len({question.words for question in found}) == len(found)


@pytest.mark.parametrize("question", questions(), ids=lambda question: re.sub(r"\W+", "-", question.words)[:40])
def test_both_engines_give_the_same_rows(viewed: SparkSession, lake: Path, question: Question) -> None:
    check(viewed, lake, question)


def test_both_engines_give_the_same_rows_of_transports(spark: SparkSession, carried: Path) -> None:
    lakes.views(spark, str(carried))
    for question in questions(OF_TRANSPORTS):
        check(spark, carried, question)


def check(viewed: SparkSession, lake: Path, question: Question) -> None:
    with answered(str(lake), question.sql) as (columns, rows):
        by_duckdb = [list(map(plain, row)) for row in rows]
    found = viewed.sql(question.sql)
    assert found.columns == columns
    assert [list(map(plain, row)) for row in found.collect()] == by_duckdb, question.words
    assert by_duckdb or any(words in question.words for words in UNANSWERED), question.words


def test_the_page_is_what_the_questions_give(lake: Path, carried: Path) -> None:
    assert PAGE.read_text("utf-8") == document(str(lake), str(carried)), "run: make docs"
