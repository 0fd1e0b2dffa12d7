"""A user's own suite of Great Expectations: judged beside ours, told with the keys of rows, refused in one line where it is wrong."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stompcap.cli import common
from stompcap.cli.main import app
from stompcap.errors import UsageError
from stompcap.lake import tables as lakes
from stompcap.quality import failure, validate
from stompcap.tables import TABLES
from tests.quality import lakes as made
from tests.quality.faults import put

NOT_NULL = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "destination"}}
SUITE = [
    NOT_NULL | {"severity": "warning", "description": "Every delivery has a destination", "id": "6b1c", "meta": {"by": "me"}},
    {"type": "expect_column_values_to_be_between", "kwargs": {"column": "ack_latency_us", "max_value": 2**60}},
    {"type": "expect_column_values_to_be_between", "kwargs": {
        "column": "ack_latency_us", "max_value": 7, "row_condition": 'message_id == "m-1"', "condition_parser": "pandas"}},
    {"type": "expect_column_value_lengths_to_equal", "kwargs": {"column": "message_id", "value": 3, "mostly": 0.5}},
    {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1000}},
    {"type": "expect_table_columns_to_match_set", "kwargs": {"column_set": ["stream_id"], "exact_match": False}},
    {"type": "expect_column_values_to_match_strftime_format", "kwargs": {"column": "body_octets", "strftime_format": "%Y"}},
]  # fmt: skip


def write(folder: Path, expectations: Any, table: str = "deliveries") -> str:
    """A settings file that names a suite beside it; its path."""
    about = {"id": "c0ffee", "meta": {"great_expectations_version": "1.24.1"}, "name": "house", "notes": None}
    (folder / "mine.json").write_text(json.dumps(about | {"expectations": expectations}))
    (folder / "settings.toml").write_text(f'[quality.suites]\n{table} = "mine.json"\n')
    return str(folder / "settings.toml")


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A lake with a batch that no validation has seen, of which one table is judged by our expectations, without Spark."""
    where, rows = str(tmp_path / "lake"), made.tables()
    rows["deliveries"] = put("ack_latency_us", 1, 2**60 + 1)(rows["deliveries"])
    lakes.create(where)
    for name in TABLES:
        if TABLES[name].layer != "operations" or name == "stream_state":
            lakes.append(where, name, rows[name], ["x"], "run")
    monkeypatch.setattr("stompcap.quality.validate", partial(validate, tables=["captures"]))
    monkeypatch.setattr("stompcap.spark.session.get_session", lambda *_: pytest.fail("a small lake needs no Spark"))
    return where


def test_a_suite_is_judged_beside_ours(lake: str, tmp_path: Path) -> None:
    settings = write(tmp_path, SUITE)
    (tmp_path / "captures").mkdir()
    command = ["--lake", lake, "--settings", settings, "--fail-on", "quality", "--json"]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "captures"), *command], catch_exceptions=False)
    assert done.exit_code == 1, done.stderr
    told = json.loads(done.stdout)
    stored = lakes.small(lake, "quality_results").to_pylist()
    keys = [tuple(row[name] for name in TABLES["quality_results"].key) for row in stored]
    assert len({*keys}) == len(keys)
    rows = [row for row in stored if row["expectation"].startswith("house: ")]
    assert {row["run_id"] for row in rows} == {told["run_id"]}
    assert len(rows) == len(SUITE)
    place = f"(stream_id {0:020x}, stream_offset 303)"
    first = f"(stream_id {0:020x}, stream_offset 202)"
    expected = {
        f"quality: deliveries.destination: house: Every delivery has a destination: not so of 12 of 12 deliveries {first}",
        f"quality: deliveries.ack_latency_us: house: expect_column_values_to_be_between: not so of 1 of 12 deliveries {place}",
        f"quality: deliveries.ack_latency_us: house: expect_column_values_to_be_between: not so of 1 of 1 deliveries {place}",
        "quality: deliveries: house: expect_table_row_count_to_be_between: is not met, for it is 12",
    }
    lines = {line for line in told["warnings"] if "house" in line}
    assert expected <= lines
    (line,) = lines - expected
    assert line.startswith("quality: deliveries.body_octets: house: expect_column_values_to_match_strftime_format: could not be judged (")
    severities = {row["column_name"]: row["severity"] for row in rows}
    assert (severities["destination"], severities["body_octets"]) == ("warning", "error")
    assert {f"quality: {failure(row)}" for row in rows if not row["success"]} == lines
    assert "Every delivery has a destination" in Path(lake, "_data_docs", "index.html").read_text()

    write(tmp_path, SUITE[:1])
    done = CliRunner().invoke(app, ["validate", *command], catch_exceptions=False)
    assert (done.exit_code, len(json.loads(done.stdout)["warnings"])) == (0, 1), "a warning trips no gate"


@pytest.mark.slow
def test_what_is_new_alone_is_judged_again_where_a_suite_has_changed(lake: str, tmp_path: Path) -> None:
    def runs(*command: str) -> set[str]:
        done = CliRunner().invoke(app, ["validate", "--new", "--lake", lake, *command], catch_exceptions=False)
        assert done.exit_code in (0, 1), done.stderr
        return {row["run_id"] for row in lakes.small(lake, "quality_results").to_pylist()}

    settings = write(tmp_path, SUITE[:1])
    first = runs("--settings", settings)
    assert len(first) == 1
    assert runs("--settings", settings) == first, "nothing is new"
    write(tmp_path, [NOT_NULL])
    second = runs("--settings", settings)
    assert len(second) == 2
    assert len(runs()) == 3, "no suite is another than one"
    assert len(runs()) == 3


@pytest.mark.parametrize(("text", "table", "told"), [
    ("{", "frames", "no JSON"),
    ("[]", "frames", 'no suite, which is an object with a list "expectations"'),
    ('{"expectations": []}', "frames", 'the suite has no "name"'),
    ([], "nonsense", "nonsense: no such table"),
    ([5], "frames", 'expectation 1: no object with "type" and "kwargs"'),
    ([{"expectation_type": "expect_x", "kwargs": {}}], "frames", "it is of Great Expectations before 1.0"),
    ([NOT_NULL, {"type": "expect_nonsense", "kwargs": {}}], "deliveries", r"expectation 2 \(expect_nonsense\): expect_nonsense not found"),
    ([{"type": NOT_NULL["type"], "kwargs": {}}], "frames", "column field required"),
    ([NOT_NULL | {"severity": "bad"}], "deliveries", "Invalid severity 'bad'. Must be one of: critical, warning, info"),
    ([NOT_NULL], "streams", "table streams has no column destination; docs/tables.md lists its columns"),
    ([{"type": "unexpected_rows_expectation", "kwargs": {"unexpected_rows_query": "SELECT"}}], "frames", "judged by databases only"),
])  # fmt: skip
def test_a_wrong_suite_is_refused_in_one_line(
    tmp_path: Path, text: Any, table: str, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = write(tmp_path, text, table)
    if isinstance(text, str):
        (tmp_path / "mine.json").write_text(text)
    with pytest.raises(UsageError, match=told) as caught:
        common.options(settings=settings)
    assert str(caught.value).startswith(f"{tmp_path}/mine.json: ")
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_missing_suite_is_refused(tmp_path: Path) -> None:
    settings = write(tmp_path, [])
    (tmp_path / "mine.json").unlink()
    with pytest.raises(UsageError, match=r"mine.json: No such file or directory; name a suite"):
        common.options(settings=settings)
    (tmp_path / "settings.toml").write_text("[quality.suites]\ndeliveries = 5\n")
    with pytest.raises(UsageError, match=r"quality\.suites\.deliveries: must be a file"):
        common.options(settings=settings)
