"""Data Docs: every check of the last validation, readable without network, whatever the tables held."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from stompcap.report.checks import checks, write_checks
from tests.report.sample import HOSTILE
from tests.report.test_page import outline


def row(table: str, column: str | None, expectation: str, observed: str, success: bool = True, severity: str = "error") -> dict[str, Any]:
    when = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    return {"run_id": "abc", "table_name": table, "column_name": column, "expectation": expectation, "severity": severity,
            "success": success, "observed": observed, "checked_ts": when}  # fmt: skip


ROWS = [
    row("frames", "command", "expect_column_values_to_not_be_null", '{"rows": 3, "nulls": 0}'),
    row("captures", "status", "expect_column_distinct_values_to_be_in_set",
        '{"rows": 2, "broken": 1, "first": [{"path": "<b>x.pcap"}], "values": {"truncated": 1}}', False, "warning"),
    row("deliveries", "ack_latency_us", "expect_column_values_to_be_between",
        '{"rows": 9, "broken": 2, "first": [{"stream_id": "<b>x", "ack_latency_us": -5}]}', False),
]  # fmt: skip


def test_what_does_not_hold_comes_first_in_words_and_every_check_is_there() -> None:
    page = checks(f"/lake/{HOSTILE}", ROWS)
    found = outline(page)
    text = " ".join("".join(found.words).split())
    assert "2 of 3 checks on the tables of the lake failed." in text
    first = text.index("deliveries.ack_latency_us: 2 of 9 deliveries are below 0 (stream_id <b>x, ack_latency_us -5)")
    second = text.index("captures.status: 1 of 2 captures is truncated (<b>x.pcap)")
    assert first < second < text.index("expect_column_values_to_be_between")
    assert "run abc · 2026-01-02 03:04:05 UTC" in text
    assert [one["expectation"] for one in ROWS if one["expectation"] not in text] == []


def test_it_asks_the_network_for_nothing() -> None:
    page = checks(f"/lake/{HOSTILE}", ROWS)
    for tag, attributes in outline(page).tags:
        assert tag not in ("script", "img", "iframe", "object", "embed", "b")
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
        assert "src" not in attributes
    assert "://" not in page
    assert "url(" not in page
    assert all(c.isprintable() or c == "\n" for c in page)


def test_it_is_written_over(tmp_path: Path) -> None:
    place = tmp_path / "docs" / "index.html"
    for rows in (ROWS, ROWS[:1]):
        write_checks("lake", str(place), rows)
    assert "The one check passed" in place.read_text("utf-8")
    assert [path.name for path in place.parent.iterdir()] == ["index.html"]
