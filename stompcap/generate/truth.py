"""What the tables must say about generated connections, noted while they are written; rows have the columns of docs/tables.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

Rows = list[dict[str, Any]]
TIMES = ("first_ns", "last_ns", "delivered_ns", "settled_ns", "sent_ns", "effective_ns", "message_ns")


@dataclass
class Truth:
    """One connection. Times count from its first packet; `note` says what it is for.

    `sends` and `journeys` are noted where a broker passes messages on: each SEND, and of each MESSAGE the SEND that it came of, by the
    number of its connection. `findings` are failures by rule id; where `others` is true, the connection breaks those rules at least once,
    and perhaps others.
    """

    client_port: int
    note: str = ""
    frames: Rows = field(default_factory=list)
    deliveries: Rows = field(default_factory=list)
    transactions: Rows = field(default_factory=list)
    receipts: Rows = field(default_factory=list)
    sends: Rows = field(default_factory=list)
    journeys: Rows = field(default_factory=list)
    heartbeats: Rows = field(default_factory=list)
    gaps: Rows = field(default_factory=list)
    layers: Rows = field(default_factory=list)
    findings: dict[str, int] = field(default_factory=dict)
    others: bool = False

    def placed(self, client_ip: str, start_ns: int) -> dict[str, Any]:
        """As an object, with its client's address and times since the epoch."""
        found = {"client_ip": client_ip} | asdict(self)
        for rows in (found["frames"], found["deliveries"], found["sends"], found["journeys"]):
            for row in rows:
                row.update({name: row[name] + start_ns for name in TIMES if row.get(name) is not None})
        return found


def totals(truths: Iterable[Truth], clones: int) -> dict[str, Any]:
    """The numbers of rows by what tells them apart, of all clones."""
    counted: dict[str, Counter[str]] = {
        name: Counter() for name in ("commands", "deliveries", "transactions", "receipts", "heartbeats", "findings")
    }
    connections = gaps = 0
    for truth in truths:
        connections += 1
        gaps += len(truth.gaps)
        counted["commands"].update(row["command"] for row in truth.frames)
        counted["deliveries"].update(row["status"] for row in truth.deliveries)
        counted["transactions"].update(row["outcome"] for row in truth.transactions)
        counted["receipts"].update(row["status"] for row in truth.receipts)
        counted["heartbeats"].update(row["verdict"] for row in truth.heartbeats)
        counted["findings"].update(truth.findings)
    found: dict[str, Any] = {"connections": connections * clones, "gaps": gaps * clones}
    return found | {name: {word: n * clones for word, n in sorted(counts.items())} for name, counts in counted.items()}
