"""A delimiter saved in the middle of anything goes on as if nothing had happened."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stompcap.stomp import Delimiter, Runs, State, delimit
from tests.stomp.rows import Tuple, runs_of, tuples
from tests.stomp.test_properties import octets, parts


@given(parts, st.lists(st.integers(0, 40), max_size=8), st.booleans())
def test_any_save_and_resume_point_gives_the_same_rows(given_parts: list[bytes | int], cuts: list[int], synced: bool) -> None:
    rows, kept = [], []
    straight, saved = Delimiter(synced), Delimiter(synced)
    places = iter(cuts)
    for part in given_parts:
        if isinstance(part, int):
            rows += straight.gap(part)
            kept += saved.gap(part)
            continue
        rows += straight.feed(part)
        at = next(places, 0)
        for piece in (part[:at], part[at:]):
            kept += saved.feed(piece)
            saved = Delimiter.restore(saved.save())
    rows += straight.close()
    kept += saved.close()
    assert kept == rows


def rows_with(data: bytes, cuts: list[int], hand_over: object) -> list[Tuple]:
    state, pending, result = None, 0, []
    for end in [*cuts, len(data)]:
        final = end == len(data)
        runs = Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([end - pending]), np.array([pending]), np.array([True]),
            np.array([final]), np.array([end]),
        )
        rows = delimit(np.frombuffer(data[pending:end], np.uint8), runs, state)
        result += tuples(rows)
        state, pending = hand_over(rows.state), int(rows.pending[0])
        if final:
            break
    return result


@example(data=b"x\n\0\x80\0", cuts=[4])
@given(data=octets, cuts=st.lists(st.integers(0, 80), max_size=4))
@pytest.mark.parametrize("hand_over", [lambda s: State.from_bytes(s.to_bytes()), lambda s: pickle.loads(pickle.dumps(s))])
def test_the_state_survives_writing(hand_over: object, data: bytes, cuts: list[int]) -> None:
    cuts = sorted(min(cut, len(data)) for cut in cuts)
    assert rows_with(data, cuts, hand_over) == tuples(delimit(*runs_of([data])))


@pytest.mark.parametrize("saved", [b"", b"x" * 16, b"x" * 40, Delimiter().save()[:-1], Delimiter().save() + b"x"])
def test_what_was_not_saved_is_not_restored(saved: bytes) -> None:
    with pytest.raises(ValueError, match="octets"):
        Delimiter.restore(saved)


@pytest.mark.parametrize("written", [b"", b"stompcap delimiter 0\n", b"stompcap delimiter 1\nx"])
def test_what_is_no_state_is_not_read(written: bytes) -> None:
    with pytest.raises(ValueError, match="not a state"):
        State.from_bytes(written)
