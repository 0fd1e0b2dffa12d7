"""A flow taken block by block gives the rows that it gives whole, whatever was lost, moved or doubled in it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

from stompcap.assembly import Assembly, Part
from stompcap.assembly.windows import WINDOW
from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import DATA
from tests.examples import every
from tests.mangler import segmentations as how
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.taken_apart import ACK, FIN, RST, SYN, Segment


def stalled(packets: Sequence[Segment]) -> list[Segment]:
    """Some segments offer no window."""
    dice = random.Random(5)
    return [replace(one, window=0) if one.flags & ACK and not one.flags & (SYN | RST) and dice.random() < 0.2 else one for one in packets]


def one_connection_after_the_other(packets: Sequence[Segment]) -> list[Segment]:
    """All connections of a client to a port on the same client's port, in turn."""
    ports = {segment.dport for segment in packets if segment.flags & SYN and not segment.flags & ACK}
    moved = [replace(one, **{"dport" if one.sport in ports else "sport": 40_000}) for one in how.one_flow_after_the_other(packets)]
    return [replace(one, ts_ns=packets[0].ts_ns + i * 1000) for i, one in enumerate(moved)]


def cut_off(packets: Sequence[Segment]) -> list[Segment]:
    """The capture ended before any connection did."""
    return [one for one in packets if not one.flags & (FIN | RST)][: len(packets) * 2 // 3]


CHANGES = {
    "as it is": how.as_they_are, "1% lost": lost(0.01, 3), "10% lost": lost(0.1, 4), "small segments": how.smaller(40),
    "copied": how.copied_by_span, "sent again": how.sent_again, "out of order": how.cut_and_reordered, "overlapping": how.overlapping,
    "no handshake": how.without_handshake, "stalled": stalled, "one flow": one_connection_after_the_other,
    "end not captured": cut_off, "wrapping": how.wrapping,
}  # fmt: skip
RECORDED = sorted(path.name for path in DATA.glob("*.pcap*"))
SOME = ("activemq_violations.pcap", "rabbitmq_bodies.pcap", "rabbitmq_heartbeats.pcap")


class InBlocks(Assembly):
    """Takes every flow for a large one, given in tables of some segments."""

    def parts(self, flows: pa.Table) -> Iterator[Part]:
        keys = list(zip(flows.column("flow").to_pylist(), flows.column("endpoints").to_pylist(), strict=True))
        edges = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
        for begin, end in pairwise(edges):
            yield from self.flow(flows.slice(at, min(37, end - at)) for at in range(begin, end, 37))


def rows(tables: dict[str, pa.Table]) -> dict[str, Counter[str]]:
    """The rows of tables; a flow that is made into rows by itself is final, and another run does not go on with it."""
    without = {name: table.drop_columns(["final"]) if name == "streams" else table for name, table in tables.items()}
    return {name: Counter(map(repr, table.to_pylist())) for name, table in without.items()}


def check(wire: Wire, block: int, window: int) -> None:
    whole, found = rows(wire.tables(block=block)), rows(wire.tables(window=window, block=block, assembly=InBlocks))
    assert found.keys() == whole.keys()
    for name in whole:
        assert found[name] == whole[name], name


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "block", "window"), [
    pytest.param(SOME[0], "as it is", 20, 3000, marks=pytest.mark.slow),
    pytest.param(SOME[0], "10% lost", 25, WINDOW, marks=pytest.mark.slow),
    pytest.param(SOME[1], "as it is", 16, WINDOW, marks=pytest.mark.slow),
    (SOME[2], "out of order", 90, 20_000), (SOME[2], "stalled", 12, WINDOW), (SOME[2], "one flow", 20, 500),
    pytest.param(SOME[2], "end not captured", 12, WINDOW, marks=pytest.mark.slow),
])  # fmt: skip
def test_blocks_change_nothing(name, change, block, window, tmp_path):
    check(wire_of(list(map(str, Packaging(CHANGES[change]).files(DATA / name, tmp_path)))), block, window)


@pytest.mark.slow
@pytest.mark.parametrize("name", every(3, RECORDED))  # which still meet all changes
def test_blocks_change_nothing_of_any_recorded_capture(name, tmp_path):
    number = RECORDED.index(name)
    change = list(CHANGES)[number % len(CHANGES)]
    wire = wire_of(list(map(str, Packaging(CHANGES[change]).files(DATA / name, tmp_path))))
    check(wire, *((60, WINDOW), (90, 3000))[number % 2])
