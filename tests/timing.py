"""Time that is short, or grows as the input does, measured so that other work on the machine does not matter."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 8
TRIES = 3


def assert_quick(work: Callable[[], object]) -> None:
    """The work takes less than a second of this thread's time; what seems slow is tried again."""
    spent = []
    while len(spent) < TRIES and min(spent, default=1.0) >= 1.0:
        started = time.thread_time()
        work()
        spent.append(time.thread_time() - started)
    assert min(spent) < 1.0, spent


def assert_linear(seconds: Callable[[int], float], size: int) -> None:
    """TIMES as much takes some TIMES as long; what is quadratic takes TIMES as long again. What seems slow is tried once more."""
    limit = 3 * TIMES * min(seconds(size) for _ in range(3)) + 1
    spent = seconds(TIMES * size)
    if spent >= limit:
        spent = seconds(TIMES * size)
    assert spent < limit, f"{TIMES} times as much took {spent:.1f} s, more than {limit:.1f} s"
