"""What is known of one direction of a TLS connection between two octets: counts, what comes next, and what was opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stompcap.columns import I64
from stompcap.transport.tls_connection import CLEAR, Connection
from stompcap.transport.tls_hello import TLS_1_3
from stompcap.transport.tls_suites import CBC, SUITES_1_2, SUITES_1_3, Suite

NUMBERS = (
    "came", "offset", "hidden", "unsure", "skip", "scanning", "gap", "phase", "sequence", "sure", "slack", "tried", "failed", "secrets",
    "kind", "left", "partial", "partial_octets", "nonce", "nonces", "records", "opened", "cleared", "lost", "closed", "closed_order",
    "fatal", "anew", "midway", "reached",
)  # fmt: skip
KEEPS = ("sides", "held 0", "held 1", "hello 0", "hello 1")


@dataclass
class Given:
    """What was opened, in pieces: the octets of records, how many each has, and where it begins and ends below.

    `records` counts them. `hidden` are those before which octets are hidden: how many, and whether that is not sure.
    """

    octets: list[bytes] = field(default_factory=list)
    lengths: list[I64] = field(default_factory=list)
    begins: list[I64] = field(default_factory=list)
    ends: list[I64] = field(default_factory=list)
    records: int = 0
    hidden: dict[int, tuple[int, bool]] = field(default_factory=dict)

    def add(self, begins: I64, ends: I64, octets: list[bytes]) -> None:
        """Records behind which others may follow. Their octets are joined while they are at hand; those that carry nothing are left out."""
        lengths = np.fromiter(map(len, octets), np.int64, len(octets))
        if not lengths.all():
            begins, ends, lengths = (values[lengths > 0] for values in (begins, ends, lengths))
        self.octets.append(b"".join(octets))
        self.lengths.append(lengths)
        self.begins.append(begins)
        self.ends.append(ends)
        self.records += lengths.size


@dataclass(eq=False, repr=False)
class Direction:
    """One direction. Counts are of octets, but for records.

    came      of the octets below that came, missing ones included
    offset    of what was given, what is hidden before it included
    hidden    what it is believed to carry since the last that was given; `unsure`: it may be another number
    skip      to come of a record that a hole has torn
    scanning  whether it is not known where the next record begins; `gap`: octets since it is not
    phase, sequence   of the next record, were none missing (stompcap.transport.tls_connection)
    sure, slack       records since the last that was opened: so many passed, so many more may have
    tried, failed     tags and records that were tried since; `secrets`: how many the key log had then
    kind, left        the handshake message under way, and what is to come of it; `partial` of its head
    nonce, nonces     what the explicit nonce of a record is beyond its number, and whether that is known
    records, opened, cleared, lost   whole records that came, those opened, those in the clear, and those that never came
    closed, fatal   where its first close_notify ends, and 1 + its first fatal alert; `closed_order`: the former in wire order, from 1
    anew      new keys may come (TLS 1.2); `midway`: its beginning was not captured
    reached   where the last record that was read ends in the octets below
    """

    connection: Connection
    side: int
    came: int = 0
    offset: int = 0
    hidden: int = 0
    unsure: int = 0
    skip: int = 0
    scanning: int = 0
    gap: int = 0
    phase: int = CLEAR
    sequence: int = 0
    sure: int = 0
    slack: int = 0
    tried: int = 0
    failed: int = 0
    secrets: int = 0
    kind: int = 0
    left: int = 0
    partial: int = 0
    partial_octets: int = 0
    nonce: int = 0
    nonces: int = 0
    records: int = 0
    opened: int = 0
    cleared: int = 0
    lost: int = 0
    closed: int = 0
    closed_order: int = 0
    fatal: int = 0
    anew: int = 0
    midway: int = 0
    reached: int = 0
    held: bytes = b""
    body: bytes = b""
    given: Given = field(default_factory=Given)
    events: list[tuple[int, int, str, int, str | None]] = field(default_factory=list)
    """Where what happened begins and ends in the octets below, what it is, octets, detail."""

    blocked: bool = False
    other: Direction | None = None
    patient: bool = False
    """Whether more may come of the other side."""

    _pieces: Iterator[tuple[int, bytes]] = field(default_factory=lambda: iter(()))
    _fresh: bool = True
    _hint: tuple[int, int, int] | None = None
    """The phase and number of the next record, as a smaller one behind it tells, and how many are to come up to that."""

    _begins: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    _ends: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    """Where the records that are looked at begin and end in the octets below."""

    _changes: list[int] = field(default_factory=list)
    """Which of them are ChangeCipherSpecs."""

    _base: int = 0
    _at: int = 0
    """Where what is held, and where the record that is looked at, begin in the octets below."""

    @property
    def unopened(self) -> int:
        """Records that were not read, or never came."""
        return self.records - self.opened - self.cleared + self.lost

    def kept(self) -> tuple[I64, dict[str, np.ndarray[Any, Any]]]:
        """What is kept of it: numbers, and octets as they were on the wire."""
        body = self.body if self.phase == CLEAR else b""
        octets = {f"held {self.side}": np.frombuffer(self.held, np.uint8), f"hello {self.side}": np.frombuffer(body, np.uint8)}
        return np.array([int(getattr(self, name)) for name in NUMBERS], np.int64), octets

    def tell(self, end: int, kind: str, octets: int = 0, detail: str | None = None) -> None:
        """Note what the record that is looked at said."""
        self.events.append((self._at, end, kind, octets, detail))

    def suite(self) -> Suite | None:
        """The suite, if it is known and read."""
        code = self.connection.suite
        return None if code is None else (SUITES_1_3 if self.connection.version == TLS_1_3 else SUITES_1_2).get(code)

    def overhead(self, suite: Suite) -> int:
        """What a record has beyond what it carries, at least."""
        if self.connection.version == TLS_1_3:
            return suite.tag + 1
        return {"GCM": 8 + suite.tag, "CCM": 8 + suite.tag, CBC: 16 + 20 + 1}.get(suite.kind, suite.tag)
