"""Which lines of a dialogue are wanted, as display filters select packets in tshark.

Values of one option are alternatives, options together must all hold. A command, a destination and a rule select frames; without them
all lines of the streams are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stompcap.cli.dialogue.lines import Dialogue, Line
from stompcap.errors import UsageError
from stompcap.visible import visible

DIGITS = re.compile(r"[0-9a-f]{1,20}")


@dataclass(frozen=True)
class Selection:
    """Commands in upper case, destinations as they are, first digits of stream ids, rule ids; none means any."""

    commands: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def frames_only(self) -> bool:
        """Whether it selects frames, and not whole sessions."""
        return bool(self.commands or self.destinations or self.rules)

    def takes(self, line: Line) -> bool:
        """Whether a line is wanted, whatever its stream."""
        if not self.frames_only:
            return True
        if self.rules and not any(finding["rule_id"] in self.rules for finding in line.findings):
            return False
        if self.commands and (line.command or "").upper() not in self.commands:
            return False
        return not self.destinations or (line.frame is not None and line.frame["destination"] in self.destinations)

    def of(self, dialogue: Dialogue) -> Dialogue | None:
        """What is wanted of a session; None if nothing is."""
        if self.streams and not dialogue.stream_id.startswith(self.streams):
            return None
        if not self.frames_only:
            return dialogue
        lines = [line for line in dialogue.lines if self.takes(line)]
        return replace(dialogue, lines=lines) if lines else None


def selection(
    commands: list[str] | None, destinations: list[str] | None, streams: list[str] | None, rules: list[str] | None
) -> Selection:
    """A selection as options give it; raises UsageError for what is no stream id and no rule."""
    digits = tuple(text.strip().lower() for text in streams or ())
    for text in digits:
        if not DIGITS.fullmatch(text):
            raise UsageError(f"--stream {visible(text, 40)}: not a stream id, nor the beginning of one; an id is 20 digits of 0-9 and a-f")
    named = tuple(text.strip().upper() for text in rules or ())
    if named:
        from stompcap.rules import RULES  # which takes long to import

        for text in set(named) - {rule.id for rule in RULES}:
            raise UsageError(f"--rule {visible(text, 40)}: no such rule; list them with: stompcap rules list")
    return Selection(tuple(text.upper() for text in commands or ()), tuple(destinations or ()), digits, named)
