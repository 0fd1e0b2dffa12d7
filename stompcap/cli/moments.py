"""Times as options give them."""

from __future__ import annotations

import datetime

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
