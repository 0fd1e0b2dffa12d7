"""Recordings whose clocks differ or step: what was found is found, and each duration is the true one, or null."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import DATA

MS = 1_000_000
SECOND = 1000 * MS
RECORDED = "rabbitmq_dialogue.pcap", "artemis_violations.pcapng"
DURATIONS = {
    "deliveries": ("ack_latency_us", "commit_latency_us"), "receipts": ("latency_us",), "transactions": ("duration_us",),
    "sessions": ("connect_latency_us",),
}  # fmt: skip
FOUND = {
    "deliveries": ("status", "settlement", "settled_by", "settle_offset"), "receipts": ("status", "answer"),
    "transactions": ("outcome", "sends", "acks"), "sessions": ("outcome", "end_kind", "ended_by", "frames_c2s", "frames_s2c"),
    "subscriptions": ("status", "delivered", "acked", "max_in_flight"), "heartbeats": ("verdict", "violations", "dead"),
    "compliance_findings": ("rule_id", "stream_offset"),
}  # fmt: skip
BY_CLOCK = ("CN-19", "RC-03", "SB-08", "ER-02", "ER-04", "ER-06", "HB-08", "TX-08")  # the last across a step: a duration it judges
Times = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of times, and of which segments are the high side's


@cache
def recorded(name: str) -> Wire:
    return wire_of([str(DATA / name)])


def told(name: str, change: Times) -> dict[str, pa.Table]:
    """The tables of a recording whose times are others; connections have the same order."""
    wire = recorded(name)
    at = wire.segments.schema.get_field_index("ts_ns")
    ts_ns, forward = wire.segments.column("ts_ns").to_numpy(), wire.segments.column("forward").to_numpy(zero_copy_only=False)
    packet = wire.segments.column("packet").to_numpy()
    order = np.argsort(packet, kind="stable")
    changed = np.empty_like(ts_ns)
    changed[order] = change(ts_ns[order], ~forward[order].astype(bool))
    return Wire(wire.surveyed, wire.segments.set_column(at, wire.segments.schema.field(at), pa.array(changed))).tables()


@cache
def true(name: str) -> dict[str, pa.Table]:
    return told(name, lambda ts_ns, _: ts_ns)


def rows(tables: dict[str, pa.Table], table: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    found = tables[table].select(names).to_pylist()
    if table == "compliance_findings":
        found = sorted((row for row in found if row["rule_id"] not in BY_CLOCK), key=lambda row: tuple(row.values()))
    return [tuple(row.values()) for row in found]


def ahead(by: int) -> Times:
    return lambda ts_ns, high: ts_ns + np.where(high, by, 0)


def stepped(by: int, sides: tuple[bool, ...]) -> Times:
    """Clocks of some sides step in the middle."""
    def change(ts_ns: np.ndarray, high: np.ndarray) -> np.ndarray:
        behind = np.arange(len(ts_ns)) >= len(ts_ns) // 2
        return ts_ns + np.where(behind & np.isin(high, sides), by, 0)

    return change


SHAPES: dict[str, Times] = {
    **{f"one clock is {by / MS:g} ms ahead": ahead(by) for by in (MS // 5, -MS // 5, MS, -MS, 3 * MS, -3 * MS, -3600 * SECOND)},
    "both clocks step back": stepped(-5 * SECOND, (False, True)),
    "one clock steps back": stepped(-5 * SECOND, (True,)),
    "one clock steps back a little": stepped(-3 * MS, (False,)),
    "one clock steps forward a little": stepped(3 * MS, (True,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("change", SHAPES.values(), ids=SHAPES)
def test_what_was_found_stays_and_durations_are_true_or_null(name, change):
    expected, found = true(name), told(name, change)
    for table, names in FOUND.items():
        assert rows(found, table, names) == rows(expected, table, names), table
    nulls = 0
    for table, names in DURATIONS.items():
        for of_true, of_found in zip(rows(expected, table, names), rows(found, table, names), strict=True):
            assert all(one is None or one == another for one, another in zip(of_found, of_true, strict=True)), (table, of_true, of_found)
            nulls += sum(one is None and another is not None for one, another in zip(of_found, of_true, strict=True))
    assert nulls == sum(found["sessions"].column("unmeasured").to_pylist())


@pytest.mark.parametrize("name", RECORDED)
def test_where_clocks_agree_no_duration_is_lost(name):
    streams = true(name)["streams"]
    assert all((row["clock_difference_min_us"] or 0) <= 0 <= (row["clock_difference_max_us"] or 0) for row in streams.to_pylist())
    assert not any(true(name)["sessions"].column("unmeasured").to_pylist())
    assert "clock_step" not in true(name)["stalls"].column("kind").to_pylist()
