"""The verdict on some traffic: per rule and side what was tried, what broke it, where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from stompcap.checking import clauses
from stompcap.rules.quotations import QUOTATIONS
from stompcap.rules.record import Rule
from stompcap.tables.levels import SPELLED, spelled
from stompcap.tables.words import SIDES
from stompcap.units import counted

LEVELS = tuple(SPELLED.values())
"""Strictest first."""

PASSED, FAILED, NOT_JUDGED = STATUSES = ("passed", "failed", "not judged")


@dataclass(frozen=True)
class Example:
    """One place where a rule was broken: the packet that completed it, or the last before it; `frame` is its octets as escaped text.

    `direction` is who sent it, c2s or s2c, `offset` its place in what that side sent, `ts_ns` its time, nanoseconds since 1970.
    """

    evidence: str
    capture: str | None
    packet: int | None
    stream_id: str
    client: str
    server: str
    direction: str | None
    offset: int | None
    ts_ns: int | None
    version: str | None
    frame: str | None


@dataclass(frozen=True)
class Finding:
    """All places where a rule was broken alike: by one side, at one level, with one command (None: not with a frame)."""

    rule_id: str
    side: str
    level: str
    command: str | None
    count: int
    examples: tuple[Example, ...]
    known: bool = False
    """Whether the baseline has it."""

    @property
    def fingerprint(self) -> str:
        """What tells it from others, the same in every run."""
        return " ".join((self.rule_id, self.level, self.side, self.command or "-"))


@dataclass(frozen=True)
class RuleVerdict:
    """One rule, as one side kept it: `tried` are its occasions, of which the capture could not judge `not_evaluable`."""

    rule: Rule
    side: str
    tried: int
    passed: int
    not_evaluable: int
    needs: str
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> int:
        """How often it was broken."""
        return sum(finding.count for finding in self.findings)

    @property
    def status(self) -> str:
        """Of PASSED, FAILED, NOT_JUDGED: a rule that nothing tried, or that the capture could not judge, is not judged."""
        return FAILED if self.findings else PASSED if self.passed else NOT_JUDGED

    @property
    def level(self) -> str:
        """The strictest level at which it was broken, else that of the catalogue: of several the strictest."""
        texts = [finding.level for finding in self.findings] or [spelled(self.rule.level_text)]
        return next(level for level in LEVELS if any(level in text for text in texts))

    @property
    def quotation(self) -> str | None:
        """The sentence of STOMP 1.2 that it is about, where one says it."""
        return QUOTATIONS.get(self.rule.id)

    @property
    def url(self) -> str | None:
        """Where its clause can be read: in the version of the first example."""
        return clauses.url(self.rule, next((example.version for finding in self.findings for example in finding.examples), None))


@dataclass(frozen=True)
class Peers:
    """Sessions between the same products, in the same version; None where the traffic does not tell."""

    client: str | None
    server: str | None
    version: str | None
    sessions: int


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    captures  the files that were read
    refused   why others could not be read
    remarks   what limits the verdict, or was passed over
    side      whose rules it is about: client, server or both
    level     the mildest level at which a finding counts
    rules     per rule and side, in the catalogue's order
    frames    how many each side sent
    gone      fingerprints of the baseline that were not found
    allow_empty: it may be that nothing was judged
    """

    side: str
    level: str
    captures: Sequence[str] = ()
    refused: Sequence[str] = ()
    remarks: Sequence[str] = ()
    rules: Sequence[RuleVerdict] = ()
    peers: Sequence[Peers] = ()
    frames: Mapping[str, int] = field(default_factory=dict)
    gone: Sequence[str] = ()
    allow_empty: bool = False

    @property
    def sessions(self) -> int:
        """How many sessions were judged."""
        return sum(one.sessions for one in self.peers)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides it is about."""
        return SIDES if self.side == "both" else (self.side,)

    def of(self, status: str) -> list[RuleVerdict]:
        """The rules with a status."""
        return [one for one in self.rules if one.status == status]

    @cached_property
    def findings(self) -> list[Finding]:
        """All findings, at any level."""
        return [finding for one in self.rules for finding in one.findings]

    @cached_property
    def new(self) -> list[Finding]:
        """The findings that count: at the level or above it, and not in the baseline."""
        return [finding for finding in self.findings if self.counts(finding)]

    def counts(self, finding: Finding) -> bool:
        """Whether a finding makes the check fail."""
        return not finding.known and LEVELS.index(finding.level) <= LEVELS.index(self.level)

    @property
    def judged(self) -> int:
        """How many rules were passed or failed."""
        return len(self.rules) - len(self.of(NOT_JUDGED))

    @property
    def ok(self) -> bool:
        """Whether something was judged, all inputs were read, and no finding counts."""
        return bool(self.judged or self.allow_empty) and not self.refused and not self.new

    def counted(self, side: str) -> dict[str, int]:
        """How many rules of a side have each status."""
        counts = Counter(one.status for one in self.rules if one.side == side)
        return {status: counts[status] for status in STATUSES}

    @property
    def conclusion(self) -> str:
        """The verdict in a line."""
        above = "" if self.level == LEVELS[0] else " or above"
        known = sum(finding.known for finding in self.findings)
        if self.new:
            since = f"; {counted(known, 'other')} in the baseline" if known else ""
            return f"failed: {counted(len(self.new), 'finding')} at {self.level}{above}{since}"
        if self.refused:
            return "incomplete: an input could not be read"
        if not self.sessions:
            return "nothing was judged: no session of STOMP was found"
        if not self.judged:
            return f"nothing was judged: nothing was tried that a {self.side} must obey"
        tried = f"{self.judged} of {counted(len(self.rules), 'rule')} were judged"
        return f"passed: no {'new ' if known else ''}finding at {self.level}{above}; {tried}"

    def __str__(self) -> str:
        """The conclusion and what counts, for the message of an assertion."""
        lines = [f"check {self.conclusion}"]
        for finding in self.new:
            example = finding.examples[0]
            lines.append(f"  {finding.fingerprint} ({finding.count}): {example.evidence} (packet {example.packet}) {example.frame or ''}")
        return "\n".join(lines)
