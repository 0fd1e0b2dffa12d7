"""Incidents of many runs are those of one, in whatever order captures come; of connections that are forgotten nothing is left."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.incidents.pace import LEAST_S, TIMES, Pace
from pipelines.metrics import aggregates
from stompcap.lake import hash_key, open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.finality import marked
from stompcap.lake.paths import location
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import wire_of
from tests.e2e.truth import DATA
from tests.pipelines.incidents.found import filled, incidents_in, no_spark

CAPTURE = DATA / "incidents" / "rabbitmq_incidents.pcapng"
Rows = dict[str, pa.Table]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Rows]:
    """A lake's key of hashes, and all rows of a capture."""
    key = str(tmp_path_factory.mktemp("key"))
    lakes.create(key)
    wire, options = wire_of([str(CAPTURE)]), Options(hash_key=hash_key.of_lake(key))
    read = [{name: list(value.items()) if isinstance(value, dict) else value for name, value in row.items()} for row in wire.surveyed]
    tables = wire.tables(options) | {"captures": pa.Table.from_pylist(read, schema=TABLES["captures"].arrow)}
    return key, {name: filled(name, rows) for name, rows in tables.items() if name in TABLES and len(rows)}


def of_streams(rows: Rows, streams: set[str]) -> Rows:
    """The rows of some connections."""
    wanted = pa.array(sorted(streams), pa.string())
    return {
        name: table.filter(pa.compute.is_in(table.column("stream_id"), value_set=wanted)) for name, table in rows.items()
        if "stream_id" in table.column_names
    }  # fmt: skip


def bring(lake: str, rows: Rows, pace: Pace | None = None) -> None:
    """What a run does with new rows."""
    for name, table in rows.items():
        if len(table):
            write_deltalake(location(lake, name), marked(TABLES[name], table, "part"), mode="append")
    summed(lake, pace)


def summed(lake: str, pace: Pace | None = None) -> None:
    """The stage metrics."""
    job: Any = SimpleNamespace(
        lake=lake, spark=no_spark, result=SimpleNamespace(run_id="r"), progress=SimpleNamespace(begin=lambda text: None),
        options=Options(), pace=pace or Pace(),
    )  # fmt: skip
    with open_tables.keep_open(lake):
        aggregates.refresh_all(job, ["b"], {})


def made(folder: Path, name: str, *parts: Rows) -> str:
    """A lake, to which parts came one after the other."""
    lake = str(folder / name)
    lakes.create(lake)
    for part in parts:
        bring(lake, part)
    return lake


def said(lake: str) -> list[tuple[Any, ...]]:
    names = ("incident_id", "sentence", "begin_ns", "end_ns", "streams", "packets")
    return [tuple(row[name] for name in names) for row in incidents_in(lake)]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["any order", pytest.param("by time", marks=pytest.mark.slow)])
def test_runs_give_what_one_run_gives_and_forgetting_takes_it_back(order: str, everything: tuple[str, Rows], tmp_path: Path) -> None:
    _, rows = everything
    captures = {"captures": rows["captures"]}
    streams = [row["stream_id"] for row in sorted(rows["streams"].to_pylist(), key=lambda row: row["first_ns"])]
    if order == "any order":
        random.Random(7).shuffle(streams)
    half = len(streams) // 2
    whole = made(tmp_path, "whole", rows)
    parts = [of_streams(rows, set(streams[:half])) | captures, of_streams(rows, set(streams[half:]))]
    in_parts = made(tmp_path, "parts", *parts)
    assert said(whole)
    assert said(in_parts) == said(whole)
    gone = {row["stream_id"] for row in rows["sessions"].to_pylist() if row["login"] in ("flaky", "reporting")}
    without = made(tmp_path, "without", of_streams(rows, set(streams) - gone) | captures)
    named = ", ".join(f"'{name}'" for name in sorted(gone))
    for name in rows.keys() - {"captures"}:
        DeltaTable(location(in_parts, name)).delete(f"stream_id IN ({named})")
    summed(in_parts)
    assert said(in_parts) == said(without)
    assert not {"flaky", "reporting"} & {row["subject"] for row in incidents_in(in_parts)}


@pytest.mark.slow
def test_what_was_not_due_is_made_up_for_by_the_next_refresh(everything: tuple[str, Rows], tmp_path: Path) -> None:
    _, rows = everything
    captures = {"captures": rows["captures"]}
    streams = [row["stream_id"] for row in rows["streams"].to_pylist()]
    thirds = [set(streams[number::3]) for number in range(3)]
    clock = iter((0.0, 0.0, 0.0, LEAST_S, LEAST_S + 1, LEAST_S + TIMES * LEAST_S, 100.0, 101.0))
    pace = Pace(lambda: next(clock))
    lake = made(tmp_path, "lake")
    bring(lake, of_streams(rows, thirds[0]) | captures, pace)
    first = said(lake)
    bring(lake, of_streams(rows, thirds[1]), pace)
    assert said(lake) == first
    bring(lake, of_streams(rows, thirds[2]), pace)
    assert said(lake) == said(made(tmp_path, "whole", rows)) != first
