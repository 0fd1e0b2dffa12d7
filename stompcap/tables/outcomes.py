"""Deliveries by what became of them: which ask for an ACK, which are settled or not, and whose latency counts; journeys likewise.

Said once, for everything that counts them: of deliveries each is a test of a row, and the same as SQL for both engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stompcap.tables.words import DELIVERY_STATUSES, SETTLED_BY


@dataclass(frozen=True)
class Deliveries:
    """Deliveries of these statuses, settled in these ways; `measured`: with a latency that no missing octets make uncertain."""

    statuses: tuple[str, ...]
    settled_by: tuple[str, ...] = ()
    measured: bool = False

    def has(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of table deliveries is one of them."""
        if row["status"] not in self.statuses or (self.settled_by and row["settled_by"] not in self.settled_by):
            return False
        return not self.measured or (row["ack_latency_us"] is not None and not row["octets_missing"])

    def sql(self, of: str = "") -> str:
        """The condition, on the columns of a table that goes by the name `of`."""
        at = f"{of}." if of else ""
        found = [_among(f"{at}status", self.statuses)]
        if self.settled_by:
            found.append(_among(f"{at}settled_by", self.settled_by))
        if self.measured:
            found += [f"{at}octets_missing IS NOT TRUE", f"{at}ack_latency_us IS NOT NULL"]
        return " AND ".join(found)


def _among(column: str, words: tuple[str, ...]) -> str:
    quoted = [f"'{word}'" for word in words]
    return f"{column} = {quoted[0]}" if len(quoted) == 1 else f"{column} IN ({', '.join(quoted)})"


ASKING = Deliveries(tuple(word for word in DELIVERY_STATUSES if word != "auto"))
"""An ACK is asked for: each of them is settled, not settled or unknown."""

SETTLED = Deliveries(("settled",))
NOT_SETTLED = Deliveries(("unsettled", "open", "voided"))
"""What columns called `unsettled` count. Of one that is voided the transaction of its ACK was aborted or lost."""

GIVEN_BACK = Deliveries(("unsettled", "voided"))
"""Those that the broker has again: their connection ended before an ACK, or the transaction of it did not come about."""

UNKNOWN = Deliveries(("unknown",))
AUTO = Deliveries(("auto",))


def kept(of: str = "") -> str:
    """Whether the consumer has the message for good, by an ACK or as no one is asked for: the condition, on the columns of such a table."""
    at = f"{of}." if of else ""
    return f"({AUTO.sql(of)} OR {SETTLED.sql(of)} AND {at}settlement = 'ack')"


MEASURED = Deliveries(("settled",), measured=True)
"""Those whose latency is in figures; of the settled, the others are uncertain."""

DIRECT, CUMULATIVE = (Deliveries(("settled",), (word,), measured=True) for word in SETTLED_BY)
"""The measured that an ACK or NACK names, and those that a later one settles, whose latency is an upper bound."""


RESIDENCE = "joined_by IN ('identity', 'unique') AND residence_us IS NOT NULL AND NOT redelivery"
"""Journeys whose residence counts in figures: that of `ordered` is exact only where the broker keeps the order."""

WAITING = "message_stream_id IS NULL AND reason IN ('not_yet', 'no_consumer')"
"""Journeys of SENDs of which no MESSAGE was seen, and that nothing has ended."""


def figures(of: str = "") -> str:
    """How many deliveries ask for an ACK and what became of them, as columns of a SELECT over those."""
    settled, measured, unsettled, unknown = (f"count_if({one.sql(of)})" for one in (SETTLED, MEASURED, NOT_SETTLED, UNKNOWN))
    return (
        f"count(*) AS deliveries, {settled} AS settled, {settled} - {measured} AS uncertain, "
        f"{unsettled} AS unsettled, {unknown} AS unknown"
    )
