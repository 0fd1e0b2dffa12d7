"""A lake that keeps its word passes; each planted fault is told, and only by the expectations that speak of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake

from stompcap.tables import TABLES
from tests.quality import lakes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fault = Callable[[pa.Table], pa.Table]
KEYS = "expect_compound_columns_to_be_unique"
WORDS = "expect_column_values_to_be_in_set"
BETWEEN = "expect_column_values_to_be_between"


def no_spark() -> SparkSession:
    raise AssertionError("a small lake needs no Spark")


def run(lake: Path, spark: Callable[[], SparkSession] = no_spark, **options: Any) -> list[dict[str, Any]]:
    from stompcap.quality import validate

    results = validate(spark, str(lake), "run-1", **options)
    assert results.schema.equals(TABLES["quality_results"].arrow)
    rows: list[dict[str, Any]] = results.to_pylist()
    return rows


def failed(rows: list[dict[str, Any]]) -> set[tuple[str, str | None, str]]:
    return {(r["table_name"], r["column_name"], r["expectation"]) for r in rows if not r["success"]}


def drop(row: int) -> Fault:
    return lambda table: pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


def repeat(row: int) -> Fault:
    return lambda table: pa.concat_tables([table, table.slice(row, 1)])


def put(column: str, row: int, value: Any) -> Fault:
    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        values[row] = value
        index = table.schema.get_field_index(column)
        return table.set_column(index, table.schema.field(index), pa.array(values, table.schema.field(index).type))

    return change


def test_a_clean_lake_passes(tmp_path: Path) -> None:
    rows = run(lakes.write(tmp_path / "lake", lakes.tables()))
    assert failed(rows) == set()
    keys = [(r["table_name"], r["column_name"], r["expectation"]) for r in rows]
    assert len(set(keys)) == len(keys), "the key of quality_results"
    assert {r["table_name"] for r in rows} == set(TABLES)
    for table in TABLES.values():
        told = {r["column_name"] for r in rows if r["table_name"] == table.name and r["expectation"] == WORDS}
        assert told == {c.name for c in table.enumerations}
        between = {r["column_name"] for r in rows if r["table_name"] == table.name and r["expectation"] == BETWEEN}
        assert between == {c.name for c in table.ranged}


def test_the_same_evidence_is_not_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a fault that comes later passed over, or one that was there believed to stay."""
    from stompcap.quality.expectations import Validator

    judged: list[str] = []
    whole = Validator.validate

    def validate(self: Validator, suite: Any, frame: Any) -> Any:
        judged.append(suite.name)
        return whole(self, suite, frame)

    lake, told = lakes.write(tmp_path / "lake", lakes.tables()), {}
    run(lake)
    monkeypatch.setattr(Validator, "validate", validate)
    for name, fault in (("clean", None), ("twice", repeat(0)), ("once more", repeat(1)), ("repaired", None)):
        judged.clear()
        table = lakes.tables()["receipts"]
        write_deltalake(str(lake / "receipts"), fault(table) if fault else table, mode="overwrite")
        rows = run(lake)
        told[name] = (list(judged), ("receipts", None, KEYS) in failed(rows))
        (counted,) = [row for row in rows if (row["table_name"], row["expectation"]) == ("receipts", KEYS)]
        assert json.loads(counted["observed"])["rows"] == len(table) + bool(fault)
    both = ["receipts", "invariants"]
    assert told == {
        "clean": (["invariants"], False), "twice": (both, True), "once more": (["invariants"], True), "repaired": (both, False),
    }  # fmt: skip


@pytest.mark.slow  # a process of its own imports Great Expectations
def test_a_program_without_a_file_validates_too(tmp_path: Path) -> None:
    """pyspark ends such a process when Great Expectations asks it for Spark Connect (`python -c`, workers of pytest-xdist)."""
    lakes.write(tmp_path, lakes.tables(), ["streams"])
    program = f"from stompcap.quality import validate; print(validate(None, {str(tmp_path)!r}, 'r', tables=['streams']).num_rows)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


TILING = ("raw_frames", None, "expect_raw_frames_to_tile_directions")
FRAMES = ("frames", None, "expect_frames_to_match_raw_frames")
DELIVERIES = ("deliveries", None, "expect_deliveries_to_match_messages")
TRANSACTIONS = ("transactions", None, "expect_transactions_to_match_begins")
RECEIPTS = ("receipts", None, "expect_receipts_to_match_requests")
SESSIONS = ("sessions", None, "expect_one_session_per_stream_with_frames")

FAULTS: list[tuple[str, dict[str, Fault], set[tuple[str, str | None, str]]]] = [
    (
        "rows lost",
        {"raw_frames": drop(1), "frames": drop(0), "transactions": drop(1), "receipts": drop(0), "sessions": drop(2),
         "captures": put("status", 0, "truncated")},
        {TILING, FRAMES, TRANSACTIONS, RECEIPTS, SESSIONS, ("captures", "status", "expect_column_distinct_values_to_be_in_set")},
    ),
    (
        "rows twice",
        {"raw_frames": repeat(1), "deliveries": repeat(2), "sessions": repeat(0)},
        {TILING, ("raw_frames", None, KEYS), DELIVERIES, ("deliveries", None, KEYS), SESSIONS, ("sessions", None, KEYS)},
    ),
    (
        "rows elsewhere: an overlap that makes up for a hole, a delivery of no MESSAGE",
        {"raw_frames": put("stream_offset", 1, 99), "deliveries": put("stream_offset", 0, 5)},
        {TILING, DELIVERIES},
    ),
    (
        "a delivery missing, a session that counts a frame too many, an empty row at the very end",
        {"deliveries": drop(3), "sessions": put("frames_s2c", 1, 7),
         "raw_frames": lambda table: pa.concat_tables([
             table, put("length_octets", 0, 0)(put("stream_offset", 0, 9 * (lakes.LENGTH + 1) + 7)(table.slice(0, 1)))])},
        {DELIVERIES, SESSIONS, FRAMES, ("raw_frames", None, "expect_raw_frames_to_hold_octets")},
    ),
    (
        "a stream of STOMP without rows",
        {"raw_frames": lambda table: table.filter(pc.field("stream_id") != f"{0:020x}")},
        {TILING, FRAMES},
    ),
]


@pytest.mark.parametrize(("faults", "expected"), [
    pytest.param(*fault, id=name, marks=[] if name in ("rows lost", "rows twice") else pytest.mark.slow) for name, *fault in FAULTS
])  # fmt: skip
def test_planted_faults_are_told(
    tmp_path: Path, faults: dict[str, Fault], expected: set[tuple[str, str | None, str]]
) -> None:
    made = lakes.tables()
    for table, fault in faults.items():
        made[table] = fault(made[table])
    names = ["captures", "streams", "raw_frames", "frames", "sessions", "deliveries", "transactions", "receipts"]
    rows = run(lakes.write(tmp_path, made, names), tables=names)
    assert failed(rows) == expected
    told = [r for r in rows if not r["success"]]
    assert {r["table_name"] for r in told if r["severity"] == "warning"} <= {"captures"}
    assert all(len(r["observed"]) < 2000 and "secret" not in r["observed"] for r in told)


def test_failures_are_told_in_words_without_a_sound(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from stompcap.quality import failure

    made = lakes.tables()
    made["captures"] = put("status", 0, "truncated")(made["captures"])
    made["raw_frames"] = drop(1)(made["raw_frames"])
    made["deliveries"] = put("ack_latency_us", 1, -5)(repeat(2)(made["deliveries"]))
    made["frames"] = put("first_ns", 0, 9)(made["frames"])
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
    assert f"frames.last_ns: 1 of 45 frames is below first_ns ({place}, first_ns 9, last_ns 0)" in told
    (line,) = (line for line in told if line.startswith("sessions.opened_ns:"))
    assert line == f"sessions.opened_ns: 1 of 3 sessions is before 1970 or after 2099 (stream_id {2:020x}, opened_ns {2**62})"
    (line,) = (line for line in told if line.startswith("raw_frames: violated: Sorted by offset,"))
    assert line.endswith(f"; 2 places differ (stream_id {stream}, direction c2s, stream_offset 100, begin 0, end 1)")
    assert {row["message"] for row in rows} == {*told, None}
    assert capfd.readouterr() == ("", "")
    sessions = put("outcome", 1, "\x1b[2J")(made["sessions"])
    loose = pa.schema([field.with_nullable(True) for field in sessions.schema])
    sessions = put("opened_ns", 0, None)(pa.table(sessions.columns, schema=loose))
    lakes.write_loosely(tmp_path / "loose", "sessions", sessions)
    words = [failure(row) for row in run(tmp_path / "loose", tables=["sessions"]) if not row["success"]]
    assert f"sessions.opened_ns: 1 of 3 sessions is null (stream_id {0:020x})" in words
    (line,) = (line for line in words if line.startswith(r"sessions.outcome: 1 of 3 sessions is \x1b[2J, not one of connected, "))
    assert line.endswith(f" (stream_id {1:020x})")


@pytest.mark.slow
@pytest.mark.spark
def test_spark_finds_the_same_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stompcap.quality import profiles
    from stompcap.spark import query
    from stompcap.spark.session import get_session

    made, names = lakes.tables(), ["streams", "raw_frames", "segments"]
    made["raw_frames"] = repeat(1)(drop(4)(made["raw_frames"]))
    lakes.write(tmp_path, made, names)
    write_deltalake(str(tmp_path / "segments"), made["segments"].slice(3, 2), mode="append")

    def told(spark: Callable[[], SparkSession]) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if key != "checked_ts"} for row in run(tmp_path, spark, tables=names)]

    here = told(no_spark)
    monkeypatch.setattr(profiles, "DRIVER_ROWS", 0)
    monkeypatch.setattr(query, "DRIVER_ROWS", 0)
    assert told(lambda: get_session("local[2]")) == here
    assert failed(here) == {TILING, ("raw_frames", None, KEYS), ("segments", None, KEYS)}


def test_wrong_words_and_nulls_are_told_with_their_counts(tmp_path: Path) -> None:
    made = lakes.tables()
    sessions = put("outcome", 1, "x" * 500)(made["sessions"])
    loose = pa.schema([f.with_nullable(True) for f in sessions.schema])
    sessions = put("opened_ns", 0, None)(pa.table(sessions.columns, schema=loose))
    lakes.write_loosely(tmp_path, "sessions", sessions)
    rows = {(r["column_name"], r["expectation"]): r for r in run(tmp_path, tables=["sessions"])}
    words = rows["outcome", WORDS]
    assert not words["success"]
    assert json.loads(words["observed"])["values"] == {"connected": 2, "x" * 40: 1}
    nulls = rows["opened_ns", "expect_column_values_to_not_be_null"]
    assert not nulls["success"]
    assert json.loads(nulls["observed"]) == {"broken": 1, "first": [{"stream_id": f"{0:020x}"}], "rows": 3}
    assert (nulls["checked_rows"], nulls["failed_rows"], words["failed_rows"]) == (3, 1, 1)
    assert rows["end_kind", WORDS]["success"]


def test_invariants_wait_for_all_their_tables(tmp_path: Path) -> None:
    made = lakes.tables()
    made["streams"] = made["streams"].filter(pc.field("stream_id") == "nowhere")
    rows = run(lakes.write(tmp_path, made, ["raw_frames", "frames"]), tables=["raw_frames", "frames"])
    names = {r["expectation"] for r in rows}
    assert FRAMES[2] in names
    assert TILING[2] not in names
    assert failed(rows) == set()


def other(rows: int) -> Fault:
    """The first streams do not speak STOMP."""
    return lambda table: table.set_column(
        table.schema.get_field_index("protocol"), table.schema.field("protocol"),
        pa.array(["other"] * rows + ["stomp"] * (table.num_rows - rows)))


def test_other_streams_tile_if_their_octets_are_kept(tmp_path: Path) -> None:
    made = lakes.tables()
    made["streams"] = other(2)(made["streams"])
    made["raw_frames"] = made["raw_frames"].filter(pc.field("stream_id") != f"{0:020x}")
    names = ["streams", "raw_frames"]
    assert failed(run(lakes.write(tmp_path / "whole", made, names), tables=names)) == set()
    at = made["raw_frames"].column("stream_id").to_pylist().index(f"{1:020x}")
    made["raw_frames"] = drop(at + 2)(made["raw_frames"])
    rows = run(lakes.write(tmp_path / "holed", made, names), tables=names)
    assert failed(rows) == {TILING}
    observed = json.loads(next(r["observed"] for r in rows if r["expectation"] == TILING[2]))
    assert observed["broken"] == 2, "the point where the hole begins and the one where it ends"
    assert {row["stream_id"] for row in observed["first"]} == {f"{1:020x}"}


def test_keys_are_told_across_files(tmp_path: Path) -> None:
    made = lakes.tables()
    lakes.write(tmp_path, made, ["segments", "streams"])
    write_deltalake(str(tmp_path / "segments"), made["segments"].slice(3, 2), mode="append")
    rows = run(tmp_path, tables=["segments", "streams"])
    assert failed(rows) == {("segments", None, KEYS)}
    observed = next(r["observed"] for r in rows if r["table_name"] == "segments" and r["expectation"] == KEYS)
    assert json.loads(observed)["broken"] == 2
    assert json.loads(observed)["first"][0] == {"stream_id": f"{0:020x}", "direction": "c2s", "stream_offset": "303"}


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


def test_a_table_the_lake_does_not_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        run(tmp_path, tables=["nonsense"])
