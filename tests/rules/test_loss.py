"""What a capture loses is never a finding: without any 1 % of its packets, without any few in a row, without the opening of its
connections nothing is found that the whole of it does not have.

And what it does not lose is still judged.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from stompcap.columns import I64, Bools
from stompcap.tables import words
from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import captures
from tests.examples import every

Row = dict[str, object]
Key = tuple[object, ...]
LOST = 0.01
LONG = 60  # packets; some connections are longer
SEEDS = 60
POWER = 0.97  # of the opportunities that the whole capture can judge, so many are still judged: more than two packets bear on one
TABLES = ("compliance", "compliance_findings", "heartbeat_violations")


@dataclass(frozen=True)
class Seen:
    """Findings with the keys that each may be known by, how bad silences are that nothing excuses, and opportunities judged by rule.

    The place in a stream shifts where its beginning is lost, the place from its end where the end is, the time where a frame's packet
    came twice.
    """

    findings: list[tuple[Key, tuple[Key, ...], Row]]
    silences: dict[Key, int]
    judged: Counter[str]

    def told(self) -> set[Key]:
        """All keys of the findings."""
        return {key for _, keys, _ in self.findings for key in keys}


def connections(tables: dict[str, pa.Table]) -> dict[str, tuple[object, ...]]:
    """Streams by their endpoints, whichever is taken for the client: ids name the first packet, which may be lost."""
    names = ("client_ip", "client_port", "server_ip", "server_port")
    columns = [tables["streams"].column(name).to_pylist() for name in ("stream_id", *names)]
    return {stream: tuple(sorted([(ip, port), (peer, at)])) for stream, ip, port, peer, at in zip(*columns, strict=True)}


def seen(wire: Wire) -> Seen:
    """What is made of some packets."""
    tables = wire.tables(wanted=lambda name: name in TABLES)
    of = connections(tables)
    streams = tables["streams"].select(["stream_id", "octets_c2s", "octets_s2c"]).to_pylist()
    octets = {(row["stream_id"], way): row[f"octets_{way}"] for row in streams for way in ("c2s", "s2c")}
    findings = []
    for row in tables["compliance_findings"].to_pylist():
        kind = (of[row["stream_id"]], row["rule_id"], row["level"], row["direction"])
        at, length = row["stream_offset"], octets[row["stream_id"], row["direction"]]
        findings.append((kind, ((*kind, "at", at), (*kind, "to the end", length - at), (*kind, "ns", row["ts_ns"])), row))
    silences = {
        (of[row["stream_id"]], row["direction"], row["gap_start_ns"]): words.HEARTBEAT_SEVERITIES.index(row["severity"])
        for row in tables["heartbeat_violations"].to_pylist()
        if row["excused"] is None
    }
    judged: Counter[str] = Counter()
    for rule, *counts in zip(*(tables["compliance"].column(name).to_pylist() for name in ("rule_id", "passed", "failed")), strict=True):
        judged[rule] += sum(counts)
    return Seen(findings, silences, judged)


@pytest.fixture(scope="module")
def whole() -> Wire:
    wire = wire_of(captures())
    return Wire(wire.surveyed, wire.segments.combine_chunks())


@pytest.fixture(scope="module")
def told(whole: Wire) -> Seen:
    return seen(whole)


def kept(wire: Wire, packets: Bools) -> Wire:
    """The wire with some of its packets only."""
    return Wire(wire.surveyed, wire.segments.filter(pa.array(packets)))


def without(wire: Wire, seed: int) -> Wire:
    """The wire without one packet in a hundred."""
    chance = random.Random(seed)
    return kept(wire, np.array([chance.random() >= LOST for _ in range(wire.segments.num_rows)]))


def invented(found: Seen, told: Seen) -> list[object]:
    """Findings and silences that the whole capture does not have, and more findings of one kind than it has."""
    known = told.told()
    new: list[object] = [row for _, keys, row in found.findings if not known.intersection(keys)]
    counts, most = (Counter(kind for kind, _, _ in each.findings) for each in (found, told))
    new += [kind for kind, count in counts.items() if count > most[kind]]
    return [*new, *(silence for silence, worse in found.silences.items() if worse > told.silences.get(silence, -1))]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_nothing_is_found_that_was_not_there(seed: int, whole: Wire, told: Seen) -> None:
    assert told.findings
    assert told.silences
    assert invented(seen(without(whole, seed)), told) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", every(3, range(0, SEEDS, 20)))
def test_nothing_is_found_that_was_not_there_over_many_seeds(first: int, whole: Wire, told: Seen) -> None:
    found = {seed: rows for seed in range(first, first + 20) if (rows := invented(seen(without(whole, seed)), told))}
    assert not found


def places(wire: Wire) -> I64:
    """Per packet the number of those before it in its connection."""
    count: Counter[Key] = Counter()
    found = np.zeros(wire.segments.num_rows, np.int64)
    for i, row in enumerate(wire.segments.select(["flow", "endpoints"]).to_pylist()):
        key = (row["flow"], row["endpoints"])
        found[i] = count[key]
        count[key] += 1
    return found


def without_run(wire: Wire, place: I64, first: int, width: int) -> Wire:
    """The wire without `width` packets of every connection, one behind the other."""
    return kept(wire, (place < first) | (place >= first + width))


@pytest.mark.parametrize("width", [2, *(pytest.param(width, marks=pytest.mark.slow) for width in (3, 4)), 5])
def test_runs_of_lost_packets(width: int, whole: Wire, told: Seen) -> None:
    """A sample of what `test_whichever_packets_are_lost` goes through: where the run begins is drawn for each connection by itself."""
    place, flows = places(whole), whole.segments.column("flow").to_numpy()
    length = Counter(flows.tolist())
    chance = random.Random(width)
    first = {flow: chance.randrange(count) for flow, count in length.items()}
    begin = np.array([first[flow] for flow in flows.tolist()])
    assert invented(seen(kept(whole, (place < begin) | (place >= begin + width))), told) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", every(2, [1, 3]))
def test_whichever_packets_are_lost(width: int, whole: Wire, told: Seen) -> None:
    """Of connections that are long enough to lose any: the others are those of the whole capture."""
    place, flow = places(whole), whole.segments.column("flow").to_numpy()
    length = Counter(flow.tolist())
    last = np.array([length[one] for one in flow.tolist()]) - 1
    found = {}
    for first in range(int(place.max()) + 1):
        some = without_run(kept(whole, last >= first), place[last >= first], first, width)
        if rows := invented(seen(some), told):
            found[first] = rows
    assert not found


@pytest.mark.parametrize("packets", [4, pytest.param(6, marks=pytest.mark.slow), 10, pytest.param(14, marks=pytest.mark.slow)])
def test_sessions_caught_in_the_middle(packets: int, whole: Wire, told: Seen) -> None:
    """Where the opening was not captured the version is inferred: no rule of one version is held against a session of another."""
    cut = seen(kept(whole, places(whole) >= packets))
    assert invented(cut, told) == []
    assert {row["level"] for _, _, row in cut.findings} == {"M", "S", "I"}


@pytest.mark.slow
def test_sessions_caught_anywhere(whole: Wire, told: Seen) -> None:
    place = places(whole)
    found = {first: rows for first in range(1, LONG) if (rows := invented(seen(kept(whole, place >= first)), told))}
    assert not found


@pytest.mark.slow
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
