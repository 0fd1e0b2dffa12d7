"""Segments survive the shuffle: packed for any number of tasks, each flow comes out whole, once and in wire order. No Spark needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.spill import Spill
from stompcap.spark.blocks import pack, task_of, unpack


def segments(flows: list[int], same_hash: bool = False) -> pa.Table:
    rows = [
        {field.name: 0 for field in SEGMENTS if field.name not in ("endpoints", "payload", "forward", "bad_checksum")}
        | {"flow": 7 if same_hash else flow * 2**40 - 3, "packet": packet, "endpoints": bytes([flow]) * 36}
        | {"forward": True, "bad_checksum": False, "payload": None}
        for packet, flow in enumerate(flows, 1)
    ]
    return pa.Table.from_pylist(rows, schema=SEGMENTS)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8), st.integers(1, 20), st.booleans(), st.randoms())
def test_every_flow_arrives_whole(flows: list[int], tasks: int, batch: int, same_hash: bool, random: object) -> None:
    blocks = [block for part in pack(segments(flows, same_hash).to_batches(batch), tasks) for block in [part]]
    random.shuffle(blocks)  # type: ignore[attr-defined]  # random.Random
    found: list[tuple[int, int]] = []
    for task in range(tasks):
        table = unpack([part.filter(pa.compute.equal(part.column("task"), task)) for part in blocks], Spill())
        rows = [(row["endpoints"][0], row["packet"]) for row in table.to_pylist()]
        assert rows == sorted(rows, key=lambda row: ([r[0] for r in rows].index(row[0]), row[1])), "a flow is torn or out of order"
        found += rows
    assert sorted(found) == sorted((flow, packet) for packet, flow in enumerate(flows, 1))


def test_tasks_are_in_range() -> None:
    flows = np.array([0, 1, -1, 2**63 - 1, -(2**63)], np.int64)
    assert (task_of(flows, 3) < 3).all()
    assert (task_of(flows, 3) >= 0).all()
