"""Two taps that see the same connections, each with a source of its own: no number is twice what one of them saw."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.metrics import aggregates, gold, journeys
from stompcap import capture
from stompcap.cli import entry, render
from stompcap.cli.summary import summary
from stompcap.lake import query
from stompcap.lake import tables as lakes
from stompcap.lake.reading import answered
from stompcap.options import Options
from stompcap.report import asking, overview, write
from stompcap.report.compare import compare
from stompcap.report.queries import QUERIES
from stompcap.rules import catalogue_table
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.sql.document import Question, questions

pytestmark = pytest.mark.slow

PATH = str(DATA / "rabbitmq_dialogue.pcap")
POINTS = ("at <the> broker", "client's")
NOT_BY_SOURCE = ("expectations were checked", "the frames of a session", "do two capture points have")
"""Questions about no traffic, about one session, or about several sources."""


def no_spark() -> Any:
    raise AssertionError("this lake is small")


def filled(where: Path, points: tuple[str, ...]) -> str:
    """A lake of one recording as seen at these points, made without Spark."""
    lake = str(where)
    lakes.create(lake)
    lakes.append(lake, "rules", catalogue_table(), ["r"], "r")
    for point in points:
        row = capture.survey(PATH, point)
        assert row is not None
        row |= {"batch_id": point, "run_id": "r", "skipped": list(row["skipped"].items()), "capture_id": f"{row['capture_id']}{point}"}
        rows = {"captures": pa.Table.from_pylist([row], TABLES["captures"].arrow), **tables_of([PATH], Options(source=point))}
        for name, table in rows.items():
            lakes.append(lake, name, table, [point], "r")
    journeys.refresh(lake, [], "r", no_spark)
    for one in gold.AGGREGATES:
        aggregates.refresh(lake, one, [], "r", no_spark)
    return lake


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("two taps"), POINTS)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("one tap"), POINTS[:1])


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("the other tap"), POINTS[1:])


@pytest.mark.parametrize("name", ["ack_latency", "compliance_summary"])
def test_an_aggregate_of_both_is_that_of_each(name: str, one: str, other: str, two: str) -> None:
    by_key = [(key, "ascending") for key in TABLES[name].key]
    apart = pa.concat_tables([lakes.small(one, name), lakes.small(other, name)]).sort_by(by_key)
    assert lakes.small(two, name).sort_by(by_key).to_pylist() == apart.to_pylist()
    assert len(apart.column("source").unique()) == len(POINTS)


def rows_of(lake: str, sql: str) -> list[dict[str, Any]]:
    with answered(lake, re.sub(r" LIMIT \d+$", "", sql)) as (columns, rows):
        return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("question", [
    question for question in questions() if not any(words in question.words for words in NOT_BY_SOURCE)
], ids=lambda question: re.sub(r"\W+", "-", question.words)[:40])  # fmt: skip
def test_a_question_of_the_documentation_is_answered_by_source(question: Question, one: str, two: str) -> None:
    both = rows_of(two, question.sql)
    assert [str(row) for row in both if row["source"] == POINTS[0]] == list(map(str, rows_of(one, question.sql)))  # NaN is no NaN
    assert len({row["source"] for row in both}) in (0, len(POINTS))


def test_the_report_asks_about_each_source_apart(one: str, two: str) -> None:
    alone, together = (asking.ask(lake, QUERIES, no_spark, point) for lake, point in ((one, None), (two, POINTS[0])))
    for name in QUERIES:
        assert together[name].to_pylist() == alone[name].to_pylist(), name


def page_of(lake: str, tmp_path: Path, source: str | None = None) -> str:
    write(lake, str(tmp_path / "report.html"), no_spark, source)
    return re.sub(r"made 20[^<]*", "", (tmp_path / "report.html").read_text("utf-8"))


def tiles(page: str) -> list[tuple[str, str]]:
    return re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)", page)


def test_the_report_has_a_part_for_each_source_and_names_it(two: str, tmp_path: Path) -> None:
    page = page_of(two, tmp_path)
    for point in POINTS:
        assert f"<h1>Source <code>{html.escape(point, quote=False)}</code></h1>".replace("'", "&#39;") in page
    assert tiles(page)[: len(tiles(page)) // 2] == tiles(page)[len(tiles(page)) // 2 :] != []
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert {name for names in re.findall(r'aria-labelledby="([^"]+)"', page) for name in names.split()} <= set(ids)


@pytest.mark.slow
def test_each_part_is_the_report_on_its_source(one: str, two: str, tmp_path: Path) -> None:
    page, alone, only = page_of(two, tmp_path), page_of(one, tmp_path), page_of(two, tmp_path, POINTS[0])
    assert tiles(page) == tiles(alone) * len(POINTS)
    assert tiles(only) == tiles(alone)
    assert "one of several of the lake" in only


def stompcap(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def shown(lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> Iterator[dict[str, Any]]:
    assert stompcap(monkeypatch, "show", "--lake", lake, "--json", "--rows", "1000", *words) == 0
    return map(json.loads, capsys.readouterr().out.splitlines())


def test_show_has_the_tables_of_each_source(
    one: str, two: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = list(shown(one, capsys, monkeypatch))
    both = list(shown(two, capsys, monkeypatch))
    assert {row["source"] for row in both} == set(POINTS)
    assert [row for row in both if row["source"] == POINTS[0]] == alone == list(shown(two, capsys, monkeypatch, "--source", POINTS[0]))
    assert stompcap(monkeypatch, "show", "--lake", two) == 0
    assert all(f"Captures, latest first, source {point}" in capsys.readouterr().out for point in POINTS[:1])
    assert stompcap(monkeypatch, "show", "--lake", two, "--format", "csv") == 0
    assert {row["source"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} == set(POINTS)
    assert stompcap(monkeypatch, "show", "--lake", two, "--source", "nowhere") == 2
    assert "has no captures of --source nowhere; it has: at <the> broker, client's" in capsys.readouterr().err


def test_the_summary_of_a_run_has_the_totals_of_each_source(one: str, two: str) -> None:
    base = {"run_id": "r", "lake": "/lake", "status": "done", "seconds": 1.0, "captures": [], "stages": [], "rows": {}, "warnings": []}

    def told(lake: str) -> list[str]:
        file = io.StringIO()
        render.show(summary(base | {"overview": overview(lake, no_spark)}), file)
        return file.getvalue().splitlines()

    alone, both = told(one), told(two)
    facts = [line for line in alone if line.startswith(("Sessions ", "Ack latency ", "Rules "))]
    assert len(facts) == 3
    assert [line for line in both if line.startswith(("Sessions ", "Ack latency ", "Rules "))] == facts * len(POINTS)
    assert [line for line in both if line.startswith("Source ")] == [f"Source {point}" for point in POINTS]


def test_brokers_are_compared_at_each_source_apart(one: str, two: str) -> None:
    alone, both = (compare(lake, ["RabbitMQ"], no_spark) for lake in (one, two))
    figures = [line for line in alone.splitlines() if line.startswith("| ")]
    assert [line for line in both.splitlines() if line.startswith("| ")] == figures * len(POINTS)
    assert both.count(", source ") == len(POINTS)


def test_a_name_of_a_source_is_no_sql(two: str) -> None:
    counted = query.Query("counted", ("deliveries",), "SELECT count(*) AS n FROM deliveries")
    for name in ("x' OR true OR 'x", "x') OR (1=1", POINTS[1]):
        [[n]] = [list(row.values()) for row in query.ask(two, [counted], no_spark, source=name)["counted"].to_pylist()]
        assert (n > 0) == (name in POINTS)
