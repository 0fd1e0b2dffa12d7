"""What a capture loses is never a finding: without any 1 % of its packets nothing is found that the whole of it does not have.

And what it does not lose is still judged.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import captures

Row = dict[str, object]
Key = tuple[object, ...]
LOST = 0.01
SEEDS = 200
POWER = 0.97  # of the opportunities that the whole capture can judge, so many are still judged: more than two packets bear on one
TABLES = ("compliance", "compliance_findings", "heartbeat_violations")


@dataclass(frozen=True)
class Seen:
    """Findings with the two keys that each may be known by, silences that nothing excuses, and opportunities judged by rule.

    The place in a stream shifts where its beginning is lost, the time where a frame's last packet came twice.
    """

    findings: list[tuple[Key, Key, Row]]
    silences: set[Key]
    judged: Counter[str]

    def told(self) -> set[Key]:
        """All keys of the findings."""
        return {key for place, time, _ in self.findings for key in (place, time)}


def connections(tables: dict[str, pa.Table]) -> dict[str, tuple[object, ...]]:
    """Streams by their endpoints, whichever is taken for the client: ids name the first packet, which may be lost."""
    names = ("client_ip", "client_port", "server_ip", "server_port")
    columns = [tables["streams"].column(name).to_pylist() for name in ("stream_id", *names)]
    return {stream: tuple(sorted([(ip, port), (peer, at)])) for stream, ip, port, peer, at in zip(*columns, strict=True)}


def seen(wire: Wire) -> Seen:
    """What is made of some packets."""
    tables = wire.tables(wanted=lambda name: name in TABLES)
    of = connections(tables)
    findings = []
    for row in tables["compliance_findings"].to_pylist():
        key = (of[row["stream_id"]], row["rule_id"], row["level"], row["direction"])
        findings.append(((*key, "at", row["stream_offset"]), (*key, "ns", row["ts_ns"]), row))
    silences = {
        (of[row["stream_id"]], row["direction"], row["gap_start_ns"], row["severity"])
        for row in tables["heartbeat_violations"].to_pylist()
        if row["excused"] is None
    }
    judged: Counter[str] = Counter()
    for row in tables["compliance"].to_pylist():
        judged[row["rule_id"]] += row["passed"] + row["failed"]
    return Seen(findings, silences, judged)


@pytest.fixture(scope="module")
def whole() -> Wire:
    wire = wire_of(captures())
    return Wire(wire.surveyed, wire.segments.combine_chunks())


@pytest.fixture(scope="module")
def told(whole: Wire) -> Seen:
    return seen(whole)


def kept(wire: Wire, packets: npt.NDArray[np.bool_]) -> Wire:
    """The wire with some of its packets only."""
    return Wire(wire.surveyed, wire.segments.filter(pa.array(packets)))


def without(wire: Wire, seed: int) -> Wire:
    """The wire without one packet in a hundred."""
    chance = random.Random(seed)
    return kept(wire, np.array([chance.random() >= LOST for _ in range(wire.segments.num_rows)]))


def invented(found: Seen, told: Seen) -> list[object]:
    """Findings and silences that the whole capture does not have, and more findings of one kind than it has."""
    known = told.told()
    new: list[object] = [row for place, time, row in found.findings if place not in known and time not in known]
    counts, most = (Counter(time[:4] for _, time, _ in each.findings) for each in (found, told))
    new += [kind for kind, count in counts.items() if count > most[kind]]
    return [*new, *(found.silences - told.silences)]


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_found_that_was_not_there(seed: int, whole: Wire, told: Seen) -> None:
    assert told.findings
    assert told.silences
    assert invented(seen(without(whole, seed)), told) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_nothing_is_found_that_was_not_there_over_many_seeds(first: int, whole: Wire, told: Seen) -> None:
    found = {seed: rows for seed in range(first, first + 20) if (rows := invented(seen(without(whole, seed)), told))}
    assert not found


def bursts(wire: Wire, width: int) -> Iterator[tuple[int, Wire]]:
    """The wire without `width` packets of every connection, one behind the other: the first ones, then all but the first, and so on."""
    flows = wire.segments.select(["flow", "endpoints"]).to_pylist()
    count: Counter[Key] = Counter()
    place = np.zeros(len(flows), np.int64)
    for i, row in enumerate(flows):
        key = (row["flow"], row["endpoints"])
        place[i] = count[key]
        count[key] += 1
    for first in range(max(count.values())):
        yield first, kept(wire, (place < first) | (place >= first + width))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
def test_whichever_packets_are_lost(width: int, whole: Wire, told: Seen) -> None:
    found = {first: rows for first, wire in bursts(whole, width) if (rows := invented(seen(wire), told))}
    assert not found


def test_what_is_not_lost_is_judged(whole: Wire, told: Seen) -> None:
    """Rules keep their power: where many opportunities can be judged, nearly as many still are."""
    runs = [seen(without(whole, seed)).judged for seed in range(3)]
    every = sum(told.judged.values())
    assert all(sum(run.values()) > POWER * every for run in runs)
    weak = {
        rule: [run[rule] for run in runs]
        for rule, count in told.judged.items()
        if count >= 100 and sum(run[rule] for run in runs) < 0.8 * len(runs) * count
    }
    assert not weak
