"""From values to positions on a drawing: linear and logarithmic scales with round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Linear:
    """Maps values from `low` to `high` to positions from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a value; values outside are on the nearer edge."""
        part = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.begin + min(max(part, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self, wanted: int = 5) -> list[float]:
        """About so many round values (1, 2 or 5 times a power of ten apart), inside the scale."""
        span = (self.high - self.low) or 1.0
        step = 10.0 ** math.floor(math.log10(span / wanted))
        step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= wanted)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Log:
    """Positive values by their logarithm; `low` and `high` are powers of ten (see `around`)."""

    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def around(cls, smallest: float, largest: float, begin: float, end: float) -> Log:
        """The scale of whole decades that contains both values; values below 1 count as 1."""
        low = math.floor(math.log10(max(smallest, 1.0)))
        high = max(math.ceil(math.log10(max(largest, 1.0))), low + 1)
        return cls(10.0**low, 10.0**high, begin, end)

    def __call__(self, value: float) -> float:
        """The position of a value; values outside are on the nearer edge."""
        part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.begin + min(part, 1.0) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**n for n in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
