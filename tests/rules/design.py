"""The design's catalogue of rules, read from beside the project; what needs it is skipped where it is absent."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.shared import shared


class Row(NamedTuple):
    """One rule: versions as digits (012), side and level as letters, what it takes to judge it."""

    id: str
    versions: str
    side: str
    level: str
    observed: str
    rule: str
    pitfalls: str


def catalogue() -> list[Row]:
    """All rows in order; a `|` in the last cell is part of it."""
    lines = shared("design/stomp-rules.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip().removeprefix("|").removesuffix("|").split("|", 6) for line in lines if re.match(r"\|[A-Z]{2}-\d\db?\|", line)]
    return [Row(*(cell.strip() for cell in row)) for row in cells]
