"""The catalogue for people at a terminal: one line a rule, or one rule in full."""

from __future__ import annotations

import difflib
import textwrap

from stompcap.errors import UsageError
from stompcap.rules.catalogue import BY_ID, in_force
from stompcap.rules.record import Rule
from stompcap.settings import Settings
from stompcap.tables.levels import spelled

WIDTH = 100
UNPROVABLE = "No capture can prove it broken, so it is passed or not evaluable."
OBSERVED = {
    "F": "one frame",
    "H": "the headers of one frame",
    "S": "the session before it",
    "T": "times",
    "X": "more than one session",
    "L": "a layer between TCP and STOMP",
}


def list_rules(settings: Settings | None = None) -> str:
    """All rules, a line each: id, level in force, versions, side, title; ends in a newline."""
    head = ("rule", "level", "versions", "side", "title")
    lines = [head, *((r.id, spelled(r.level_text), ",".join(r.versions), r.side, r.title) for r in in_force(settings or Settings()))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    padded = ("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines)
    return "".join(line.rstrip() + "\n" for line in padded)


def find_rule(rule_id: str) -> Rule:
    """The rule of that id, in any case; UsageError with the nearest ids where there is none."""
    exact = {known.upper(): known for known in BY_ID}
    wanted = rule_id.strip().upper()
    if wanted in exact:
        return BY_ID[exact[wanted]]
    near = [exact[name] for name in difflib.get_close_matches(wanted, exact, n=3)]
    hint = f"did you mean {', '.join(near)}?" if near else "`stompcap rules list` shows them all"
    raise UsageError(f"there is no rule {rule_id}: {hint}")


def explain_rule(rule_id: str, settings: Settings | None = None) -> str:
    """One rule in full, with its examples; UsageError where there is none of that id."""
    found = find_rule(rule_id)
    rule = next(r for r in in_force(settings or Settings()) if r.id == found.id)
    parts = [
        f"{rule.id}  {rule.title}",
        "\n".join([
            f"level      {spelled(rule.level_text)}",
            f"versions   {', '.join(rule.versions)}",
            f"applies to {'client and server' if rule.side == 'both' else rule.side}",
            f"needs      {OBSERVED[rule.observed]}",
            f"clause     {rule.clause}",
        ]),
        textwrap.fill(rule.explanation, WIDTH),
        *([textwrap.fill(f"Pitfalls: {rule.pitfalls}", WIDTH)] if rule.pitfalls else []),
        example("breaks it", rule.breaks) if rule.breaks else UNPROVABLE,
        example("keeps it", rule.keeps),
    ]
    return "\n\n".join(parts) + "\n"


def example(caption: str, transcript: str) -> str:
    """A transcript under its caption, indented."""
    return f"{caption}:\n{textwrap.indent(transcript, '    ')}"
