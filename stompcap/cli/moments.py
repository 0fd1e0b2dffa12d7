"""Times as options give them."""

from __future__ import annotations

import datetime
import re

from stompcap.errors import UsageError
from stompcap.visible import visible

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def moment(option: str, text: str) -> datetime.datetime:
    """A date or time, UTC where it names no zone; raises UsageError."""
    try:
        found = datetime.datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {visible(text, 40)}: must be a date or time such as 2026-11-21 or 2026-11-21T08:30:00Z") from error


def nanoseconds(option: str, text: str) -> int:
    """The same in nanoseconds since the epoch."""
    return (moment(option, text) - EPOCH) // datetime.timedelta(microseconds=1) * 1000


def microseconds(option: str, text: str) -> float:
    """A latency, 250us, 40ms, 1.5s or 2min, in microseconds; raises UsageError."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?(us|µs|ms|s|min|h)", text.strip())
    if not found:
        raise UsageError(f"{option} {visible(text, 40)}: must be a time such as 40ms, 1.5s or 2min")
    return float(found[1]) * {"us": 1, "µs": 1, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}[found[2]]
