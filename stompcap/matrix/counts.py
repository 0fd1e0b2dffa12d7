"""What a matrix is made of: a few rows for each rule and product, whatever the number of sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Key = tuple[str | None, ...]
"""Values of the columns by which sessions are told apart."""

MOST_OCTETS = 256
"""Of a frame that is shown as proof."""


@dataclass(frozen=True)
class Judged:
    """Occasions on which a product's side was judged by a rule, and in how many sessions; `shared`: those of its peers are among them."""

    occasions: int
    sessions: int
    shared: bool = False


@dataclass(frozen=True)
class Broken:
    """How often a product broke a rule at a level, in how many sessions, and the first of these findings."""

    findings: int
    sessions: int
    first: dict[str, Any]
    """The row of compliance_findings, with `raw`, `packet` and `capture` of its frame, which may be None."""


@dataclass
class Counts:
    """All of it, by product; `versions` are those of the protocol, with their sessions. `unnamed` are sessions without a name to go by."""

    versions: dict[Key, dict[str | None, int]] = field(default_factory=dict)
    judged: dict[tuple[str, Key], Judged] = field(default_factory=dict)
    broken: dict[tuple[str, str, Key], Broken] = field(default_factory=dict)
    unnamed: int = 0
