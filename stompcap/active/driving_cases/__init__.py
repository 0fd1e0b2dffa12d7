"""The cases of a scripted client, which judge brokers: a module per family."""

from __future__ import annotations

from stompcap.active.driving_cases import (
    acknowledging,
    connecting,
    framing,
    heartbeats,
    lengths,
    receipts,
    sending,
    subscribing,
    transactions,
)

FAMILIES = (connecting, framing, lengths, sending, receipts, subscribing, acknowledging, transactions, heartbeats)
CASES = tuple(case for family in FAMILIES for case in family.CASES)
