"""The gates of `--fail-on`: what of a report makes its command end with code 1.

Of a report that is compared they go by what is new: incidents that there were not before, rules that were
not broken before or are broken more often for sure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stompcap.report.changes import Changes
from stompcap.tables.levels import spelled
from stompcap.units import counted

Rows = list[dict[str, Any]]

INCIDENTS = {"critical": ("critical",), "warning": ("critical", "warning")}
FINDINGS = {"must": ("M",), "should": ("M", "S")}


def tripped(gates: Iterable[str], answers: Mapping[str, Rows], changes: Changes | None = None) -> list[str]:
    """In words, what of a part's answers trips these gates."""
    return [f"{gate}: {found}" for gate in dict.fromkeys(gates) if (found := _of(gate, answers, changes))]


def _of(gate: str, answers: Mapping[str, Rows], changes: Changes | None) -> str:
    if gate in INCIDENTS:
        levels = INCIDENTS[gate]
        if changes is None:
            numbers = {row["level"]: row["number"] for row in answers.get("incident_levels", [])}
        else:
            numbers = {level: sum(row["level"] == level for _, row in changes.new) for level in levels}
        words = ", ".join(counted(numbers[level], f"{level} incident") for level in levels if numbers.get(level))
        return words and (words if changes is None else f"{words} not there before")
    if gate in FINDINGS:
        if changes is not None:
            rules = [one.subject for one in changes.broken if any(f" {spelled(level)}," in one.subject for level in FINDINGS[gate])]
            return f"broken more often than before: {'; '.join(rules)}" if rules else ""
        found = {level: sum(row["findings"] for row in answers.get("levels", []) if row["level"] == level) for level in FINDINGS[gate]}
        return ", ".join(counted(number, f"{spelled(level)} finding") for level, number in found.items() if number)
    failing = next((row["failing"] for row in answers.get("quality", [])), 0)
    return f"{counted(failing, 'data quality check')} failed" if failing else ""
