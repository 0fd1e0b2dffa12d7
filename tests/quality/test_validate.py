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

from stompcap.quality.report import Asked
from stompcap.tables import TABLES
from tests.quality import lakes
from tests.quality.faults import (
    AS_RAW_FRAMES,
    BETWEEN,
    BRING_OCTETS,
    DELIVERIES,
    FRAMES,
    KEYS,
    RECEIPTS,
    SESSIONS,
    TILING,
    TRANSACTIONS,
    WORDS,
    Fault,
    drop,
    failed,
    no_spark,
    other,
    put,
    repeat,
    run,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


@pytest.mark.slow  # a process of its own imports Great Expectations
def test_a_program_without_a_file_validates_too(tmp_path: Path) -> None:
    """pyspark ends such a process when Great Expectations asks it for Spark Connect (`python -c`, workers of pytest-xdist)."""
    lakes.write(tmp_path, lakes.tables(), ["streams"])
    program = f"from stompcap.quality import validate; print(validate(None, {str(tmp_path)!r}, 'r', tables=['streams']).num_rows)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


@pytest.mark.slow  # a process of its own imports Great Expectations
def test_libraries_that_few_expectations_use_are_imported_at_their_first_use() -> None:
    program = (
        "import sys; import stompcap.quality.great_expectations; "
        "print([name in sys.modules for name in ('scipy.stats', 'altair', 'pyspark.ml')]); "
        "from great_expectations.compatibility import pyspark; import pyspark.ml.feature as mllib; mllib.Bucketizer = dict; "
        "print(pyspark.Bucketizer(splits=4)); "
        "from great_expectations.expectations.core import expect_column_kl_divergence_to_be_less_than as one; "
        "print(one.stats.entropy([1, 1], [1, 1]), one.alt.Chart.__name__); import scipy.stats.distributions"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[False, False, False]", "{'splits': 4}", "0.0 Chart"]


FAULTS: list[tuple[str, dict[str, Fault], set[tuple[str, str | None, str]]]] = [
    (
        "rows lost",
        {"raw_frames": drop(1), "frames": drop(0), "transactions": drop(1), "receipts": drop(0), "sessions": drop(2),
         "captures": lambda table: put("damage", 0, "cut")(put("status", 0, "truncated")(table))},
        {TILING, FRAMES, TRANSACTIONS, RECEIPTS, SESSIONS, AS_RAW_FRAMES,
         ("captures", "status", "expect_column_distinct_values_to_be_in_set")},
    ),
    (
        "rows twice",
        {"raw_frames": repeat(1), "deliveries": repeat(2), "sessions": repeat(0)},
        {TILING, ("raw_frames", None, KEYS), DELIVERIES, ("deliveries", None, KEYS), SESSIONS, ("sessions", None, KEYS),
         *(("sessions", None, f"expect_{what}_to_match_streams") for what in ("sessions", "complete_ends", "gap_octets"))},
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
        {TILING, FRAMES, AS_RAW_FRAMES},
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


@pytest.mark.slow
@pytest.mark.spark
def test_spark_finds_the_same_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stompcap.lake import query
    from stompcap.quality import profiles
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
    assert failed(here) == {TILING, ("raw_frames", None, KEYS), ("segments", None, KEYS), BRING_OCTETS}


def test_invariants_wait_for_all_their_tables(tmp_path: Path) -> None:
    made = lakes.tables()
    made["streams"] = made["streams"].filter(pc.field("stream_id") == "nowhere")
    rows = run(lakes.write(tmp_path, made, ["raw_frames", "frames"]), tables=["raw_frames", "frames"])
    names = {r["expectation"] for r in rows}
    assert FRAMES[2] in names
    assert TILING[2] not in names
    assert failed(rows) == set()


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
    assert failed(rows) == {("segments", None, KEYS), BRING_OCTETS}
    observed = next(r["observed"] for r in rows if r["table_name"] == "segments" and r["expectation"] == KEYS)
    assert json.loads(observed)["broken"] == 2
    assert json.loads(observed)["first"][0] == {"stream_id": f"{0:020x}", "direction": "c2s", "stream_offset": "303"}


def test_a_table_the_lake_does_not_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        run(tmp_path, tables=["nonsense"])


def test_few_threads_read_however_many_rows_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a row group."""
    from stompcap.quality import profiles

    told: list[int] = []

    class Pool(profiles.ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            told.append(threads)
            super().__init__(threads)

    lake = lakes.write(tmp_path, lakes.tables())
    monkeypatch.setattr(profiles, "TASK_ROWS", 1)
    monkeypatch.setattr(profiles, "ThreadPoolExecutor", Pool)
    names = list(TABLES)
    assert profiles.profiles(no_spark, {name: str(lake / name) for name in names}, Asked.of_tables(names)).profiles["streams"].rows == 3
    assert told == [profiles.THREADS]
