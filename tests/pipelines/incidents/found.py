"""The incidents of captures, in a lake that is filled without Spark: the machines of a run, then its gold tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from pipelines.incidents.pace import Pace
from pipelines.metrics import aggregates
from stompcap.lake import hash_key
from stompcap.lake import tables as lakes
from stompcap.lake.finality import marked
from stompcap.lake.paths import location
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import wire_of

Row = dict[str, Any]
MINUTE_NS = 60_000_000_000


def no_spark() -> NoReturn:
    raise AssertionError("these lakes are small")


def filled(table: str, rows: pa.Table) -> pa.Table:
    """Rows with all columns that the table declares; those that only a run knows are null, or alike where they must not be."""
    columns = []
    for field in TABLES[table].arrow:
        column = rows.column(field.name).cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        if pa.types.is_string(field.type) and not field.nullable:
            column = column.fill_null("b")
        columns.append(column)
    return pa.table(columns, schema=TABLES[table].arrow)


def lake_of(folder: Path, captures: Sequence[Path | str]) -> str:
    """A lake of these captures."""
    lake = str(folder)
    lakes.create(lake)
    wire, options = wire_of([str(path) for path in captures]), Options(hash_key=hash_key.of_lake(lake))
    read = [{name: list(value.items()) if isinstance(value, dict) else value for name, value in row.items()} for row in wire.surveyed]
    tables = wire.tables(options) | {"captures": pa.Table.from_pylist(read, schema=TABLES["captures"].arrow)}
    for name, rows in tables.items():
        if name in TABLES and len(rows):
            write_deltalake(location(lake, name), marked(TABLES[name], filled(name, rows), "part"), mode="append")
    job: Any = SimpleNamespace(
        lake=lake, spark=no_spark, options=options, result=SimpleNamespace(run_id="r"), progress=SimpleNamespace(begin=lambda text: None),
        pace=Pace(),
    )  # fmt: skip
    aggregates.refresh_all(job, ["b"], {})
    return lake


def incidents_in(lake: str) -> list[Row]:
    """The rows of table incidents, by time."""
    rows: list[Row] = DeltaTable(location(lake, "incidents")).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["begin_ns"], row["kind"], row["subject"]))


class Planted(NamedTuple):
    """What must be said: kinds that are right for it, its subject, when it began."""

    kinds: frozenset[str]
    subject: str
    begin_ns: int


def differences(rows: Iterable[Row], planted: Iterable[Planted], within_ns: int = MINUTE_NS) -> list[str]:
    """What is planted and not said, and what of level critical or warning is said and not planted."""
    left = [row for row in rows if row["level"] != "note"]
    wrong = []
    for one in planted:
        said = [row for row in left if row["kind"] in one.kinds and row["subject"] == one.subject]
        if not said:
            wrong.append(f"not said: {sorted(one.kinds)} of {one.subject}")
        for row in said:
            left.remove(row)
        if said and abs(said[0]["begin_ns"] - one.begin_ns) > within_ns:
            wrong.append(f"{one.subject} began {(said[0]['begin_ns'] - one.begin_ns) / 1e9:+.1f} s: {said[0]['sentence']}")
        wrong += [f"said {len(said)} times: {row['kind']}: {row['sentence']}" for row in said[1:]]
    return wrong + [f"not planted: {row['kind']} {row['subject']}: {row['sentence']}" for row in left]
