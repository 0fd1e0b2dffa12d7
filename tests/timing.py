"""Time that is short, or grows as the input does, measured so that other work on the machine does not matter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

TIMES = 8
TRIES = 3
Result = TypeVar("Result")


def assert_quick(work: Callable[[], Result]) -> Result:
    """What the work gives in less than a second of this thread's time; what seems slow is tried again."""
    for _ in range(TRIES):
        started = time.thread_time()
        result = work()
        spent = time.thread_time() - started
        if spent < 1.0:
            return result
    raise AssertionError(f"it took {spent:.1f} s, as it did before")


def assert_linear(seconds: Callable[[int], float], size: int) -> None:
    """TIMES as much takes some TIMES as long; what is quadratic takes TIMES as long again. What seems slow is tried once more."""
    limit = 3 * TIMES * min(seconds(size) for _ in range(3)) + 1
    spent = seconds(TIMES * size)
    if spent >= limit:
        spent = seconds(TIMES * size)
    assert spent < limit, f"{TIMES} times as much took {spent:.1f} s, more than {limit:.1f} s"
