"""How often a process that lives on makes incidents again: what that costs grows with two days' traffic, not with what is new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST_S = 10.0
"""What takes fewer seconds is done whenever it is asked for."""

TIMES = 4
"""Else so many times as long passes before it is done again, so that it takes a fifth of the time at most."""


class Pace:
    """Says when something is due that takes long; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due_s = clock()

    def is_due(self) -> bool:
        """Whether it may be done now."""
        return self._clock() >= self._due_s

    @contextmanager
    def timed(self) -> Iterator[None]:
        """While it is done."""
        began_s = self._clock()
        yield
        ended_s = self._clock()
        took_s = ended_s - began_s
        self._due_s = ended_s + (TIMES * took_s if took_s >= LEAST_S else 0)
