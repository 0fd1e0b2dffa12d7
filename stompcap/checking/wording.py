"""Sentences that the formats share."""

from __future__ import annotations

from stompcap.checking.verdict import FAILED, NOT_JUDGED, PASSED, Example, Finding, RuleVerdict, Verdict
from stompcap.units import count, counted, stamp
from stompcap.visible import visible


def rates(one: RuleVerdict) -> str:
    """How often a rule was tried, and what came of it."""
    unclear = f", {count(one.not_evaluable)} not evaluable" if one.not_evaluable else ""
    return f"{count(one.failed)} failed of {count(one.tried)} tried{unclear}"


def needs(one: RuleVerdict) -> str:
    """Why a rule is not judged."""
    return f"needs {one.needs}" + (f" ({count(one.not_evaluable)} not evaluable)" if one.not_evaluable else "")


def location(example: Example) -> str:
    """Where an example is: capture, packet, stream, time. Safe to show."""
    packet = f"packet {example.packet} of {visible(example.capture or '')}" if example.packet is not None else "no packet"
    return f"{packet}, stream {example.stream_id}, {stamp(example.ts_ns, 6)}"


def summary(verdict: Verdict, side: str) -> str:
    """How many rules of a side have each status."""
    counts = verdict.counted(side)
    return f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[NOT_JUDGED]} not judged"


def peers(verdict: Verdict) -> list[str]:
    """Who spoke to whom."""
    return [
        f"{counted(one.sessions, 'session')}: {visible(one.client or 'unknown client', 60)} to "
        f"{visible(one.server or 'unknown broker', 60)}, STOMP {one.version or '?'}"
        for one in verdict.peers
    ]


def mark(verdict: Verdict, one: RuleVerdict) -> str:
    """FAIL where a finding counts, known where the baseline has those that would, else the level."""
    if any(verdict.counts(finding) for finding in one.findings):
        return "FAIL"
    return "known" if any(finding.known for finding in one.findings) else "milder"


def title(finding: Finding) -> str:
    """A finding in a few words."""
    what = f" with {finding.command}" if finding.command else ""
    return f"{counted(finding.count, 'time')}{what}" + (", in the baseline" if finding.known else "")


def quoted(one: RuleVerdict) -> str | None:
    """What the specification says, as a quotation."""
    return f'STOMP 1.2: "{one.quotation}"' if one.quotation else None


def failure_lines(verdict: Verdict, one: RuleVerdict) -> list[str]:
    """A rule that failed, in lines: its clause and address, then each finding that counts with its examples."""
    lines = [f"clause: {one.rule.clause}", *filter(None, [quoted(one), one.url])]
    for finding in one.findings:
        if verdict.counts(finding):
            lines.append(title(finding))
            for example in finding.examples:
                lines += [f"- {example.evidence}", f"  {location(example)}", *([f"  {example.frame}"] if example.frame is not None else [])]
    return lines
