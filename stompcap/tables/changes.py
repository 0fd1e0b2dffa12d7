"""What rows have come to mean, version by version: rows that an older version wrote mean what they meant then."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A change of what some tables say, since a version; `what` is short, for a line that lists several."""

    version: str
    tables: tuple[str, ...]
    what: str


CHANGES = (
    Change("0.2.0", ("streams", "sessions"), "closes are the first FIN or RST, not the worst"),
    Change("0.2.0", ("deliveries", "receipts", "compliance"), "packets of both directions are ordered by what they acknowledge"),
    Change("0.2.0", ("deliveries", "subscriptions"), "statuses that missing bytes may have decided are unknown"),
    Change("0.2.0", ("deliveries", "receipts", "transactions"), "latencies are null where clocks disagree"),
    Change("0.2.0", ("heartbeats", "compliance"), "silence after DISCONNECT is no fault, one across a step of the clock is not known"),
    Change("0.2.0", ("raw_frames", "frames", "sessions"), "more secrets than passcodes are masked"),
    Change("0.2.0", ("streams", "raw_frames"), "bytes of other protocols are not kept"),
)
"""Oldest first. A run with `--reprocess` computes older rows anew."""


def since(version: str | None) -> tuple[Change, ...]:
    """What has changed since rows of a version were written; of None, before any that is known."""
    return tuple(change for change in CHANGES if _numbers(version) < _numbers(change.version))


def _numbers(version: str | None) -> tuple[int, ...]:
    """The numbers of a version in order; none of one that is not known."""
    return tuple(int(number) for number in re.findall(r"\d+", (version or "").partition("+")[0])[:3])
