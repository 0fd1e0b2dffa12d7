"""What counts as what among deliveries: the test of a row and the SQL agree, and nothing else in the project says it."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from stompcap.tables import outcomes, words
from tests.report.sample import table
from tests.sql.document import questions

ROOT = Path(__file__).parents[2]
NAMES = ("status", "settled_by", "octets_missing", "ack_latency_us")
ROWS: list[dict[str, Any]] = [
    dict(zip(NAMES, values, strict=True))
    for values in itertools.product(words.DELIVERY_STATUSES, (*words.SETTLED_BY, None), (True, False, None), (7, 0, None))
]
TEXTS = (".md", ".py", ".sql", ".ipynb")
KINDS = ("ASKING", "SETTLED", "NOT_SETTLED", "GIVEN_BACK", "UNKNOWN", "MEASURED", "DIRECT", "CUMULATIVE")


@pytest.fixture(scope="module")
def deliveries() -> pa.Table:
    return table("deliveries", [row | {"stream_offset": number} for number, row in enumerate(ROWS)])


@pytest.mark.parametrize("name", KINDS)
def test_a_row_is_counted_where_sql_counts_it(name: str, deliveries: pa.Table) -> None:
    kind = getattr(outcomes, name)
    found = duckdb.sql(f"SELECT stream_offset FROM deliveries d WHERE {kind.sql('d')} ORDER BY 1").fetchall()
    assert deliveries.num_rows
    assert [number for (number,) in found] == [number for number, row in enumerate(ROWS) if kind.has(row)]


def test_what_asks_for_an_ack_is_settled_not_settled_or_unknown() -> None:
    parts = [kind.statuses for kind in (outcomes.SETTLED, outcomes.NOT_SETTLED, outcomes.UNKNOWN)]
    assert sorted(itertools.chain(*parts)) == sorted(outcomes.ASKING.statuses)
    assert {*outcomes.ASKING.statuses, "auto"} == set(words.DELIVERY_STATUSES)


def test_figures_add_up(deliveries: pa.Table) -> None:
    sql = f"SELECT {outcomes.figures()}, count_if({outcomes.MEASURED.sql()}) AS measured FROM deliveries WHERE {outcomes.ASKING.sql()}"
    [row] = duckdb.sql(sql).to_arrow_table().to_pylist()
    assert deliveries.num_rows
    assert row["deliveries"] == row["settled"] + row["unsettled"] + row["unknown"]
    assert row["settled"] == row["uncertain"] + row["measured"]


@pytest.mark.parametrize("folder", ["stompcap", "pipelines"])
def test_nothing_else_says_what_is_settled(folder: str) -> None:
    """SQL compares a delivery's status with a word nowhere else; receipts and captures have a status too, with other words."""
    others = "|".join(word for word in words.DELIVERY_STATUSES if word not in (*words.RECEIPT_STATUSES, *words.SUBSCRIPTION_STATUSES))
    spelled = re.compile(rf"""status\s*(?:=|<>|(?:NOT )?IN \()\s*'(?:{others})'|octets_missing (?:IS|AND|=)|NOT \w*\.?octets_missing""")
    files = [file for file in sorted(ROOT.joinpath(folder).rglob("*.py")) if file.name not in ("__init__.py", "outcomes.py")]
    assert [str(file) for file in files if spelled.search(file.read_text("utf-8"))] == []


def test_questions_about_latencies_leave_out_what_no_figure_counts() -> None:
    latencies = [one for one in questions() if "ack_latency_us" in one.sql]
    assert len(latencies) > 3
    assert [one.words for one in latencies if "WHERE measured" not in one.sql] == []


def test_pages_take_what_is_not_settled_and_what_is_measured_from_a_view() -> None:
    """That is delivery_details: status unsettled alone is a part of what is not settled, and not every latency counts."""
    status = r"status\s*(?:=|<>|(?:NOT )?IN \()\s*'(?:unsettled|open|voided)'"
    spelled = re.compile(rf"{status}|octets_missing (?:IS|AND|=)|NOT \w*\.?octets_missing")
    folders = ("docs", "jobs", "airflow_dags", "benchmarks", "tests/sql", "tests/site")
    files = [file for folder in folders for file in sorted(ROOT.joinpath(folder).rglob("*"))]
    pages = [ROOT / "README.md", ROOT / "stompcap" / "__init__.py", *(file for file in files if file.suffix in TEXTS)]
    assert [str(page) for page in pages if spelled.search(page.read_text("utf-8"))] == []
