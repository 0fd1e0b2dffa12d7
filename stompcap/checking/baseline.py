"""The baseline: findings that are known, so that a check fails on new ones alone. It is an earlier check's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stompcap.checking.verdict import RuleVerdict
from stompcap.errors import UsageError
from stompcap.visible import visible

REMEDY = "write one with: stompcap check TRACE... --format json -o FILE"


def read(path: str) -> frozenset[str]:
    """The fingerprints of a baseline; raises UsageError where the file is none."""
    shown = visible(path)
    try:
        found = json.loads(Path(path).read_bytes())
        return frozenset(str(finding["fingerprint"]) for rule in found["rules"] for finding in rule["findings"])
    except OSError as error:
        raise UsageError(f"--baseline {shown}: {error.strerror}; {REMEDY}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"--baseline {shown}: is not the JSON of a check; {REMEDY}") from error


def marked(rules: Sequence[RuleVerdict], known: frozenset[str]) -> list[RuleVerdict]:
    """Rules with their findings marked that a baseline has."""
    return [
        replace(one, findings=tuple(replace(finding, known=finding.fingerprint in known) for finding in one.findings)) for one in rules
    ]


def gone(rules: Sequence[RuleVerdict], known: frozenset[str], sides: Sequence[str]) -> list[str]:
    """What a baseline has of these sides, and the rules do not."""
    found = {finding.fingerprint for one in rules for finding in one.findings}
    return sorted(one for one in known - found if any(f" {side} " in one for side in sides))
