"""The frames and packets that show an incident: few, each found by its connection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipelines.incidents.window import LAST
from stompcap.lake import data_files, open_tables, query
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location

Frame = tuple[str, str, int]
"""Connection, direction, offset in its stream."""


def find_frames(lake: str, streams: Sequence[str]) -> dict[str, tuple[int | None, tuple[str, int]]]:
    """Of each of some connections the offset of the first ERROR, if there is one, and direction and offset of the last frame."""
    wanted = pa.table({"stream_id": pa.array(streams, pa.string())})
    with query.opened({"frames": _files(lake, "frames", streams), "wanted": wanted}) as database:
        sql = """SELECT stream_id, min(error), max(direction) FILTER (nth = 1), max(stream_offset) FILTER (nth = 1) FROM (
                     SELECT stream_id, direction, stream_offset,
                            CASE WHEN command = 'ERROR' AND direction = 's2c' THEN stream_offset END AS error,
                            row_number() OVER (PARTITION BY stream_id ORDER BY first_ns DESC, direction, stream_offset DESC) AS nth
                     FROM frames WHERE stream_id IN (SELECT stream_id FROM wanted))
                 GROUP BY stream_id"""
        return {stream: (error, (direction, offset)) for stream, error, direction, offset in database.sql(sql).fetchall()}


def find_packets(lake: str, frames: Sequence[Frame]) -> dict[Frame, dict[str, Any]]:
    """The packet that brought each of some frames first, with the name of its capture's file; none where that is not known."""
    columns = ("stream_id", "direction", "stream_offset")
    values = {name: [frame[number] for frame in frames] for number, name in enumerate(columns)}
    wanted = pa.table(values, schema=pa.schema([("stream_id", pa.string()), ("direction", pa.string()), ("stream_offset", pa.int64())]))
    raw_frames = _files(lake, "raw_frames", [frame[0] for frame in frames])
    tables = {"raw_frames": raw_frames, "captures": query.all_files(lake, "captures"), "wanted": wanted}
    with query.opened(tables) as database:
        sql = """SELECT w.stream_id, w.direction, w.stream_offset, c.path, r.first_packet FROM wanted w
                 JOIN raw_frames r USING (stream_id, direction, stream_offset) JOIN captures c ON c.capture_id = r.first_capture_id
                 WHERE r.first_packet IS NOT NULL ORDER BY ALL"""
        found = database.sql(sql).fetchall()
    return {(one, way, at): {"capture": os.path.basename(path), "packet": packet} for one, way, at, path, packet in found}


def _files(lake: str, table: str, streams: Sequence[str]) -> Files:
    """The files that may have frames of these connections: none lies before the first packet of them all."""
    wanted = pa.table({"stream_id": pa.array(streams, pa.string())})
    with query.opened({"streams": query.all_files(lake, "streams"), "wanted": wanted}) as database:
        sql = "SELECT min(first_ts) FROM streams WHERE stream_id IN (SELECT stream_id FROM wanted)"
        [(first,)] = database.sql(sql).fetchall()
    if first is None:
        return query.all_files(lake, table)
    files = data_files.of(open_tables.table(location(lake, table)), ["first_ts"])
    return Files.of(table, data_files.overlapping(files, ["first_ts"], [(first, LAST)], timeless=True))
