"""A verdict as annotations of GitHub: workflow commands, one a line, which a step prints on its standard output.

Escapes are those of actions/toolkit, packages/core/src/command.ts: % CR LF in a message, : and , in a property as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from stompcap.checking import wording
from stompcap.checking.verdict import LEVELS, Finding, RuleVerdict, Verdict
from stompcap.visible import visible

KINDS = {"MUST": "error", "SHOULD": "warning", "INFO": "notice"}


def written(verdict: Verdict) -> str:
    """The text; ends in a newline."""
    return "".join(f"{line}\n" for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    found = [(one, finding) for one in verdict.rules for finding in one.findings if not finding.known]
    for one, finding in sorted(found, key=lambda pair: (not verdict.counts(pair[1]), LEVELS.index(pair[1].level))):
        yield _annotation(verdict, one, finding)
    for line in verdict.refused:
        yield f"::error title=stompcap check::{message(line)}"
    summaries = "; ".join(f"{side}: {wording.summary(verdict, side)}" for side in verdict.sides)
    yield f"::{'notice' if verdict.ok else 'error'} title=stompcap check::{message(f'{verdict.conclusion}; {summaries}')}"


def _annotation(verdict: Verdict, one: RuleVerdict, finding: Finding) -> str:
    """A finding; one that does not count is a notice, whatever its level."""
    example = finding.examples[0]
    kind = KINDS[finding.level] if verdict.counts(finding) else "notice"
    where = f"file={value(visible(example.capture))}," if example.capture is not None else ""
    name = value(f"{finding.rule_id} {finding.level} {finding.side}: {one.rule.title}")
    parts = [example.evidence, f"{wording.title(finding)}; {wording.rates(one)}", wording.location(example), example.frame, one.url]
    return f"::{kind} {where}title={name}::{message(chr(10).join(part for part in parts if part))}"


def message(text: str) -> str:
    """A message with its escapes."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def value(text: str) -> str:
    """The value of a property with its escapes."""
    return message(text).replace(":", "%3A").replace(",", "%2C")
