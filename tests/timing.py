"""Time that grows as the input does, measured so that other work on the machine does not matter."""

from __future__ import annotations

from collections.abc import Callable

TIMES = 8


def assert_linear(seconds: Callable[[int], float], size: int) -> None:
    """TIMES as much takes some TIMES as long; what is quadratic takes TIMES as long again. What seems slow is tried once more."""
    limit = 3 * TIMES * min(seconds(size) for _ in range(3)) + 1
    spent = seconds(TIMES * size)
    if spent >= limit:
        spent = seconds(TIMES * size)
    assert spent < limit, f"{TIMES} times as much took {spent:.1f} s, more than {limit:.1f} s"
