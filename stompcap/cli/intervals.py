"""INTERVALs as text, as DuckDB casts them: `1 year 2 months 3 days -00:00:01.5`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any


def interval(value: Any) -> str | None:
    """The text of an interval: Arrow's of months, days and nanoseconds, or the timedelta that Spark gives; None for any other value."""
    if isinstance(value, timedelta):
        return _text(0, 0, value // timedelta(microseconds=1))
    if type(value).__name__ == "MonthDayNano":  # pyarrow's; to import that takes long
        return _text(value.months, value.days, value.nanoseconds // 1000)
    return None


def _text(months: int, days: int, microseconds: int) -> str:
    years = int(months / 12)  # towards zero
    parts = list(_counted((years, "year"), (months - 12 * years, "month"), (days, "day")))
    if microseconds or not parts:
        seconds, fraction = divmod(abs(microseconds), 10**6)
        minutes, seconds = divmod(seconds, 60)
        clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}" + f".{fraction:06d}".rstrip("0").rstrip(".")
        parts.append("-" * (microseconds < 0) + clock)
    return " ".join(parts)


def _counted(*units: tuple[int, str]) -> Iterator[str]:
    for count, unit in units:
        if count:
            yield f"{count} {unit}{'s' * (abs(count) != 1)}"
