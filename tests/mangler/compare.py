"""Tables of two packagings side by side: rows without what names a file, streams by their client's port."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of

LINEAGE = frozenset({"first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet", "packets", "batch_id"})
PACKAGING = frozenset({"encapsulation", "vlan"})  # says itself how a connection was packaged
Tables = dict[str, list[dict[str, Any]]]
Excused = Mapping[str, Sequence[str]]  # columns by table; a table with no column is left out


def both_ways(*names: str) -> tuple[str, ...]:
    """Columns of table streams that there are for each direction."""
    return tuple(f"{name}_{way}" for name in names for way in ("c2s", "s2c"))


def rows_of(paths: Sequence[Path], options: Options | None = None) -> Tables:
    """The rows of all tables without lineage; `stream` in place of the key: the client's port, which no two streams here share."""
    return named(tables_of([str(path) for path in paths], options))


def named(tables: Mapping[str, pa.Table]) -> Tables:
    """As `rows_of`, of tables that are at hand."""
    streams = tables["streams"].to_pylist()
    ports = {row["stream_id"]: row["client_port"] for row in streams}
    assert len(set(ports.values())) == len(streams), "a client's port names one stream"
    found = {}
    for name, table in tables.items():
        if name == "stream_state":
            continue  # packets as they were packaged
        kept = [column for column in table.column_names if column not in LINEAGE | PACKAGING]
        found[name] = table.select(kept).to_pylist(maps_as_pydicts="strict")
        for row in found[name]:
            row["stream"] = ports[row["stream_id"]]
    return found


def by_time(segments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of table segments with those of one direction and time in one: octets that arrived together, however they were cut."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in segments:
        groups[row["stream_id"], row["stream"], row["direction"], row["ts_ns"]].append(row)
    return [
        {"stream_id": ident, "stream": stream, "direction": way, "ts_ns": ts_ns, "stream_offset": min(r["stream_offset"] for r in rows),
         "new_octets": sum(r["new_octets"] for r in rows)}
        for (ident, stream, way, ts_ns), rows in groups.items()
    ]  # fmt: skip


def differences(found: Tables, wanted: Tables, excused: Excused) -> list[str]:
    """What is not the same, a line each; `*` excuses a column of every table."""
    lines = []
    for name in sorted((found.keys() | wanted.keys()) - {table for table, columns in excused.items() if not columns}):
        without = {*excused.get("*", ()), *excused.get(name, ())}
        got, want = (_by_key(name, tables.get(name, []), without) for tables in (found, wanted))
        lines += [f"{name} {key} is missing" for key in want.keys() - got.keys()]
        lines += [f"{name} {key} is not of the original" for key in got.keys() - want.keys()]
        for key in want.keys() & got.keys():
            lines += [
                f"{name} {key}: {column} is {value!r}, {want[key][column]!r} in the original"
                for column, value in got[key].items()
                if value != want[key][column]
            ]
    return lines


def _by_key(name: str, rows: Sequence[Mapping[str, Any]], without: set[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by the table's key, less the columns left out; no two rows may have the same."""
    key = [column for column in TABLES[name].key if column != "stream_id"]
    rows = by_time(rows) if name == "segments" else rows
    held = {(row["stream"], *(row[column] for column in key)): {k: v for k, v in row.items() if k not in without} for row in rows}
    assert len(held) == len(rows), f"{name}: a key occurs twice"
    return held
