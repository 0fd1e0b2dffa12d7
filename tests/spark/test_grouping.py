"""Sorted batches are cut into groups between keys only. No Spark needed."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.spark.grouping import Limits, whole_groups


@given(st.lists(st.integers(1, 6), max_size=12), st.integers(1, 7), st.integers(1, 9))
def test_groups_never_cut_a_key(sizes: list[int], batch: int, limit: int) -> None:
    keys = [key for key, size in enumerate(sizes) for _ in range(size)]
    table = pa.table({"key": pa.array(keys, pa.int64()), "n": pa.array(range(len(keys)), pa.int64())})
    groups = list(whole_groups(iter(table.to_batches(batch)), ("key",), None, Limits(limit, 1 << 40)))
    assert [n for group in groups for n in group["n"].to_pylist()] == list(range(len(keys)))
    seen = [set(group["key"].to_pylist()) for group in groups]
    assert sum(len(part) for part in seen) == len(set(keys))
