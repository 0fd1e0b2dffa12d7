"""Sequences come as a whole, in whatever batches DuckDB gives their rows."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.metrics import journeys_sequences
from pipelines.metrics.journeys_sequences import whole
from tests.pipelines.metrics.journey_cases import Traffic


@given(st.lists(st.integers(1, 5), max_size=8), st.lists(st.integers(0, 6), min_size=1, max_size=20))
def test_whole_sequences(lengths: list[int], sizes: list[int]) -> None:
    rows = [number for number, length in enumerate(lengths) for _ in range(length)]
    batches, at = [], 0
    for size in (*sizes, len(rows)):
        batches.append(pa.RecordBatch.from_pydict({"sequence": pa.array(rows[at : at + size], pa.int64())}))
        at += size
    tables = [table.column("sequence").to_pylist() for table in whole(batches)]
    assert [row for table in tables for row in table] == rows
    assert all(one[-1] != other[0] for one, other in pairwise(tables))


@pytest.mark.slow
def test_rows_that_come_in_several_batches_are_joined_as_those_that_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic()
    for number in range(3000):
        traffic.send(number * 10, number % 7).got(number * 10 + 1, number % 7)
    at_once = traffic.told()
    monkeypatch.setattr(journeys_sequences, "ROWS", 1)
    batches: list[int] = []
    monkeypatch.setattr(journeys_sequences, "whole", lambda rows: whole(batches.append(batch.num_rows) or batch for batch in rows))
    assert traffic.told() == at_once
    assert len(batches) > 1
