"""A verdict as SARIF 2.1.0 (OASIS), as code scanning reads it: a result for each finding, its first example as location.

A finding of the baseline is `unchanged`, another `new`; the coverage of each rule is in the properties of the run.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from stompcap.checking import clauses, wording
from stompcap.checking.verdict import Example, Finding, RuleVerdict, Verdict
from stompcap.rules.quotations import QUOTATIONS
from stompcap.rules.record import Rule
from stompcap.tables.levels import spelled
from stompcap.version import version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"MUST": "error", "SHOULD": "warning", "INFO": "note"}


def written(verdict: Verdict) -> str:
    """The text; ends in a newline."""
    rules = list({one.rule.id: one.rule for one in verdict.rules}.values())
    index = {rule.id: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "stompcap", "version": version(), "rules": [_rule(rule) for rule in rules]}},
        "invocations": [{
            "executionSuccessful": bool(not verdict.refused and (verdict.judged or verdict.allow_empty)),
            "toolExecutionNotifications": [
                *({"level": "error", "message": {"text": line}} for line in verdict.refused),
                {"level": "note" if verdict.ok else "error", "message": {"text": verdict.conclusion}},
            ],
        }],
        "artifacts": [{"location": {"uri": uri(path)}} for path in verdict.captures],
        "results": [_result(verdict, one, finding, index) for one in verdict.rules for finding in one.findings],
        "columnKind": "unicodeCodePoints",
        "properties": {"coverage": [
            {"rule": one.rule.id, "side": one.side, "status": one.status.replace(" ", "_"), "tried": one.tried} for one in verdict.rules
        ]},
    }  # fmt: skip
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def uri(path: str) -> str:
    """A file's name as a URI reference (RFC 3986)."""
    return quote(path.encode(errors="surrogateescape"), safe="/:@!$&'()*+,;=-._~") if "://" not in path else quote(path, safe="/:@%?=&")


def _rule(rule: Rule) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": " ".join(filter(None, (rule.explanation, rule.pitfalls, f"Clause: {rule.clause}.", QUOTATIONS.get(rule.id))))},
        "defaultConfiguration": {"level": next(level for name, level in LEVELS.items() if name in spelled(rule.level_text))},
        "properties": {"side": rule.side, "level": spelled(rule.level_text)},
    }
    address = clauses.url(rule)
    return found | {"helpUri": address} if address else found


def _result(verdict: Verdict, one: RuleVerdict, finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    example = finding.examples[0]
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": index[finding.rule_id],
        "level": LEVELS[finding.level],
        "message": {"text": f"{finding.side}: {example.evidence} ({wording.title(finding)}; {wording.rates(one)})"},
        "locations": [_location(example)],
        "relatedLocations": [_location(other) for other in finding.examples[1:]],
        "occurrenceCount": finding.count,
        "partialFingerprints": {"stompcap/v1": finding.fingerprint},
        "baselineState": "unchanged" if finding.known else "new",
        "properties": {"side": finding.side, "counts": verdict.counts(finding), "command": finding.command},
    }


def _location(example: Example) -> dict[str, Any]:
    """A place in a capture: code scanning asks for a line, a capture has none, so it is the first."""
    where: dict[str, Any] = {"message": {"text": " ".join(filter(None, (wording.location(example), example.frame)))}}
    if example.capture is not None:
        where["physicalLocation"] = {"artifactLocation": {"uri": uri(example.capture)}, "region": {"startLine": 1}}
    name = f"{example.stream_id}/{example.direction}/{example.offset}"
    return where | {"logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}]}
