"""All recordings in files that lost the order of their packets, a run for each shape: the lake is that of the recordings as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.runs import LINEAGE
from tests.e2e.test_clocks import BY_CLOCK, DURATIONS
from tests.e2e.truth import captures
from tests.examples import every
from tests.mangler.shapes import IN_RUNS, SHAPES, Shape, file_a_direction
from tests.mangler.test_shapes import ORDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NOT_OF_PACKETS = {"captures", "runs", "batches", "quality_results", "stream_state", "rules"}
AGGREGATES = {"ack_latency", "compliance_summary", "journeys", "destination_minutes", "incidents"}
SAMPLES = {"incidents": ("streams", "frames")}
"""Columns that name connections by their keys."""
TIMES = ("_ns", "_ts", "_us", "_ns_c2s", "_ns_s2c", "max_gap_ms", "observed_ms", "gap_ms")
OF_CLOCKS = {
    "streams": (*ORDER["streams"], "close_order_c2s", "close_order_s2c"), "sessions": ("unmeasured",),
    "subscriptions": ("max_in_flight", "mean_in_flight"), "heartbeats": ("cut_off_after_intervals",),
    "raw_frames": ("wire_order", "first_wire_order"), **dict.fromkeys(("frames", "segments"), ("wire_order",)),
}  # fmt: skip
"""What hangs on the clocks of both directions: how they compare, and the order of what crossed, which nothing else tells."""

OF_STEPS = {"heartbeats", "heartbeat_violations", "stalls", "compliance"}
"""Where silences are counted: nobody knows how long one was in which a clock stepped."""

BY_STEP = (*BY_CLOCK, "FR-19b", "SB-05", "SN-05")
"""Rules that wait for something, not evaluable across a step; and silences are of other heart-beats there."""

UNSEEN_NS = 6_000_000
"""A step between files may go unseen if it is shorter than the silence there: of 2 ms, three of them."""

LASTED = {
    "compliance_findings": " REPLACE (regexp_replace(evidence, '[0-9.]+ s of silence', 'silence') AS evidence)",
    "sessions": " REPLACE (regexp_replace(close_evidence, ' [0-9.]+ s (later|after the last octets)', '') AS close_evidence)",
}
"""A duration in words, which is off by less than a round trip where clocks differ."""

ALL = {"a file a direction, in two runs": file_a_direction(runs=2), **SHAPES, **IN_RUNS}
ALONE = pytest.mark.xfail(strict=False, reason="a handshake that ends a file does not go on in a run whose clock is an hour behind")
Database = duckdb.DuckDBPyConnection
Start = Callable[[Path, Sequence[Sequence[Path]]], list[str]]


def opened(database: Database, schema: str, lake: Path) -> None:
    """The tables of a lake in a schema, less what names files; `stream` is a connection's ends, and its place among those of the same."""
    database.sql(f"CREATE SCHEMA {schema}; USE {schema}")
    tables = {name: DeltaTable(str(lake / name)).to_pyarrow_table() for name in TABLES.keys() - NOT_OF_PACKETS}
    ends = "client_ip, client_port, server_ip, server_port"
    database.register("rows", tables["streams"])
    names = f"concat_ws(' ', {ends}, row_number() OVER (PARTITION BY {ends} ORDER BY first_ns))"
    database.sql(f"CREATE TABLE named AS SELECT stream_id, {names} AS stream FROM rows")
    for name, table in tables.items():
        kept = table.drop_columns([one for one in LINEAGE if one in table.column_names])
        database.register("rows", kept)
        one = "SELECT stream, * EXCLUDE stream_id FROM rows LEFT JOIN named USING (stream_id)"
        database.sql(f"CREATE TABLE {name} AS {one if 'stream_id' in kept.column_names else 'FROM rows'}")


def differing(database: Database, table: str, without: Collection[str] = (), where: str = "true", but: str = "") -> list[str]:
    """Some of the rows that only one of both lakes has."""
    columns = (f"* EXCLUDE ({', '.join(without)})" if without else "*") + but
    found, original = (f"(SELECT {columns} FROM {schema}.{table} WHERE {where})" for schema in ("found", "original"))
    lines = []
    for says, one, other in (("more", found, original), ("less", original, found)):
        rows = database.sql(f"FROM ({one} EXCEPT ALL {other}) ORDER BY ALL LIMIT 5").fetchall()
        lines += [f"{table}, {says}: {row}" for row in rows]
    return lines


def wrong_durations(database: Database, shift_ns: int, *, step: bool) -> list[str]:
    """Some of the durations that are neither those of the recordings nor null.

    They are off by the shift at most, and only where the clocks' difference that the packets allow includes it.
    """
    lines = []
    seen = "false" if step else f"{shift_ns // 1000} > clock_difference_max_us - clock_difference_min_us"
    for table, names in DURATIONS.items():
        place = next((f", {name}" for name in TABLES[table].key if name != "stream_id"), "")
        for name in names:
            one, other = f"found.{table}.{name}", f"original.{table}.{name}"
            rows = database.sql(f"""SELECT stream{place}, {one}, {other} FROM found.{table} JOIN original.{table} USING (stream{place})
                JOIN original.streams USING (stream)
                WHERE {one} IS NOT NULL AND {other} IS NULL OR {one} != {other} AND (abs({one} - {other}) > {shift_ns // 1000 + 1}
                    OR {seen}) LIMIT 5""").fetchall()
            lines += [f"{table}.{name}: {row}" for row in rows]
    return lines


def wrong_causes(database: Database) -> list[str]:
    """Connections that ended for another reason: across a step of the clock it may be unknown, but is no other."""
    sql = """SELECT o.stream, o.close_cause, f.close_cause FROM original.sessions o JOIN found.sessions f USING (stream)
             WHERE f.close_cause NOT IN (o.close_cause, 'unknown')"""
    return [f"sessions: {row}" for row in database.sql(sql).fetchall()]


def wrong_silences(database: Database) -> list[str]:
    """Some of the silences before a RST that are told otherwise than in the recordings, by more than their packets' round trips."""
    one, other = (f"TRY_CAST(regexp_extract({name}.evidence, '([0-9.]+) s of silence', 1) AS DOUBLE)" for name in ("found", "original"))
    rows = database.sql(f"""SELECT stream, {one}, {other} FROM found.compliance_findings AS found
        JOIN original.compliance_findings AS original USING (stream, rule_id, stream_offset)
        WHERE rule_id = 'DS-07' AND abs({one} - {other}) > 0.002 LIMIT 5""").fetchall()
    return [f"silence before a RST: {row}" for row in rows]


@pytest.fixture(scope="module")
def start(spark: SparkSession) -> Start:
    """Runs over captures into a lake, one after the other; their warnings."""

    def run(lake: Path, runs: Sequence[Sequence[Path]]) -> list[str]:
        done = [execute(Job(lambda: spark, str(lake), Options()), STAGES[:-1], [str(path) for path in paths]) for paths in runs]
        return [warning for one in done for warning in one.warnings]

    return run


@pytest.fixture(scope="module")
def original(lake: Path) -> Database:
    """The lake of the recordings as they are."""
    database = duckdb.connect()
    opened(database, "original", lake)
    return database


def in_shape(shape: Shape, folder: Path) -> list[list[Path]]:
    """All recordings in a shape, run by run."""
    runs: list[list[Path]] = []
    for path in map(Path, captures()):
        (own := folder / path.stem).mkdir(parents=True)
        for number, files in enumerate(shape.files(path, own)):
            runs[number:] = [[*(runs[number] if number < len(runs) else []), *files], *runs[number + 1 :]]
    return runs


@pytest.mark.parametrize("words", [
    pytest.param(words, marks=[ALONE] if words == "rotated, a step back of an hour, in four runs" else []) for words in every(7, list(ALL))
])  # fmt: skip
def test_a_lake_of_a_shape_is_that_of_the_recordings(words: str, start: Start, original: Database, tmp_path: Path) -> None:
    shape, steps = ALL[words], "step" in words
    warnings = start(tmp_path / "lake", in_shape(shape, tmp_path / "files"))
    assert [said for said in warnings if not said.endswith("not kept")] == []  # as far as is known then
    original.sql("DROP SCHEMA IF EXISTS found CASCADE")
    opened(original, "found", tmp_path / "lake")
    lines = []
    for name in sorted(TABLES.keys() - NOT_OF_PACKETS):
        columns = [column for [column] in original.sql(f"SELECT column_name FROM (DESCRIBE original.{name})").fetchall()]
        if shape.times:
            lines += differing(original, name, (*ORDER.get(name, ()), *SAMPLES.get(name, ())))
        elif name not in AGGREGATES | (OF_STEPS if steps else set()):
            without = {*OF_CLOCKS.get(name, ()), *(column for column in columns if column.endswith(TIMES))} & {*columns}
            without |= {"evidence", "close_cause", "close_evidence"} & {*columns} if steps else set()
            rules = f"rule_id NOT IN {BY_STEP if steps else BY_CLOCK}" + (" AND rule_id NOT LIKE 'HB-%'" if steps else "")
            where = rules if "rule_id" in columns else "true"
            lines += differing(original, name, without, where, "" if steps else LASTED.get(name, ""))
    lines += wrong_durations(original, UNSEEN_NS if steps else shape.shift_ns, step=steps)
    lines += wrong_causes(original) if steps else wrong_silences(original)
    assert not lines, "\n".join(lines)
