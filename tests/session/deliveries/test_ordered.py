"""The ordered set tells what a sorted list tells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stompcap.session.deliveries import ordered

SIZES = st.one_of(st.integers(1, 70), st.sampled_from([1_023, 1_024, 1_025, 32_768, 40_000, 1_100_000]))


@given(st.data(), SIZES)
def test_it_tells_the_largest_below(data: st.DataObject, size: int) -> None:
    words, starts = ordered.empty(size)
    numbers = st.integers(0, size - 1)
    held: set[int] = set()
    for number in data.draw(st.lists(numbers, max_size=40)):
        if number in held:
            ordered.remove(words, starts, number)
            held.remove(number)
        else:
            ordered.add(words, starts, number)
            held.add(number)
        for asked in (number, min(number + 1, size - 1), size - 1, data.draw(numbers)):
            assert ordered.below(words, starts, asked) == max((n for n in held if n < asked), default=-1)
    assert words.any() == bool(held)


def test_an_empty_one_has_room_for_none() -> None:
    words, starts = ordered.empty(0)
    assert len(words) == len(starts) == 1
