"""Columns and headers, whole columns at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.session.lookup import flat, header_column
from stompcap.tables.schema import HEADER_MAP
from tests.session.transcript import run

NAMES = st.sampled_from(["ack", "acks", "a", "", "id", "größe"])
MAPS = st.lists(st.dictionaries(NAMES, st.text(max_size=5), max_size=4), max_size=8)


@settings(deadline=None)
@given(MAPS, NAMES, st.integers(0, 3))
def test_values_by_name(maps: list[dict[str, str]], name: str, skip: int) -> None:
    column = pa.array([list(m.items()) for m in maps], HEADER_MAP).slice(skip)
    rows = np.arange(len(column))[::-1].astype(np.int64)
    assert header_column(column, name, rows).to_pylist() == [m.get(name) for m in maps[skip:]][::-1]


def test_chunks_are_joined() -> None:
    assert flat(pa.chunked_array([[1], [2, 3]])).to_pylist() == [1, 2, 3]
    assert flat(pa.chunked_array([], pa.string())).to_pylist() == []
    both = pa.chunked_array([pa.array([[("a", "1")]], HEADER_MAP), pa.array([[("b", "2")]], HEADER_MAP)])
    assert header_column(both, "b", np.arange(2)).to_pylist() == [None, "2"]


def test_headers_and_columns_in_wire_order() -> None:
    dialogue = run("> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n> SEND destination:a x:1\n").dialogue
    assert dialogue.header("x").to_pylist() == [None, None, "1"]
    assert dialogue.header("never").to_pylist() == [None] * 3
    assert dialogue.column("command").to_pylist() == ["CONNECT", "CONNECTED", "SEND"]
    assert dialogue.header("x") is dialogue.header("x")
