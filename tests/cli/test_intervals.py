"""INTERVALs are printed as DuckDB casts them to text, in every format."""

from __future__ import annotations

import io
from datetime import timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.cli import cells, render
from stompcap.cli.intervals import interval

SMALL = st.integers(-30, 30)
MICROSECONDS = st.one_of(SMALL, st.integers(-(10**12), 10**12), SMALL.map(lambda count: count * 500_000))


@given(months=SMALL, days=SMALL, microseconds=MICROSECONDS)
def test_intervals_are_as_duckdb_writes_them(months: int, days: int, microseconds: int) -> None:
    question = f"SELECT x, x::VARCHAR FROM (SELECT to_months({months}) + to_days({days}) + to_microseconds({microseconds}) AS x)"
    (row,) = duckdb.sql(question).to_arrow_table().to_pylist()
    value, text = row.values()
    assert cells.text(value) == cells.plain(value) == text


def test_spark_has_them_as_timedelta() -> None:
    assert interval(timedelta(seconds=3, microseconds=3076)) == "00:00:03.003076"
    assert interval(timedelta(days=2, seconds=-1)) == "47:59:59"
    assert interval(timedelta(microseconds=-1_500_000)) == "-00:00:01.5"
    assert [interval(value) for value in (3, "00:00:01", None, (0, 0, 1))] == [None] * 4


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("json", '[\n{"took": "00:00:03.003076", "all": ["1 day"]}\n]\n'),
        ("csv", 'took,all\n00:00:03.003076,"[""1 day""]"\n'),
        ("vertical", "00:00:03.003076"),
        ("table", "00:00:03.003076"),
    ],
)
def test_every_format_prints_them(style: str, shown: str) -> None:
    found = duckdb.sql("SELECT to_microseconds(3003076) AS took, [to_days(1)] AS 'all'").to_arrow_table()
    out = io.StringIO(newline="")
    render.emit(found.column_names, [list(row.values()) for row in found.to_pylist()], style, out)
    printed = out.getvalue().replace("\r\n", "\n")
    assert shown in printed
    assert printed == shown or style not in ("json", "csv")
