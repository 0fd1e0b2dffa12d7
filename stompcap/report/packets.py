"""The packets of the findings that a report shows: capture, number as in Wireshark, the command of the frame and its first octets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 96
"""Octets of a finding on the page."""

NEEDED = ("raw_frames", "frames", "captures")
FRAME_KEY = ("stream_id", "direction", "stream_offset")
SCHEMA = pa.schema(
    [("stream_id", pa.string()), ("direction", pa.string()), ("stream_offset", pa.int64()), ("kind", pa.string()),
     ("command", pa.string()), ("path", pa.string()), ("packet", pa.int64()), ("octets", pa.binary())]
)  # fmt: skip


def packets(lake: str, findings: pa.Table) -> pa.Table:
    """Of rows with a place in a stream, those at which a row of `raw_frames` begins: a few rows are read of tables of any size."""
    rows = findings.select(FRAME_KEY).to_pylist()
    if not rows or not all(open_tables.is_there(location(lake, name)) for name in NEEDED):
        return SCHEMA.empty_table()
    keys = {_frame_key(row) for row in rows}
    ids, offsets = sorted({stream for stream, _, _ in keys}), sorted({offset for _, _, offset in keys})
    filters: list[tuple[str, str, Any]] = [("stream_id", "in", ids), ("stream_offset", "in", offsets)]

    def held(table: str, columns: Iterable[str]) -> list[dict[str, Any]]:
        found = lakes.small(lake, table, [*FRAME_KEY, *columns], filters).to_pylist()
        return [row for row in found if _frame_key(row) in keys]

    raw = held("raw_frames", ("kind", "first_capture_id", "first_packet", "raw"))
    commands = {_frame_key(row): row["command"] for row in held("frames", ("command",))}
    paths = _paths(lake, sorted({row["first_capture_id"] for row in raw if row["first_capture_id"] is not None}))
    return pa.Table.from_pylist(
        [
            {name: row[name] for name in (*FRAME_KEY, "kind")}
            | {"command": commands.get(_frame_key(row)), "path": paths.get(row["first_capture_id"]), "packet": row["first_packet"],
               "octets": None if row["raw"] is None else row["raw"][:SHOWN]}
            for row in raw
        ],
        schema=SCHEMA,
    )


def _frame_key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["stream_id"], row["direction"], row["stream_offset"]


def _paths(lake: str, ids: list[str]) -> dict[str, str]:
    """The paths of these captures."""
    if not ids:
        return {}
    rows = lakes.small(lake, "captures", ["capture_id", "path"], [("capture_id", "in", ids)]).to_pylist()
    return {row["capture_id"]: row["path"] for row in rows}
