"""Which connections must be computed together, and which segments are theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from pipelines.recompute.connection_groups import Connections, named, together
from pipelines.recompute.reprocess import Wanted
from stompcap.assembly.addresses import endpoints_of
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.spark.slices import Periods, Reread, Share
from stompcap.tcp import reassemble_columns
from tests.examples import one_in
from tests.report.sample import table
from tests.tcp.test_idle import FLOWS, flow

SECOND, HOUR = 10**9, 3600 * 10**9
IDLE = 24 * HOUR
ENDS = {"client_ip": "10.0.0.9", "client_port": 40000, "server_ip": "10.0.0.1", "server_port": 61613}
TURNED = {"client_ip": "10.0.0.1", "client_port": 61613, "server_ip": "10.0.0.9", "server_port": 40000}
OTHER = ENDS | {"client_port": 40001}


def life(name: str, first: int, last: int, closed: bool = False, **more: Any) -> dict[str, Any]:
    kind = {"close_kind": "rst" if closed else "open", "clock_steps_back": 0, "source": "tap", "protocol": "stomp",
            "history": "ShAD"}  # fmt: skip
    return {"stream_id": name, "first_ns": first, "last_ns": last} | kind | ENDS | more


def groups(rows: list[dict[str, Any]], chosen: str, new: list[dict[str, Any]] | None = None, **more: Any) -> list[set[str]]:
    """The names of connections by group."""
    tables = {"streams": table("streams", rows), "new_streams": table("streams", new or []), "sources": named("tap")}
    found: dict[int, set[str]] = {}
    for row in together(tables, chosen, IDLE, **more).rows.to_pylist():
        found.setdefault(row["together"], set()).add(row["stream_id"])
    return list(found.values())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([life("a", 0, 10), life("b", 5, 20)], {"a", "b"}),
        ([life("a", 0, 10), life("b", 5, 20, source="other")], {"a"}),
        ([life("a", 0, 10), life("b", 5, 20, **OTHER)], {"a"}),
        ([life("a", 0, 10), life("b", 5, 20, **TURNED)], {"a", "b"}),
        ([life("a", 0, 10), life("b", 10 + IDLE, 20 + IDLE)], {"a", "b"}),
        ([life("a", 0, 10), life("b", 11 + IDLE, 20 + IDLE)], {"a"}),
        ([life("a", 0, 10, closed=True), life("b", 120 * SECOND, HOUR)], {"a", "b"}),
        ([life("a", 0, 10, closed=True), life("b", HOUR, HOUR)], {"a"}),
        ([life("a", 0, 10, fin_ns_c2s=1, fin_ns_s2c=2), life("b", HOUR, HOUR)], {"a"}),
        ([life("a", 0, 10, fin_ns_c2s=1), life("b", HOUR, HOUR)], {"a", "b"}),
        ([life("a", 0, 20 * HOUR), life("b", 1, 2, closed=True), life("c", 40 * HOUR, 41 * HOUR)], {"a", "b", "c"}),
    ],
)
def test_connections_that_are_computed_together(rows: list[dict[str, Any]], expected: set[str]) -> None:
    assert groups(rows, "stream_id = 'a'") == [expected]


@one_in(4)
@given(FLOWS)
def test_sql_groups_as_packets_decide(episodes: list[tuple[str, int]]) -> None:
    """A group never begins where packets of the one before go on; it begins wherever they do not, up to where an open one was left."""
    streams = reassemble_columns(flow(*episodes), "tap").streams
    rows = [
        life(
            f"{number:03}", int(streams.first_ns[number]), int(streams.last_ns[number]), history=streams.history[number],
            rst_ns=1 if streams.rst_by[number] >= 0 else None,
            fin_ns_c2s=1 if streams.sides.fin_ns[number, 0] >= 0 else None, fin_ns_s2c=1 if streams.sides.fin_ns[number, 1] >= 0 else None,
        )
        for number in range(len(streams))
    ]  # fmt: skip
    found = groups(rows, "true")
    begins = {min(group) for group in found} - {"000"}
    idle = {f"{number:03}" for number in np.flatnonzero(streams.after_idle).tolist()}
    assert begins <= idle
    if len(idle) == 1:
        assert begins == idle


def test_only_groups_with_a_chosen_connection_and_one_of_the_lake() -> None:
    held = [life("a", 0, 10, closed=True), life("b", HOUR, HOUR, closed=True)]
    new = [life("c", 9, 12), life("d", 30 * HOUR, 31 * HOUR, **OTHER)]
    assert groups(held, "false", new, came="true", both=True) == [{"a", "b", "c"}]
    assert groups(held, "false", new, came="stream_id = 'd'", both=True) == []
    assert groups(held, "true", share=Share(0, 2).sql) == []
    assert groups(held, "true", share=Share(1, 2).sql) == [{"a"}, {"b"}]


def test_groups_that_need_a_missing_capture_are_left() -> None:
    rows = [life("a", 0, 10, closed=True), life("b", HOUR, HOUR + 5, closed=True), life("c", HOUR + 3, HOUR + 9, **OTHER)]
    tables = {"streams": table("streams", rows), "sources": named("tap")}
    found = together(tables, "true", IDLE)
    captures = [{"first_ns": 6, "last_ns": 7}, {"first_ns": HOUR + 6, "last_ns": HOUR + 6}, {"first_ns": None, "last_ns": None},
                {"first_ns": 11, "last_ns": HOUR - 1}]  # fmt: skip
    assert found.overlapping(captures) == captures[:2]

    def names(some: Connections) -> list[str]:
        return sorted(some.rows.column("stream_id").to_pylist())

    assert [names(some) for some in found.split(captures[1:2])] == [["a", "b"], ["c"]]
    assert [names(some) for some in found.split(captures[:1])] == [["b", "c"], ["a"]]
    assert [names(some) for some in found.split([])] == [["a", "b", "c"], []]


def segments(*rows: tuple[dict[str, Any], int]) -> pa.RecordBatch:
    columns = {field.name: pa.array([0] * len(rows)).cast(field.type) if field.type != pa.binary() and not pa.types.is_boolean(field.type)
               else pa.nulls(len(rows), field.type) for field in SEGMENTS}  # fmt: skip
    columns["endpoints"] = pa.array([endpoints_of(ends)[0] for ends, _ in rows], pa.binary())
    columns["ts_ns"] = pa.array([at for _, at in rows], pa.int64())
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def test_segments_of_flows_in_periods() -> None:
    lives = [(ENDS, 20, 30), (OTHER, 0, 5), (TURNED, 0, 10), (ENDS, 25, 40), (ENDS, 50, 50)]
    ends = pa.array([endpoints_of(one)[0] for one, _, _ in lives], pa.binary())
    chosen = Periods.of(ends, np.array([begin for _, begin, _ in lives]), np.array([end for _, _, end in lives]))
    batch = segments(*((ENDS, at) for at in (0, 10, 11, 20, 40, 41, 50, 51)), (OTHER, 5), (OTHER, 6), (ENDS | {"client_port": 1}, 5))
    assert chosen.among(batch).tolist() == [True, True, False, True, True, False, True, False, True, False, False]
    assert not Periods.of(pa.array([], pa.binary()), np.zeros(0, np.int64), np.zeros(0, np.int64)).among(batch).any()
    again = Reread(frozenset({3}), chosen)
    assert [part.num_rows for part in (again.of(batch, 2), again.of(batch, 3), again.left(pa.Table.from_batches([batch])))] == [11, 6, 5]


def test_shares_are_the_same_for_segments_and_in_sql() -> None:
    ports = range(40000, 40020)
    batch = segments(*((ENDS | {"client_port": port}, 0) for port in ports))
    for number in range(3):
        share = Share(number, 3)
        rows = [life(str(port), 0, 1, client_port=port) for port in ports]
        [*found] = groups(rows, "true", share=share.sql)
        assert {int(name) for names in found for name in names} == {p for p, hit in zip(ports, share.among(batch), strict=True) if hit}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(), ["a", "b", "c"]),
        (Wanted(streams=("b",)), ["b"]),
        (Wanted(since_ns=21), ["b", "c"]),
        (Wanted(until_ns=30), ["a", "b"]),
        (Wanted(since_ns=21, until_ns=30), ["b"]),
        (Wanted(captures=("x",)), ["a", "c"]),
        (Wanted(captures=("x",), streams=("b",)), []),
    ],
)
def test_which_connections_are_meant(wanted: Wanted, expected: list[str]) -> None:
    """`a` has segments in capture x, `b` overlaps it in time, `c` does so and speaks something else."""
    rows = [life("a", 0, 20, client_port=1), life("b", 20, 30, client_port=2), life("c", 30, 40, client_port=3, protocol="other")]
    tables = {
        "streams": table("streams", rows), "sources": named("tap"), "named": pa.table({"stream_id": pa.array(wanted.streams, pa.string())}),
        "with_stomp": table("segments", [{"stream_id": "a", "capture_id": "x"}, {"stream_id": "b", "capture_id": "y"}]),
        "times": pa.table({"capture_id": ["x"], "since": [15], "until": [35]}),
    }  # fmt: skip
    found = together(tables, wanted.sql, IDLE)
    assert sorted(found.rows.column("stream_id").to_pylist()) == expected
    assert Wanted.of({"streams": list(wanted.streams), "since_ns": wanted.since_ns, "until_ns": wanted.until_ns,
                      "captures": list(wanted.captures)}) == wanted  # fmt: skip
