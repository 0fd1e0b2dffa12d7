"""What failed is told in words, with the number of rows and an example, and shown as text."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.quality import lakes
from tests.quality.faults import WORDS, drop, failed, put, repeat, run


def test_failures_are_told_in_words_without_a_sound(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from stompcap.quality import failure

    made = lakes.tables()
    made["captures"] = put("status", 0, "truncated")(made["captures"])
    made["raw_frames"] = drop(1)(made["raw_frames"])
    made["deliveries"] = put("ack_latency_us", 1, -5)(repeat(2)(made["deliveries"]))
    made["frames"] = put("body_octets", 0, 999)(made["frames"])
    made["sessions"] = put("opened_ns", 2, 2**62)(made["sessions"])
    names = ["captures", "streams", "raw_frames", "frames", "sessions", "deliveries"]
    rows = run(lakes.write(tmp_path, made, names), tables=names)
    told = {failure(row) for row in rows if not row["success"]}
    stream = f"{0:020x}"
    assert "captures.status: 1 of 1 captures is truncated (x)" in told
    assert f"deliveries: 1 of 13 deliveries repeats the stream_id, stream_offset of another (stream_id {stream}, stream_offset 404)" in told
    place = f"stream_id {stream}, stream_offset 303"
    assert f"deliveries.ack_latency_us: 1 of 13 deliveries is below 0 ({place}, ack_latency_us -5)" in told
    place = f"stream_id {stream}, direction c2s, stream_offset 0"
    assert f"frames.length_octets: 1 of 45 frames is below body_octets ({place}, body_octets 999, length_octets 100)" in told
    (line,) = (line for line in told if line.startswith("sessions.opened_ns:"))
    assert line == f"sessions.opened_ns: 1 of 3 sessions is before 1970 or after February 2106 (stream_id {2:020x}, opened_ns {2**62})"
    (line,) = (line for line in told if line.startswith("raw_frames: violated: Sorted by offset,"))
    assert line.endswith(f"; 2 places differ (stream_id {stream}, direction c2s, stream_offset 100, begin 0, end 1)")
    assert {row["message"] for row in rows} == {*told, None}
    assert capfd.readouterr() == ("", "")
    sessions = put("outcome", 1, "\x1b[2J")(made["sessions"])
    loose = pa.schema([field.with_nullable(True) for field in sessions.schema])
    sessions = put("frames_c2s", 0, None)(pa.table(sessions.columns, schema=loose))
    lakes.write_loosely(tmp_path / "loose", "sessions", sessions)
    words = [failure(row) for row in run(tmp_path / "loose", tables=["sessions"]) if not row["success"]]
    assert f"sessions.frames_c2s: 1 of 3 sessions is null (stream_id {0:020x})" in words
    (line,) = (line for line in words if line.startswith(r"sessions.outcome: 1 of 3 sessions is \x1b[2J, not one of connected, "))
    assert line.endswith(f" (stream_id {1:020x})")


def test_wrong_words_and_nulls_are_told_with_their_counts(tmp_path: Path) -> None:
    made = lakes.tables()
    sessions = put("outcome", 1, "x" * 500)(made["sessions"])
    loose = pa.schema([f.with_nullable(True) for f in sessions.schema])
    sessions = put("frames_c2s", 0, None)(pa.table(sessions.columns, schema=loose))
    lakes.write_loosely(tmp_path, "sessions", sessions)
    rows = {(r["column_name"], r["expectation"]): r for r in run(tmp_path, tables=["sessions"])}
    words = rows["outcome", WORDS]
    assert not words["success"]
    assert json.loads(words["observed"])["values"] == {"connected": 2, "x" * 40: 1}
    nulls = rows["frames_c2s", "expect_column_values_to_not_be_null"]
    assert not nulls["success"]
    assert json.loads(nulls["observed"]) == {"broken": 1, "first": [{"stream_id": f"{0:020x}"}], "rows": 3}
    assert (nulls["checked_rows"], nulls["failed_rows"], words["failed_rows"]) == (3, 1, 1)
    assert rows["end_kind", WORDS]["success"]


def test_data_docs_show_what_should_not_be_there_as_text(tmp_path: Path) -> None:
    from stompcap.report.checks import write_checks

    sessions = put("outcome", 1, "<script>alert(1)</script>\x1b")(lakes.tables()["sessions"])
    lakes.write_loosely(tmp_path, "sessions", sessions)
    rows = run(tmp_path, tables=["sessions"])
    assert failed(rows) == {("sessions", "outcome", WORDS)}
    write_checks("a <lake>", str(tmp_path / "docs" / "index.html"), rows)
    page = (tmp_path / "docs" / "index.html").read_text()
    assert page.count("&lt;script&gt;alert(1)") == page.count("alert(1)") == 2, "in words and as observed"
    assert "<script" not in page
    assert "\x1b" not in page
    assert "a &lt;lake&gt;" in page
