"""What became of cases: counts, and objects for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stompcap.active.engine import FAILED, NOT_JUDGED, PASSED, Result

LEVELS = ("MUST", "SHOULD", "INFO")
OUTCOMES = (PASSED, FAILED, NOT_JUDGED)


def counts(results: Sequence[Result]) -> dict[str, int]:
    """How many cases have each outcome."""
    found = Counter(result.outcome for result in results)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def failed(results: Sequence[Result], level: str) -> list[Result]:
    """The cases that failed, at that level or above."""
    which = LEVELS[: LEVELS.index(level) + 1]
    return [result for result in results if result.outcome == FAILED and result.case.level in which]


def as_object(result: Result) -> dict[str, Any]:
    """A result for JSON; octets of the proof as Latin-1, so that each is a character."""
    case = result.case
    return {
        "case": case.name, "rules": list(case.rules), "level": case.level, "version": case.version, "must": case.must,
        "clause": case.clause, "outcome": result.outcome, "reason": result.reason, "seconds": round(result.seconds, 3),
        "proof": [{"from": "peer" if theirs else "stompcap", "octets": octets.decode("latin-1")} for theirs, octets in result.proof],
    }  # fmt: skip
