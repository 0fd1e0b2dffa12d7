"""Cells in every format, tables, and the end of a run: for people, spreadsheets, programs, and against hostile text."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from stompcap.cli import cells, render
from stompcap.cli.render import emit, show, summary
from stompcap.report.page import records
from stompcap.report.queries import SUMMARY
from stompcap.tables import TABLES
from tests.report.sample import HOSTILE, ask, lake

ROOT = Path(__file__).resolve().parents[2]

scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary(max_size=20)
)


def emitted(columns: list[str], rows: list[list[Any]], style: str) -> str:
    file = io.StringIO()
    emit(columns, rows, style, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("value", "shown", "in_csv", "in_json"),
    [
        (None, "null", "", None),
        (True, "true", "true", True),
        (-5, "-5", "-5", -5),
        (1.5, "1.5", "1.5", 1.5),
        (float("nan"), "nan", "nan", None),
        (Decimal("12.00"), "12.00", "12.00", 12),
        ("/queue/a", "/queue/a", "/queue/a", "/queue/a"),
        ("=1+2", "=1+2", "'=1+2", "=1+2"),
        ("@x", "@x", "'@x", "@x"),
        ("-5", "-5", "'-5", "-5"),
        ("\tx", r"\tx", r"'\tx", "\tx"),
        ("'quoted", "'quoted", "''quoted", "'quoted"),
        ("a\x1b[2J", r"a\x1b[2J", r"a\x1b[2J", "a\x1b[2J"),
        (b"\x00\xffA", r"\0\xffA", r"\0\xffA", "AP9B"),
        (datetime(2026, 11, 21, 8, 0, 0, 5, UTC), "2026-11-21T08:00:00.000005Z", "2026-11-21T08:00:00.000005Z",
         "2026-11-21T08:00:00.000005Z"),
        (date(2026, 11, 21), "2026-11-21", "2026-11-21", "2026-11-21"),
        (["a", None], '["a", null]', '["a", null]', ["a", None]),
        ({"receipt": "\u202e1"}, '{"receipt": "\\u202e1"}', '{"receipt": "\\u202e1"}', {"receipt": "\u202e1"}),
        ([Row(name="a", value=b"b")], '[{"name": "a", "value": "Yg=="}]', '[{"name": "a", "value": "Yg=="}]',
         [{"name": "a", "value": "Yg=="}]),
    ],
)  # fmt: skip
def test_a_value_in_each_format(value: object, shown: str, in_csv: str, in_json: object) -> None:
    assert cells.text(value) == shown
    assert cells.csv_text(value) == in_csv
    assert cells.plain(value) == in_json


@given(st.lists(st.tuples(scalars, scalars), max_size=5))
def test_nothing_printed_steers_a_terminal(rows: list[tuple[Any, Any]]) -> None:
    for style in render.FORMATS:
        printed = emitted(["a", "b"], [list(row) for row in rows], style)
        assert all(line.isprintable() for line in printed.split("\n")), style


@given(st.lists(st.tuples(scalars, scalars), max_size=5))
def test_json_keeps_every_value(rows: list[tuple[Any, Any]]) -> None:
    printed = emitted(["a", "b"], [list(row) for row in rows], "json")
    assert json.loads(printed) == [{"a": cells.plain(one), "b": cells.plain(two)} for one, two in rows]


@given(st.text())
def test_csv_cells_are_no_formulas_and_give_the_text_back(text: str) -> None:
    printed = emitted(["a", "b"], [[text, 1]], "csv")
    value = list(csv.reader(io.StringIO(printed)))[1][0]
    assert not value.startswith(cells.FORMULA[:-4] + cells.FORMULA[-3:]) or value.startswith("'")
    assert value.removeprefix("'") == cells.text(text) or value == cells.text(text)


def test_a_table_shows_markup_and_emoji_codes_as_they_are() -> None:
    printed = emitted(["[b]n[/b]"], [["[link=http://x]:smile:[/link]"], [HOSTILE]], "table")
    assert "[b]n[/b]" in printed
    assert "[link=http://x]:smile:[/link]" in printed
    assert "\x1b" not in printed
    assert r"\x1b[31m\u202egnp.exe\0" in printed


def test_a_wide_table_keeps_its_lines_without_a_terminal() -> None:
    printed = emitted([f"c{n}" for n in range(40)], [list(range(10**9, 10**9 + 40))], "table")
    assert len(printed.splitlines()) == 3


def test_names_that_occur_twice_are_numbered_in_json() -> None:
    assert json.loads(emitted(["a", "a", "a_2"], [[1, 2, 3]], "json")) == [{"a": 1, "a_2": 2, "a_2_2": 3}]


@pytest.mark.parametrize(
    ("style", "printed"),
    [("csv", "a,b\n"), ("json", "[\n]\n"), ("table", "a   b\n─────\n")],
    ids=lambda word: word.split("\n")[0],
)
def test_no_rows(style: str, printed: str) -> None:
    assert emitted(["a", "b"], [], style) == printed


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="xml is not one of table, csv, json"):
        emit(["a"], [], "xml", io.StringIO())


def test_a_narrow_character_set_is_no_error() -> None:
    octets = io.BytesIO()
    file = io.TextIOWrapper(octets, encoding="ascii", write_through=True)
    show(render.table(["a"], [["größer ✓"]]), file)
    assert b"gr\\xf6\\xdfer \\u2713" in octets.getvalue()


def result(**more: Any) -> dict[str, Any]:
    captures = [
        {"path": "/c/a.pcap", "capture_id": "1", "status": "complete"},
        {"path": f"/c/{HOSTILE}.pcap", "capture_id": "2", "status": "truncated"},
    ]
    stages = [{"name": "extract", "seconds": 3.2}, {"name": "metrics", "seconds": 5.01}]
    base = {"run_id": "4b1d9ce01f2a", "lake": "/lake", "status": "done", "seconds": 9.5, "captures": captures, "stages": stages}
    return base | {"rows": {"frames": 6000}, "warnings": [f"odd {HOSTILE}"]} | more


def printed(renderable: Any) -> str:
    file = io.StringIO()
    show(renderable, file)
    assert all(line.isprintable() for line in file.getvalue().split("\n"))
    return " ".join(file.getvalue().split())


def test_the_summary_tells_a_stranger_what_was_found() -> None:
    answers = ask(lake())
    shown = printed(summary(result(overview={name: records(answers[name]) for name in SUMMARY}, report="/r.html")))
    for words in (
        "Run 4b1d9ce01f2a: done in 9.5 s (extract 3.2 s, metrics 5.01 s)",
        "2 captures: 1 complete, 1 truncated",
        "36 with 6,000 frames, 1 refused, 12 unanswered, 1 joined midstream, 12 with a secret in clear",
        "p50 3.01 ms, p95 25.8 ms",
        "of 1,440 deliveries that ask for an ACK; 3 left out as uncertain; 45 not settled; 51 unknown",
        "session directions: 37 ok, 5 late, 5 violation, 1 dead",
        "Rules 4 applied By clients 28 MUST, 8 SHOULD, 32 INFO findings By brokers 4 MUST, 8 SHOULD, 0 INFO findings",
        "RabbitMQ 1.0 2",
        "AK-04 MUST client",
        "FR-27 SHOULD server",
        "Lake /lake Report /r.html",
    ):
        assert words in shown
    assert "CN-20" not in shown, "findings of level INFO are not called broken"


@pytest.mark.parametrize(("against_time", "told"), [(0, False), (3, True)])
def test_the_summary_says_that_clocks_disagree_where_they_do(against_time: int, told: bool) -> None:
    row = {"against_time": against_time, "unsure": 0, "durations": 0, "without_times": 0}
    shown = printed(summary(result(overview={"clocks_total": [row]})))
    assert ("Clocks In 3 sessions acknowledgements have earlier times" in shown) == told == ("docs/judging.md" in shown)


@pytest.mark.parametrize(
    "overview",
    [None, {}, {name: records(rows) for name, rows in ask({n: t.slice(0, 0) for n, t in lake().items()}).items()}],
    ids=["none", "nothing asked", "an empty lake"],
)
def test_the_summary_of_little(overview: dict[str, Any] | None) -> None:
    shown = printed(summary(result(overview=overview, captures=[], stages=[], warnings=["w"] * 9)))
    assert "Run 4b1d9ce01f2a: done" in shown
    assert "and 4 more warnings" in shown
    assert "Lake /lake" in shown
    assert "stompcap report" not in shown, "there is nothing to report"
    assert "Look closer" not in shown


def test_the_summary_of_a_large_lake_is_of_what_is_new() -> None:
    shown = printed(summary(result(overview={}, rows={"sessions": 1200, "frames": 90_000, "compliance_findings": 3})))
    assert "New 1,200 sessions, 90,000 frames, 0 deliveries, 3 findings; stompcap show --lake /lake sums up the lake" in shown


@pytest.mark.parametrize(
    ("direct", "cumulative", "uncertain", "unknown", "words"),
    [
        (0, 3, 0, 1, "p50 at most 2 ms, p95 at most 3 ms (acks are cumulative) of 5 deliveries that ask for an ACK; 2 not settled; "
                     "1 unknown"),
        (0, 0, 0, 0, "none settled of 5"),
        (0, 0, 1, 0, "not sure of any of 5 deliveries that ask for an ACK; 1 left out as uncertain; 2 not settled"),
    ],
)
def test_the_latency_says_what_it_is(direct: int, cumulative: int, uncertain: int, unknown: int, words: str) -> None:
    total = {"deliveries": 5, "direct": direct, "cumulative": cumulative, "uncertain": uncertain, "unsettled": 2, "unknown": unknown,
             "cumulative_p50_us": 2000, "cumulative_p95_us": 3000}  # fmt: skip
    assert words in printed(summary(result(overview={"ack_total": [total]})))


@pytest.mark.parametrize(
    ("more", "offered"),
    [
        ({"overview": {"sessions_total": [{"sessions": 0}]}, "rows": {"streams": 9, "compliance": 0}}, False),
        ({"rows": {"raw_frames": 5}}, False),
        ({"rows": {"compliance": 70}}, True),
    ],
    ids=["no connection spoke STOMP", "extract alone", "metrics alone"],
)
def test_a_report_is_offered_where_there_is_something_to_report(more: dict[str, Any], offered: bool) -> None:
    assert ("stompcap report" in printed(summary(result(**more)))) is offered


def test_the_commands_it_names_can_be_typed_for_any_lake() -> None:
    shown = printed(summary(result(lake="/my lakes/one", rows={"compliance": 1})))
    assert "stompcap report --lake '/my lakes/one' -o report.html" in shown
    assert "Lake /my lakes/one Report" in shown


def on_terminal(width: int, columns: list[str], rows: list[list[Any]]) -> list[str]:
    """The lines that a terminal of so many characters gets."""
    program = "import json, sys; from stompcap.cli.render import emit; emit(*json.loads(sys.argv[1]), 'table')"
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")} | {"TERM": "dumb"}
    words = [sys.executable, "-c", program, json.dumps([columns, rows])]
    child = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=ROOT)
    os.close(theirs)
    octets = b""
    with contextlib.suppress(OSError):  # Linux says EIO at the end
        while chunk := os.read(mine, 1 << 16):
            octets += chunk
    os.close(mine)
    assert child.wait() == 0
    lines = octets.decode().replace("\r\n", "\n").splitlines()
    assert all(line.isprintable() and len(line) <= width for line in lines)
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [110, 80])
def test_rows_that_a_terminal_is_too_narrow_for_are_records(width: int) -> None:
    names = TABLES["sessions"].arrow.names
    rows = [[f"{name} {number}" for name in names] for number in (1, 2)]
    rows[0][3], rows[1][3] = HOSTILE, "x" * 200
    lines = on_terminal(width, names, rows)
    longest = max(map(len, names))
    for number, row in enumerate(rows, 1):
        assert sum(line.startswith(f"─[ {number} ]─") for line in lines) == 1
        assert f"{names[0]:{longest}}  {row[0]}" in lines
        assert f"{names[-1]:{longest}}  {row[-1]}" in lines
    assert any(r"\x1b[31m" in line for line in lines)
    folded = "".join(line.split()[-1] for line in lines if "xx" in line)
    assert folded == "x" * (render.WIDEST - 1) + "…"


@pytest.mark.parametrize("width", [110, 80])
def test_rows_that_fit_are_a_table(width: int) -> None:
    lines = on_terminal(width, ["name", "count", "text"], [["a", 1, "y" * 100], ["b", 22, "z"]])
    assert lines[0].split() == ["name", "count", "text"]
    assert lines[2].startswith("a          1   yyyy")
    assert lines[-1] == "b         22   z"
    assert sum(line.count("y") for line in lines) == 100


def test_a_file_gets_a_table_of_any_width() -> None:
    names = TABLES["sessions"].arrow.names
    assert len(emitted(names, [names], "table").splitlines()) == 3


@given(st.lists(st.tuples(scalars, scalars), max_size=5))
def test_nothing_in_a_record_steers_a_terminal(rows: list[tuple[Any, Any]]) -> None:
    file = io.StringIO()
    show(render.records(["a", "b"], rows), file)
    assert all(line.isprintable() for line in file.getvalue().split("\n"))
