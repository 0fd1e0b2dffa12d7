"""A set of numbers that gives the largest one below another: a bit for each, and above every 32 of them one that is set if any of them is.

Adding, removing and asking take a step per level, at most seven.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import I64
from stompcap.kernel import inline

BITS = 5
LOW = (1 << BITS) - 1


def empty(size: int) -> tuple[I64, I64]:
    """The words of an empty set of numbers below `size`, level by level, and where each level begins."""
    sizes = [max(size + LOW >> BITS, 1)]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] + LOW >> BITS)
    ends = np.cumsum(np.array(sizes, np.int64))
    return np.zeros(ends[-1], np.int64), ends - np.array(sizes, np.int64)


@inline
def add(words: I64, starts: I64, number: int) -> None:
    """Put a number into the set."""
    for start in starts:
        at = start + (number >> BITS)
        words[at] |= 1 << (number & LOW)
        number >>= BITS


@inline
def remove(words: I64, starts: I64, number: int) -> None:
    """Take a number out of the set."""
    for start in starts:
        at = start + (number >> BITS)
        words[at] &= ~(1 << (number & LOW))
        if words[at]:
            return
        number >>= BITS


@inline
def _highest(word: int) -> int:
    """The highest bit that is set."""
    high = 0
    for step in (16, 8, 4, 2, 1):
        if word >> (high + step):
            high += step
    return high


@inline
def below(words: I64, starts: I64, number: int) -> int:
    """The largest number of the set below that one, -1 where there is none."""
    for level in range(len(starts)):
        word = words[starts[level] + (number >> BITS)] & ((1 << (number & LOW)) - 1)
        number >>= BITS
        if word:
            number = (number << BITS) + _highest(word)
            for lower in range(level - 1, -1, -1):
                number = (number << BITS) + _highest(words[starts[lower] + number])
            return int(number)
    return -1
