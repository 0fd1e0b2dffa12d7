"""Spilled payload is what the segments carried, in whatever slices and blocks it came. No Spark needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS
from stompcap.capture.payload_spill import PayloadSpill
from stompcap.capture.segment_columns import SPILLED
from stompcap.spark.blocks import pack, unpack
from stompcap.tasks.failures import Failures
from stompcap.tcp import Extents, gather

ROWS = st.lists(st.one_of(st.none(), st.binary(max_size=9)), max_size=8)


def table(payloads: list[bytes | None]) -> pa.Table:
    zeros = {field.name: 0 for field in SEGMENTS} | {"endpoints": bytes(36), "forward": True, "bad_checksum": False}
    return pa.Table.from_pylist([zeros | {"file_offset": -1 if one is not None else 7, "payload": one} for one in payloads], SEGMENTS)


@given(st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=4), st.integers(0, 3))
def test_octets_are_found_again(tables: list[list[list[bytes | None]]], skip: int) -> None:
    spill = PayloadSpill()
    for chunks in tables:
        before = pa.concat_tables([table(chunk) for chunk in chunks]).slice(skip)
        after = spill.take(before)
        assert after.schema.equals(SEGMENTS)
        assert after.column("payload").null_count == after.num_rows
        for place, payload in zip(after.column("file_offset").to_pylist(), before.column("payload").to_pylist(), strict=True):
            if payload is None:
                assert place == 7
            else:
                assert place <= SPILLED
                assert spill.octets.octets[SPILLED - place : SPILLED - place + len(payload)].tobytes() == payload


def test_nothing_is_written_where_nothing_is_carried() -> None:
    spill = PayloadSpill()
    assert spill.take(table([None, None])).num_rows == 2
    assert spill.octets.size == 0


@pytest.mark.slow
def test_more_than_a_column_can_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One connection carries more than two gigabytes: its blocks come one after the other, its octets are found by place."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    size, count, blocks = 1 << 16, 512, 68

    def batches() -> Iterator[pa.RecordBatch]:
        for block in range(blocks):
            rows = table([bytes([block]) * size] * count)
            rows = rows.set_column(1, SEGMENTS.field("packet"), pa.array(np.arange(count) + block * count))
            yield from pack(rows.combine_chunks().to_batches(), 1)

    spill = PayloadSpill()
    found = pa.concat_tables(unpack(batches(), spill, Failures())).combine_chunks()
    assert spill.octets.size == size * count * blocks > 1 << 31
    assert found.nbytes < 10_000_000
    chosen = np.array([0, count * blocks - 1, count * 5])
    n = len(chosen)
    extents = Extents(np.zeros(n, np.int32), np.zeros(n, np.int8), chosen * size, np.full(n, 3), chosen, np.zeros(n, np.int64))
    assert gather(extents, found, {SPILLED: spill.octets}).tolist() == [0, 0, 0, blocks - 1, blocks - 1, blocks - 1, 5, 5, 5]
