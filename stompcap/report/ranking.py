"""The order of broken rules: in the report's list, its first remark and the summary on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def ranked(rules: Iterable[Row]) -> list[Row]:
    """Rows of the query `rules`, most MUST findings first, then most SHOULD findings, then most findings of any level."""
    return sorted(rules, key=lambda row: (-row["musts"], -row["shoulds"], -row["failed"], row["rule_id"]))


def worst(rule: Row) -> str | None:
    """The highest level among a rule's findings, M, S or I; None where there are none."""
    return "M" if rule["musts"] else "S" if rule["shoulds"] else "I" if rule["failed"] else None
