"""Which lines of a dialogue are wanted, as display filters select packets in tshark.

Values of one option are alternatives, options together must all hold. A stream, a login, a client and a port select sessions; what else is
asked selects frames; without it all lines of the sessions are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stompcap.cli.dialogue.lines import Dialogue, Line, Row
from stompcap.cli.moments import microseconds, nanoseconds
from stompcap.errors import UsageError
from stompcap.tables.levels import SPELLED
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.cli.dialogue_options import Frames, Sessions

DIGITS = re.compile(r"[0-9a-f]{1,20}")
SLOW_US = 1_000_000
"""What is slow where nobody says it."""

NOT_SETTLED = ("unsettled", "voided")
BAD_KINDS = ("gap", "junk", "partial", "silence")
LEVELS = ("M", "S", "I")
"""The gravest first."""


@dataclass(frozen=True)
class Selection:
    """What is wanted; empty means any.

    commands in upper case, destinations as they are, first digits of stream ids, rule ids; `level`: findings of this level and graver ones;
    `without`: rules whose findings are not shown; `only` is a word of ONLY; `begin` and `end` are nanoseconds;
    `places`: directions and offsets of frames that incidents of the lake name
    """

    commands: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    level: str | None = None
    only: str | None = None
    slower_us: float | None = None
    begin: int | None = None
    end: int | None = None
    pattern: str | None = None
    places: frozenset[tuple[str, int]] = frozenset()

    @property
    def frames_only(self) -> bool:
        """Whether it selects frames, and not whole sessions."""
        asked = (self.level, self.only, self.slower_us, self.begin, self.end, self.pattern)
        return bool(self.commands or self.destinations or self.rules) or any(one is not None for one in asked)

    def shows(self, finding: Row) -> bool:
        """Whether a finding is wanted."""
        grave = self.level is None or LEVELS.index(finding["level"]) <= LEVELS.index(self.level)
        return grave and finding["rule_id"] not in self.without

    def takes_session(self, dialogue: Dialogue) -> bool:
        """Whether a session is wanted, whatever its lines."""
        session = dialogue.session
        names = tuple(session[name] for name in ("client_ip", "origin_ip", "client_id", "client_product", "user_agent"))
        return (
            (not self.streams or dialogue.stream_id.startswith(self.streams))
            and (not self.logins or session["login"] in self.logins)
            and (not self.clients or any(name in self.clients for name in names if name))
            and (not self.ports or session["client_port"] in self.ports or session["server_port"] in self.ports)
        )

    def takes(self, line: Line) -> bool:
        """Whether a line is wanted, whatever its stream; its findings are those that are wanted."""
        if not self.frames_only:
            return True
        if (self.rules or self.level) and not any(not self.rules or one["rule_id"] in self.rules for one in line.findings):
            return False
        if self.commands and (line.command or "").upper() not in self.commands:
            return False
        if self.destinations and (line.frame is None or line.frame["destination"] not in self.destinations):
            return False
        if (self.begin is not None or self.end is not None) and not self._in_time(line):
            return False
        if self.slower_us is not None and self.only != "slow" and not (line.latency_us or 0) >= self.slower_us:
            return False
        if self.only is not None and not (ONLY[self.only](line, self.slower_us or SLOW_US) or (line.direction, line.offset) in self.places):
            return False
        return self.pattern is None or re.search(self.pattern, _said(line)) is not None

    def of(self, dialogue: Dialogue) -> Dialogue | None:
        """What is wanted of a session; None if nothing is."""
        if not self.takes_session(dialogue):
            return None
        if self.level or self.without:
            dialogue = replace(
                dialogue, findings=[*filter(self.shows, dialogue.findings)], lines=[self.shown(line) for line in dialogue.lines]
            )
        if not self.frames_only:
            return dialogue
        lines = [line for line in dialogue.lines if self.takes(line)]
        return replace(dialogue, lines=lines) if lines else None

    def shown(self, line: Line) -> Line:
        """A line with the findings that are wanted."""
        return replace(line, findings=tuple(filter(self.shows, line.findings))) if line.findings else line

    def _in_time(self, line: Line) -> bool:
        return line.ns is not None and (self.begin is None or line.ns >= self.begin) and (self.end is None or line.ns < self.end)


def _wrong(line: Line, _: float) -> bool:
    """What an incident is made of."""
    if line.command == "ERROR" or line.kind in BAD_KINDS or line.status in NOT_SETTLED:
        return True
    return "RST" in line.note or any(one["level"] == "M" for one in line.findings)


ONLY: dict[str, Callable[[Line, float], bool]] = {
    "findings": lambda line, _: bool(line.findings),
    "errors": lambda line, _: line.command == "ERROR",
    "slow": lambda line, slow: (line.latency_us or 0) >= slow,
    "unsettled": lambda line, _: line.status in NOT_SETTLED,
    "incidents": _wrong,
}
"""Words of --only: which lines they select; the number is that of --slower-than."""


def _said(line: Line) -> str:
    """All that a line says, for --grep."""
    frame = line.frame or {}
    headers = (f"{one['name']}:{one['value']}" for one in frame.get("headers") or ())
    found = (one["evidence"] or "" for one in line.findings)
    return "\n".join((line.command or line.kind, *headers, frame.get("body_preview") or "", line.note, *found))


def selection(frames: Frames, sessions: Sessions | None = None) -> Selection:
    """A selection as options give it; raises UsageError for what is no stream id, rule, level, time or pattern."""
    digits = tuple(text.strip().lower() for text in (sessions.stream if sessions else None) or ())
    for text in digits:
        if not DIGITS.fullmatch(text):
            raise UsageError(f"--stream {visible(text, 40)}: not a stream id, nor the beginning of one; an id is 20 digits of 0-9 and a-f")
    if frames.only is not None and frames.only not in ONLY:
        raise UsageError(f"--only {visible(frames.only, 40)}: must be one of {', '.join(ONLY)}")
    return Selection(
        tuple(text.upper() for text in frames.command or ()), tuple(frames.destination or ()), digits, _rules("--rule", frames.rule),
        tuple((sessions.login if sessions else None) or ()), tuple((sessions.client if sessions else None) or ()),
        tuple((sessions.port if sessions else None) or ()), _rules("--not-rule", frames.not_rule), _level(frames.level), frames.only,
        None if frames.slower_than is None else microseconds("--slower-than", frames.slower_than),
        None if frames.begin is None else nanoseconds("--from", frames.begin),
        None if frames.end is None else nanoseconds("--to", frames.end), _pattern(frames.grep),
    )  # fmt: skip


def _rules(option: str, rules: list[str] | None) -> tuple[str, ...]:
    named = tuple(text.strip().upper() for text in rules or ())
    if named:
        from stompcap.rules import RULES  # which takes long to import

        for text in set(named) - {rule.id for rule in RULES}:
            raise UsageError(f"{option} {visible(text, 40)}: no such rule; list them with: stompcap rules list")
    return named


def _level(text: str | None) -> str | None:
    if text is None:
        return None
    for letter, word in SPELLED.items():
        if text.strip().upper() in (letter, word):
            return letter
    raise UsageError(f"--level {visible(text, 40)}: must be one of {', '.join(SPELLED.values())}")


def _pattern(text: str | None) -> str | None:
    try:
        if text is not None:
            re.compile(text)
    except re.error as error:
        raise UsageError(f"--grep {visible(text or '', 40)}: {error}; a regular expression of Python is expected") from error
    return text
