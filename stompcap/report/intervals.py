"""How sure a figure is: 99 % intervals of shares, percentiles and rates, and whether two figures differ for sure.

Two figures differ for sure where their intervals do not overlap, which chance alone brings about less often than once in a thousand times.
Shares have Wilson's interval (1927), percentiles that of order statistics (David and Nagaraja, Order Statistics, 2003, section 7.1), rates
that of the mean of whole minutes by how much these differ, at least by as much as independent events would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Z = 2.576
"""Standard deviations on either side of the mean within which 99 % lie."""

FEWEST_MINUTES = 5
NONE_SEEN = 5.3
"""Events that none seen may stand for: exp(-5.3) is half a percent."""


@dataclass(frozen=True)
class Figure:
    """A number with the ends of its interval, None where too few samples give one, and of how many samples it is."""

    value: float | None
    low: float | None
    high: float | None
    of: int

    @property
    def known(self) -> bool:
        """Whether it has an interval, if only one end of it."""
        return self.value is not None and (self.low is not None or self.high is not None)


def share(part: int, whole: int) -> Figure:
    """A part of a whole."""
    if not whole:
        return Figure(None, None, None, 0)
    middle, around = part / whole, Z * Z / whole
    center = (middle + around / 2) / (1 + around)
    reach = Z * math.sqrt(middle * (1 - middle) / whole + around / whole / 4) / (1 + around)
    return Figure(middle, max(center - reach, 0), min(center + reach, 1), whole)


def rate(events: int, squares: float, minutes: int) -> Figure:
    """Events a minute; `squares` is the sum of the squares of the minutes' numbers."""
    if minutes < 1:
        return Figure(None, None, None, 0)
    mean = events / minutes
    if minutes < FEWEST_MINUTES:
        return Figure(mean, None, None, minutes)
    between = max(squares - events * mean, 0) / (minutes - 1)
    reach = Z * math.sqrt(max(between * minutes, events))
    return Figure(mean, max(events - reach, 0) / minutes, (events + max(reach, NONE_SEEN)) / minutes, minutes)


def differ(one: Figure, other: Figure) -> bool:
    """Whether their intervals are apart."""
    return _below(one, other) or _below(other, one)


def _below(one: Figure, other: Figure) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def rank_sql(share_of: float, end: int, number: str) -> str:
    """SQL of the rank, counted from 1, of the sample that is an end (-1, 1) of the interval of a percentile of `number` samples."""
    reach = f"{Z} * sqrt({number} * {share_of * (1 - share_of):.6g})"
    rounded = f"floor({number} * {share_of} - {reach})" if end < 0 else f"ceil({number} * {share_of} + {reach}) + 1"
    return f"CAST({rounded} AS BIGINT)"
