"""Columns: Arrow to numpy and back, words to codes and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.columns import coded, column, flat, integers, or_null, rising, spread, take_or, text_codes, timestamps, worded
from stompcap.tables import words

WORDS = st.sampled_from(words.DELIVERY_STATUSES)


def test_numbers_of_columns() -> None:
    assert integers(pa.chunked_array([[1, None], [3]])).tolist() == [1, -1, 3]
    known = pa.array(["a", "b"])
    assert coded(pa.array(["b", "b", "a", "x"]), known).tolist() == [1, 1, 0, -1]
    assert coded(pa.array(["b", None]), known).tolist() == [1, -1]
    assert coded(pa.array([], pa.string()), known).tolist() == []
    first, second = text_codes(pa.array(["x", None, "y"]), pa.array(["y", "x"]))
    assert (first[0], first[1], first[2]) == (second[1], -1, second[0])


@given(st.lists(st.none() | WORDS), st.integers(1, 3))
def test_words_are_their_codes_again(found: list[str | None], chunks: int) -> None:
    numbers = coded(pa.chunked_array([found[part::chunks] for part in range(chunks)], pa.string()), words.DELIVERY_STATUSES)
    assert worded(numbers, words.DELIVERY_STATUSES).to_pylist() == [one for part in range(chunks) for one in found[part::chunks]]
    assert worded(numbers.astype(np.int8), words.DELIVERY_STATUSES).equals(worded(numbers, words.DELIVERY_STATUSES))


def test_chunks_are_joined() -> None:
    assert flat(pa.chunked_array([[1], [2, 3]])).to_pylist() == [1, 2, 3]
    assert flat(pa.chunked_array([], pa.string())).to_pylist() == []
    assert column(pa.table({"a": pa.chunked_array([pa.array([1], pa.int8()), pa.array([2], pa.int8())])}), "a").dtype == np.int8


def test_what_is_absent_is_null_and_minus_one() -> None:
    numbers = np.array([1_500, -1, 0])
    assert or_null(numbers).to_pylist() == [1_500, None, 0]
    assert timestamps(numbers).cast(pa.int64()).to_pylist() == [1, None, 0]
    assert take_or(numbers, np.array([0, -1])).tolist() == [1_500, -1]
    assert take_or(numbers[:0], np.array([-1])).tolist() == [-1]
    assert spread(3, np.array([1]), np.array([7])).tolist() == [-1, 7, -1]


def test_what_rises_rises_in_each_group() -> None:
    assert rising(np.array([0, 0, 0, 1]), np.array([2, 1, 3, 0])).tolist() == [2, 2, 3, 0]
