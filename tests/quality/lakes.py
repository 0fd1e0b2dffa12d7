"""Made-up lakes that keep every invariant: the ground on which tests plant one fault each.

Every stream carries the same dialogue: one client's CONNECT, SUBSCRIBE, BEGIN, a SEND that asks for a receipt, COMMIT and an ACK per
MESSAGE; the server's CONNECTED, RECEIPT and MESSAGEs; an EOL after each frame and one gap at the end of either direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from pipelines.metrics import gold
from stompcap.lake.query import in_process
from stompcap.tables import TABLES

Columns = dict[str, Any]
NULLS: dict[pa.DataType, Any] = {pa.string(): "x", pa.int64(): 0, pa.int32(): 0, pa.bool_(): False, pa.binary(): b""}

CLIENT = ("CONNECT", "SUBSCRIBE", "BEGIN", "SEND", "COMMIT")
SERVER = ("CONNECTED", "RECEIPT")
LENGTH = 100


def fill(name: str, rows: int, given: Columns) -> pa.Table:
    """A table of the lake: the columns given, the first word or a plain value where null is not allowed, null elsewhere."""
    arrays = []
    for column in TABLES[name].columns:
        if column.name in given:
            arrays.append(pa.array(given[column.name]).cast(column.type))
        elif column.nullable:
            arrays.append(pa.nulls(rows, column.type))
        else:
            value = column.words[0] if column.words else NULLS[column.type]
            arrays.append(pa.repeat(pa.scalar(value, column.type), rows))
    return pa.table(arrays, schema=TABLES[name].arrow)


def tables(streams: int = 3, messages: int = 4) -> dict[str, pa.Table]:
    """The tables of a lake of `streams` equal dialogues with `messages` MESSAGEs each."""
    ids = np.array([f"{i:020x}" for i in range(streams)])
    ways = {"c2s": (*CLIENT, *["ACK"] * messages), "s2c": (*SERVER, *["MESSAGE"] * messages)}
    raw: dict[str, list[Any]] = {"stream_id": [], "direction": [], "stream_offset": [], "length_octets": [], "kind": []}
    frames: dict[str, list[Any]] = {"stream_id": [], "direction": [], "stream_offset": [], "command": [], "receipt": []}
    for way, commands in ways.items():
        n = len(commands)
        starts = np.arange(n) * (LENGTH + 1)
        offsets = np.concatenate([np.stack([starts, starts + LENGTH], 1).ravel(), [n * (LENGTH + 1)]])
        lengths = np.array([LENGTH, 1] * n + [7])
        kinds = np.array(["frame", "eol"] * n + ["gap"])
        raw["stream_id"].append(np.repeat(ids, len(offsets)))
        raw["direction"].append(np.full(streams * len(offsets), way))
        raw["stream_offset"].append(np.tile(offsets, streams))
        raw["length_octets"].append(np.tile(lengths, streams))
        raw["kind"].append(np.tile(kinds, streams))
        frames["stream_id"].append(np.repeat(ids, n))
        frames["direction"].append(np.full(streams * n, way))
        frames["stream_offset"].append(np.tile(starts, streams))
        frames["command"].append(np.tile(np.array(commands), streams))
        frames["receipt"].append(np.tile(np.array(["r-1" if c == "SEND" else None for c in commands], object), streams))
    raw_columns = {k: np.concatenate(v) for k, v in raw.items()}
    frame_columns = {k: np.concatenate(v) for k, v in frames.items()}
    size = len(raw_columns["kind"])
    is_frame = raw_columns["kind"] == "frame"
    count = len(frame_columns["command"])
    per_stream = np.zeros(streams, np.int64)

    def at(command: str, way: str) -> int:
        return ways[way].index(command) * (LENGTH + 1)

    made = {
        "captures": fill("captures", 1, {"capture_id": ["c" * 64], "format": ["pcap"]}),
        "streams": fill("streams", streams, {
            "stream_id": ids, "octets_c2s": per_stream + len(ways["c2s"]) * (LENGTH + 1) + 7,
            "octets_s2c": per_stream + len(ways["s2c"]) * (LENGTH + 1) + 7,
            **{f"outer_octets_{way}": per_stream + len(commands) * (LENGTH + 1) + 7 for way, commands in ways.items()},
            **{f"gap_octets_{way}": per_stream + 7 for way in ways},
            **{f"segments_{way}": per_stream + len(commands) for way, commands in ways.items()}}),
        "raw_frames": fill("raw_frames", size, {
            **raw_columns, "delimited_by": pa.array(np.where(is_frame, "nul", ""), mask=~is_frame),
            "raw": pa.array([b"secret".ljust(length)[:length] for length in raw_columns["length_octets"].tolist()],
                            mask=raw_columns["kind"] == "gap") if size < 1000 else pa.nulls(size, pa.binary())}),
        "segments": fill("segments", count, {
            **{k: frame_columns[k] for k in ("stream_id", "direction", "stream_offset")},
            "new_octets": np.full(count, LENGTH + 1), "capture_id": ["c" * 64] * count}),
        "frames": fill("frames", count, {
            **frame_columns, "length_octets": np.full(count, LENGTH), "version": ["1.2"] * count, "eol": ["lf"] * count}),
        "sessions": fill("sessions", streams, {
            "stream_id": ids, "version": ["1.2"] * streams, "gap_octets": per_stream + 14, "ended_by": ["client"] * streams,
            "complete_end": [True] * streams,
            **{f"frames_{way}": per_stream + len(commands) for way, commands in ways.items()}}),
        "subscriptions": fill("subscriptions", streams, {
            "stream_id": ids, "subscribe_offset": per_stream + at("SUBSCRIBE", "c2s")}),
        "deliveries": fill("deliveries", streams * messages, {
            "stream_id": np.repeat(ids, messages),
            "stream_offset": np.tile((np.arange(messages) + len(SERVER)) * (LENGTH + 1), streams),
            "message_id": [f"m-{i}" for i in range(streams * messages)]}),
        "transactions": fill("transactions", streams, {
            "stream_id": ids, "begin_offset": per_stream + at("BEGIN", "c2s"), "outcome": ["open"] * streams}),
        "receipts": fill("receipts", streams, {
            "stream_id": ids, "request_offset": per_stream + at("SEND", "c2s"), "status": ["open"] * streams}),
        "sends": fill("sends", streams, {
            "stream_id": ids, "stream_offset": per_stream + at("SEND", "c2s"), "length_octets": np.full(streams, LENGTH),
            "receipt": ["r-1"] * streams, "receipt_status": ["open"] * streams}),
    }
    made |= {name: fill(name, 0, {}) for name in TABLES if name not in made}
    minutes = in_process({name: made[name] for name in gold.DESTINATION_MINUTES.times}, [gold.DESTINATION_MINUTES.query()])
    schema = TABLES["destination_minutes"].arrow
    return made | {"destination_minutes": minutes["destination_minutes"].select(schema.names).cast(schema)}


def write(lake: Path, made: dict[str, pa.Table], names: Iterable[str] = tuple(TABLES)) -> Path:
    """Write the named tables as new Delta tables below `lake`."""
    for name in names:
        DeltaTable.create(str(lake / name), schema=TABLES[name].arrow)
        if made[name].num_rows:
            write_deltalake(str(lake / name), made[name], mode="append")
    return lake


def write_loosely(lake: Path, name: str, table: pa.Table) -> None:
    """Write a table with the schema it comes with: what a careless writer leaves behind."""
    write_deltalake(str(lake / name), table)
