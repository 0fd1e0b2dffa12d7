"""What a capture loses is never a finding: without any 1 % of its packets nothing is found that the whole of it does not have."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import captures

Row = dict[str, object]
LOST = 0.01
SEEDS = 200
TABLES = ("compliance_findings", "heartbeat_violations")


def connections(tables: dict[str, pa.Table]) -> dict[str, tuple[object, ...]]:
    """Streams by their endpoints, whichever is taken for the client: ids name the first packet, which may be lost."""
    names = ("client_ip", "client_port", "server_ip", "server_port")
    columns = [tables["streams"].column(name).to_pylist() for name in ("stream_id", *names)]
    return {stream: tuple(sorted([(ip, port), (peer, at)])) for stream, ip, port, peer, at in zip(*columns, strict=True)}


def seen(wire: Wire) -> tuple[dict[tuple[object, ...], Row], set[tuple[object, ...]]]:
    """Findings by connection, rule, level and direction, with either of place and time; gaps of heart-beats that nothing excuses.

    The place in a stream shifts where its beginning is lost, the time where a frame's last packet came twice.
    """
    tables = wire.tables(wanted=lambda name: name in TABLES)
    of = connections(tables)
    findings: dict[tuple[object, ...], Row] = {}
    for row in tables["compliance_findings"].to_pylist():
        key = (of[row["stream_id"]], row["rule_id"], row["level"], row["direction"])
        findings[*key, "at", row["stream_offset"]] = findings[*key, "ns", row["ts_ns"]] = row
    gaps = {
        (of[row["stream_id"]], row["direction"], row["gap_start_ns"], row["severity"])
        for row in tables["heartbeat_violations"].to_pylist()
        if row["excused"] is None
    }
    return findings, gaps


@pytest.fixture(scope="module")
def whole() -> Wire:
    return wire_of(captures())


@pytest.fixture(scope="module")
def told(whole: Wire) -> tuple[dict[tuple[object, ...], Row], set[tuple[object, ...]]]:
    return seen(whole)


def without(wire: Wire, seed: int) -> Wire:
    """The wire without one packet in a hundred."""
    chance = random.Random(seed)
    kept = pa.array([chance.random() >= LOST for _ in range(wire.segments.num_rows)])
    return Wire(wire.surveyed, wire.segments.filter(kept))


def invented(whole: Wire, told: tuple[dict[tuple[object, ...], Row], set[tuple[object, ...]]], seed: int) -> list[object]:
    known, excused_by_nothing = told
    findings, gaps = seen(without(whole, seed))
    by_row: dict[int, list[tuple[object, ...]]] = {}
    for key, row in findings.items():
        by_row.setdefault(id(row), []).append(key)
    new = [findings[keys[0]] for keys in by_row.values() if not any(key in known for key in keys)]
    return [*new, *(gaps - excused_by_nothing)]


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_found_that_was_not_there(seed: int, whole, told) -> None:
    assert told[0]
    assert told[1]
    assert invented(whole, told, seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_nothing_is_found_that_was_not_there_over_many_seeds(first: int, whole, told) -> None:
    found = {seed: rows for seed in range(first, first + 20) if (rows := invented(whole, told, seed))}
    assert not found
