"""Segments survive the shuffle: packed for any number of tasks, each flow comes out whole, once and in wire order. No Spark needed.

So do they whatever part of them stands in memory at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.payload_spill import PayloadSpill
from stompcap.spark import blocks
from stompcap.spark.blocks import gathered, pack, task_of, unpack
from stompcap.tasks.failures import Failures
from stompcap.tcp import flows as tcp_flows
from stompcap.tcp.flows import by_flow


def segments(flows: list[int], same_hash: bool = False) -> pa.Table:
    rows = [
        {field.name: 0 for field in SEGMENTS if field.name not in ("endpoints", "payload", "forward", "bad_checksum")}
        | {"flow": 7 if same_hash else flow * 2**40 - 3, "packet": packet, "endpoints": bytes([flow]) * 36}
        | {"forward": True, "bad_checksum": False, "payload": None}
        for packet, flow in enumerate(flows, 1)
    ]
    return pa.Table.from_pylist(rows, schema=SEGMENTS)


def in_tasks(flows: list[int], tasks: int, batch: int, same_hash: bool, random: Random, folder: Path) -> Iterator[list[pa.Table]]:
    """Per task, what comes of each group of flows, or of each flow that is large."""
    blocks = list(pack(segments(flows, same_hash).to_batches(batch), tasks))
    random.shuffle(blocks)
    folders = (Path(tempfile.mkdtemp(dir=folder)) for _ in range(tasks))
    for task in range(tasks):
        mine = [part.filter(pa.compute.equal(part.column("task"), task)) for part in blocks]
        groups = by_flow(unpack(mine, PayloadSpill(), Failures()), 1, lambda: next(folders))
        yield [one if isinstance(one, pa.Table) else pa.concat_tables(one) for one in groups]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8), st.integers(1, 20), st.integers(1, 30), st.booleans(),
    st.randoms(),
)  # fmt: skip
def test_every_flow_arrives_whole(flows: list[int], tasks: int, batch: int, held: int, same_hash: bool, random: Random) -> None:
    found: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(tcp_flows, "HELD_ROWS", held)
        for groups in in_tasks(flows, tasks, batch, same_hash, random, Path(folder)):
            for table in groups:
                rows = [(row["endpoints"][0], row["packet"]) for row in table.to_pylist()]
                names = [row[0] for row in rows]
                assert rows == sorted(rows, key=lambda row: (names.index(row[0]), row[1])), "a flow is torn or out of order"
                assert len(rows) <= max(held, flows.count(names[0])) or len(set(names)) > 1
                assert not {name for name, _ in found} & set(names), "a flow comes twice"
                found += rows
        assert not list(Path(folder).rglob("segments-*")), "files are left"
    assert sorted(found) == sorted((flow, packet) for packet, flow in enumerate(flows, 1))


def test_a_large_flow_comes_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Batches that lie across each other wait for each other; no piece is larger than they make it."""
    monkeypatch.setattr(tcp_flows, "HELD_ROWS", 20)
    whole = segments([1] * 100)
    taken = [whole.slice(at, 10) for at in (50, 0, 60, 10, 90, 80, 70, 20)]
    taken += [whole.take(list(range(30, 50, 2))), whole.take(list(range(31, 50, 2)))]
    pieces = [piece.column("packet").to_pylist() for flow in by_flow(taken, 1, lambda: tmp_path) for piece in flow]
    assert list(chain(*pieces)) == list(range(1, 101))
    assert max(map(len, pieces)) < 21


def test_tasks_are_in_range() -> None:
    flows = np.array([0, 1, -1, 2**63 - 1, -(2**63)], np.int64)
    assert (task_of(flows, 3) < 3).all()
    assert (task_of(flows, 3) >= 0).all()


@pytest.mark.parametrize(("tasks", "sizes"), [(1, [100] * 9), (10, [100] * 9), (20, [200] * 4 + [100]), (1000, [800, 100])])
def test_for_many_tasks_more_is_gathered_so_that_blocks_stay_large(tasks: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "ROWS", 100)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 10)
    monkeypatch.setattr(blocks, "MOST", 8)
    batches = segments([0] * 900).to_batches(20)
    assert [len(one) for one in gathered(batches, tasks)] == sizes
