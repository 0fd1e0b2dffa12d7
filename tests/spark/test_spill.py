"""Payload laid aside is what the segments carried, in whatever slices and blocks it came. No Spark needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.columns import SPILLED
from stompcap.spark.spill import Spill

ROWS = st.lists(st.one_of(st.none(), st.binary(max_size=9)), max_size=8)


def table(payloads: list[bytes | None]) -> pa.Table:
    zeros = {field.name: 0 for field in SEGMENTS} | {"endpoints": bytes(36), "forward": True}
    return pa.Table.from_pylist([zeros | {"place": -1 if one is not None else 7, "payload": one} for one in payloads], SEGMENTS)


@given(st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=4), st.integers(0, 3))
def test_octets_are_found_again(tables: list[list[list[bytes | None]]], skip: int) -> None:
    spill = Spill()
    for chunks in tables:
        before = pa.concat_tables([table(chunk) for chunk in chunks]).slice(skip)
        after = spill.take(before)
        assert after.schema.equals(SEGMENTS)
        assert after.column("payload").null_count == after.num_rows
        for place, payload in zip(after.column("place").to_pylist(), before.column("payload").to_pylist(), strict=True):
            if payload is None:
                assert place == 7
            else:
                assert place <= SPILLED
                assert spill.octets[SPILLED - place : SPILLED - place + len(payload)].tobytes() == payload


def test_nothing_is_written_where_nothing_is_carried() -> None:
    spill = Spill()
    assert spill.take(table([None, None])).num_rows == 2
    assert len(spill.octets) == 0
    assert spill.octets.dtype == np.uint8
