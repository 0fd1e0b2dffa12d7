"""What is made one ahead comes in its order, with its errors in their turn, and never more than one before it is asked for."""

from __future__ import annotations

import threading

import pytest

from stompcap.assembly.prefetch import prefetched


def test_items_come_in_their_order():
    assert list(prefetched(range(1000))) == [*range(1000)]
    assert list(prefetched([])) == []


def test_one_is_made_while_the_one_before_it_is_used_and_no_more():
    made = [threading.Event() for _ in range(4)]

    def items():
        for number, event in enumerate(made):
            event.set()
            yield number

    coming = prefetched(items())
    assert next(coming) == 0
    assert made[1].wait(10)
    assert not made[2].wait(0.2)
    assert list(coming) == [1, 2, 3]


def test_behind_the_last_all_were_used():
    used = []

    def items():
        yield from (1, 2)
        yield from prefetched([3, 4])
        assert used == [1, 2, 3, 4]
        yield 5

    for item in items():
        used.append(item)
    assert used == [1, 2, 3, 4, 5]


def test_an_error_comes_behind_what_was_made_before_it():
    def items():
        yield 1
        yield 2
        raise ValueError("third")

    coming = prefetched(items())
    assert [next(coming), next(coming)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(coming)


def test_no_thread_is_left_of_one_that_is_given_up():
    before = threading.active_count()
    coming = prefetched(iter(range(10)))
    assert next(coming) == 0
    coming.close()
    assert threading.active_count() == before
