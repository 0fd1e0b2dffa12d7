"""The order of broken rules: in the report's list, its first remark and the summary on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stompcap.tables.words import LEVELS

Row = dict[str, Any]


def ranked(broken: Iterable[Row]) -> list[Row]:
    """Rows of the query `broken`, one for each rule, level and side: MUST first, then SHOULD, then the most findings."""
    return sorted(broken, key=lambda row: (LEVELS.index(row["level"]), -row["findings"], row["rule_id"], row["side"]))
