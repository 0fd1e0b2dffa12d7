"""The faults that are planted in copies of a lake, each with the expectation that has to tell it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

from stompcap.tables import TABLES

Change = Callable[[pa.Table], pa.Table]
LATE_NS = 5_680_281_600 * 10**9
"""In 2150."""


@dataclass(frozen=True)
class Planted:
    """A fault: what is changed in some tables, and of the results that must fail the table and the expectation.

    `deletes`: rows that are deleted by a predicate, as another program does it; where `changes` are made, the table is written anew.
    """

    name: str
    changes: Mapping[str, Change]
    table: str
    expectation: str
    deletes: Mapping[str, str] | None = None


def plant(lake: Path, copy: Path, faults: Iterable[Planted]) -> Path:
    """A copy of a lake with faults, each in tables of its own."""
    shutil.copytree(lake, copy)
    for fault in faults:
        for name, change in fault.changes.items():
            rows = change(DeltaTable(str(copy / name)).to_pyarrow_table())
            shutil.rmtree(copy / name)
            loose = pa.schema([field.with_nullable(True) for field in TABLES[name].arrow])
            write_deltalake(str(copy / name), rows.select(loose.names).cast(loose))
        for name, predicate in (fault.deletes or {}).items():
            DeltaTable(str(copy / name)).delete(predicate)
    return copy


def put(column: str, value: Any, where: Callable[[dict[str, Any]], bool] = lambda _: True, rows: int = 1) -> Change:
    """A value, or what a function makes of a row, in a column of the first rows that a condition holds for."""

    def change(table: pa.Table) -> pa.Table:
        light = table.drop_columns([name for name in ("raw",) if name in table.column_names and name != column])
        found = [at for at, row in enumerate(light.to_pylist()) if where(row)][:rows]
        assert found, f"no row to change {column} of"
        values = table.column(column).to_pylist()
        for at in found:
            values[at] = value(values[at]) if callable(value) else value
        place = table.schema.get_field_index(column)
        return table.set_column(place, column, pa.array(values, table.schema.field(column).type))

    return change


def half(table: pa.Table) -> pa.Table:
    """Every other row."""
    return table.filter(pa.array([at % 2 == 0 for at in range(table.num_rows)]))


def twice(table: pa.Table) -> pa.Table:
    """The first row once more."""
    return pa.concat_tables([table, table.slice(0, 1)])


def orphan(table: pa.Table) -> pa.Table:
    """The first row once more, of a stream that is nowhere."""
    return pa.concat_tables([table, put("stream_id", "0123456789abcdef0123")(table.slice(0, 1)).cast(table.schema)])


def swapped(table: pa.Table) -> pa.Table:
    """Client and server change places in the first row that has a session."""
    names, at = list(table.column_names), table.column("protocol").to_pylist().index("stomp")
    other = {"client_ip": "server_ip", "client_port": "server_port", "server_ip": "client_ip", "server_port": "client_port"}
    first = table.slice(at, 1).select([other.get(name, name) for name in names]).rename_columns(names)
    return pa.concat_tables([table.slice(0, at), first, table.slice(at + 1)])


def directions(table: pa.Table) -> pa.Table:
    """Both directions of the first stream change places."""
    first = pc.equal(table.column("stream_id"), table.column("stream_id")[0])
    turned = pc.if_else(pc.equal(table.column("direction").cast(pa.string()), "c2s"), "s2c", "c2s")
    place = table.schema.get_field_index("direction")
    return table.set_column(place, "direction", pc.if_else(first, turned, table.column("direction").cast(pa.string())))


def clear(octets: bytes) -> bytes:
    """A frame whose passcode is there to read."""
    at = octets.index(b"passcode:") + len(b"passcode:")
    end = octets.index(b"\n", at)
    return octets[:at] + b"x" * (end - at) + octets[end:]


def settled(row: dict[str, Any]) -> bool:
    return row["status"] == "settled"


def more(by: int) -> Callable[[int], int]:
    return lambda value: value + by


KEYS, NULL, BETWEEN = "expect_compound_columns_to_be_unique", "expect_column_values_to_not_be_null", "expect_column_values_to_be_between"
WORDS, OWNER = "expect_column_values_to_be_in_set", "expect_rows_to_belong_to_streams"

FAULTS = (
    Planted("a key that is null", {"deliveries": put("stream_id", None)}, "deliveries", NULL),
    Planted("a negative duration", {"receipts": put("latency_us", -5)}, "receipts", BETWEEN),
    Planted("an unknown word", {"deliveries": put("status", "nonsense")}, "deliveries", WORDS),
    Planted("a session twice", {"sessions": twice}, "sessions", KEYS),
    Planted("a capture twice", {"captures": twice}, "captures", KEYS),
    Planted("rows that overlap", {"raw_frames": put("length_octets", more(3))}, "raw_frames", "expect_raw_frames_to_tile_directions"),
    Planted("a part beyond its sum", {"subscriptions": put("acked", more(10**6))}, "subscriptions",
            "expect_column_values_to_be_at_least_acked"),
    Planted("a time in 2150", {"streams": put("first_ns", LATE_NS)}, "streams", BETWEEN),
    Planted("directions swapped", {"frames": directions}, "frames", "expect_frames_to_match_raw_frames"),
    Planted("deliveries emptied", {"deliveries": lambda table: table.slice(0, 0)}, "deliveries", "expect_deliveries_to_match_messages"),
    Planted("heart-beats that count a gap too many", {"heartbeats": put("late", more(1), lambda row: row["gaps"] > row["late"])},
            "heartbeat_violations", "expect_heartbeat_violations_to_match_heartbeats"),
    Planted("compliance that does not add up", {"compliance": put("passed", more(1))}, "compliance", "expect_compliance_to_add_up"),
    Planted("a finding gone", {"compliance_findings": lambda table: table.slice(1)}, "compliance_findings",
            "expect_findings_to_match_compliance"),
    Planted("frames that count more than the session's", {"sessions": put("frames_c2s", more(1))}, "sessions",
            "expect_one_session_per_stream_with_frames"),
    Planted("an orphan in stalls", {"stalls": orphan}, "stalls", OWNER),
    Planted("an orphan in heartbeats", {"heartbeats": orphan}, "heartbeats", OWNER),
    Planted("an orphan in segments", {"segments": orphan}, "segments", OWNER),
    Planted("an orphan in sessions", {"sessions": orphan}, "sessions", OWNER),
    Planted("half of segments gone", {"segments": half}, "segments", "expect_segments_to_bring_octets"),
    Planted("half of captures gone", {"captures": half}, "captures", "expect_batches_to_be_whole"),
    Planted("half of the streams of other protocols gone", {}, "streams", "expect_rows_to_stay", {"streams": "protocol = 'mqtt'"}),
    Planted("packets that do not add up", {"captures": put("packets", more(7))}, "captures", "expect_packets_to_add_up"),
    Planted("a latency that is not between its times", {"deliveries": put("ack_latency_us", more(1), settled)}, "deliveries",
            "expect_column_values_to_be_settled_ns_less_delivered_ns"),
    Planted("settled, and nobody knows when", {"deliveries": lambda table: put("settled_ns", None, settled)(
        put("ack_latency_us", None, settled)(table))}, "deliveries", "expect_settled_ns_where_settled"),
    Planted("first_ts against first_ns", {"raw_frames": put("first_ts", lambda value: value.replace(year=2020))}, "raw_frames",
            "expect_column_values_to_be_first_ns_in_microseconds"),
    Planted("a journey whose residence is not between its times", {"journeys": put("residence_us", more(1), lambda row: bool(
        row["residence_us"] and row["effective_ns"]))}, "journeys", "expect_column_values_to_be_message_ns_less_effective_ns"),
    Planted("a journey without its SEND", {"journeys": put("send_stream_id", None, lambda row: row["joined_by"] == "unique")}, "journeys",
            "expect_sends_where_joined"),
    Planted("no journey, and nobody knows why", {"journeys": put("reason", None, lambda row: row["joined_by"] == "none")}, "journeys",
            "expect_reasons_where_not_joined"),
    Planted("client and server swapped", {"streams": swapped}, "sessions", "expect_sessions_to_match_streams"),
    Planted("a session that began at another time than its stream", {"sessions": lambda table: put("opened_ts", None)(
        put("opened_ns", None)(table))}, "sessions", "expect_sessions_to_match_streams"),
    Planted("sums of a subscription", {"subscriptions": put("acked", more(-1), lambda row: row["acked"] > 0)}, "subscriptions",
            "expect_subscriptions_to_count_deliveries"),
    Planted("sums of a transaction", {"transactions": put("sends", more(1))}, "transactions", "expect_transactions_to_count_frames"),
    Planted("a frame beyond its capture's time", {"frames": put("last_ns", more(10**15))}, "frames", "expect_times_within_captures"),
    Planted("a secret in clear", {"raw_frames": put("raw", clear, lambda row: row["redacted"])}, "raw_frames",
            "expect_secrets_to_be_masked"),
    Planted("another percentile", {"ack_latency": put("p95_us", more(1), lambda row: row["p95_us"] and row["p95_us"] < row["p99_us"])},
            "ack_latency", "expect_figures_to_be_those_of_rows"),
)  # fmt: skip

TOGETHER = (
    (
        "directions swapped", "a key that is null", "a session twice", "a time in 2150", "half of captures gone", "rows that overlap",
        "an orphan in heartbeats", "a negative duration", "a part beyond its sum", "compliance that does not add up",
        "a journey without its SEND", "sums of a transaction", "a finding gone", "an orphan in stalls", "an orphan in segments",
    ),
    (
        "deliveries emptied", "a capture twice", "a session that began at another time than its stream",
        "heart-beats that count a gap too many", "a frame beyond its capture's time", "half of segments gone",
        "half of the streams of other protocols gone", "first_ts against first_ns", "a journey whose residence is not between its times",
    ),
    (
        "an unknown word", "an orphan in sessions", "packets that do not add up", "no journey, and nobody knows why",
        "client and server swapped", "a secret in clear",
    ),
    ("settled, and nobody knows when", "frames that count more than the session's", "sums of a subscription",),
    ("a latency that is not between its times",),
    ("another percentile",),
)
"""Faults that are planted together: each is in tables of its own, and alone makes no expectation fail that is to tell another of them."""


def failures(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What failed, with `observed` as an object."""
    return [row | {"observed": json.loads(row["observed"])} for row in results if not row["success"]]
