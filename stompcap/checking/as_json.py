"""A verdict as JSON: the form for programs, and that of a baseline. docs/check.md says what it has."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from stompcap.checking.verdict import STATUSES, Finding, RuleVerdict, Verdict
from stompcap.version import version

FORM = 1
"""Rises where a field comes to mean something else; new fields alone do not raise it."""


def written(verdict: Verdict) -> str:
    """The text; ends in a newline."""
    return json.dumps(as_object(verdict), indent=2, ensure_ascii=True) + "\n"


def as_object(verdict: Verdict) -> dict[str, Any]:
    """The object that is written."""
    return {
        "form": FORM,
        "stompcap": version(),
        "ok": verdict.ok,
        "side": verdict.side,
        "level": verdict.level,
        "sessions": verdict.sessions,
        "judged": verdict.judged,
        "new": len(verdict.new),
        "captures": list(verdict.captures),
        "refused": list(verdict.refused),
        "remarks": list(verdict.remarks),
        "frames": dict(verdict.frames),
        "peers": [asdict(one) for one in verdict.peers],
        "summary": {side: {name.replace(" ", "_"): verdict.counted(side)[name] for name in STATUSES} for side in verdict.sides},
        "gone": list(verdict.gone),
        "rules": [_rule(verdict, one) for one in verdict.rules],
    }


def _rule(verdict: Verdict, one: RuleVerdict) -> dict[str, Any]:
    return {
        "rule": one.rule.id,
        "side": one.side,
        "level": one.level,
        "title": one.rule.title,
        "clause": one.rule.clause,
        "url": one.url,
        "quotation": one.quotation,
        "status": one.status.replace(" ", "_"),
        "tried": one.tried,
        "passed": one.passed,
        "failed": one.failed,
        "not_evaluable": one.not_evaluable,
        "needs": one.needs,
        "findings": [_finding(verdict, finding) for finding in one.findings],
    }


def _finding(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    return {
        "fingerprint": finding.fingerprint,
        "level": finding.level,
        "command": finding.command,
        "count": finding.count,
        "known": finding.known,
        "counts": verdict.counts(finding),
        "examples": [asdict(example) for example in finding.examples],
    }
