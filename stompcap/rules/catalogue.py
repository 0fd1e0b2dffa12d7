"""The catalogue: all rules, in the order of their ids' families, and as the table `rules`.

Each package below this one is a family of rules. The chapters in its modules are found here, so that a rule is added in one file.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from stompcap.rules.record import Chapter, Rule
from stompcap.settings import Settings, load
from stompcap.tables.gold import RULES as TABLE

FAMILIES = ("FR", "CN", "HB", "SN", "SB", "MS", "AK", "TX", "RC", "ER", "DS", "TR")
"""Framing, connecting, heart-beats, SEND, SUBSCRIBE, MESSAGE, ACK, transactions, RECEIPT, ERROR, DISCONNECT, the layers below STOMP."""


def _order(rule: Rule) -> tuple[int, str]:
    family, number = re.fullmatch(r"([A-Z]{2})-(\d\d[a-z]?)", rule.id).groups()  # type: ignore[union-attr]
    return FAMILIES.index(family), number


def _chapters() -> Iterator[Chapter]:
    """The chapters in the modules of all packages below this one."""
    for family in pkgutil.iter_modules(sys.modules["stompcap.rules"].__path__, "stompcap.rules."):
        if not family.ispkg:
            continue
        for module in pkgutil.iter_modules(importlib.import_module(family.name).__path__, f"{family.name}."):
            yield from (value for value in vars(importlib.import_module(module.name)).values() if isinstance(value, Chapter))


CHAPTERS: tuple[Chapter, ...] = tuple(sorted(_chapters(), key=lambda chapter: min(map(_order, chapter.rules))))
RULES: tuple[Rule, ...] = tuple(sorted((rule for chapter in CHAPTERS for rule in chapter.rules), key=_order))
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def in_force(settings: Settings) -> tuple[Rule, ...]:
    """RULES with the levels that settings give them; those switched off are not `enabled`."""
    if not settings.rules:
        return RULES
    by_rule = dict(settings.rules)
    return tuple(
        replace(rule, enabled=mine.enabled, level=mine.level or rule.level) if (mine := by_rule.get(rule.id)) else rule
        for rule in RULES
    )


def settings_of(path: str | None) -> Settings:
    """The settings of a TOML file, the defaults for None; UsageError for what makes no sense."""
    return load(path, BY_ID) if path else Settings()


def catalogue_table(settings: Settings | None = None) -> pa.Table:
    """The table `rules` (stompcap.tables.gold.RULES): the catalogue for SQL to join, with the levels in force."""
    rows = [
        {
            "id": rule.id,
            "versions": ",".join(rule.versions),
            "side": rule.side,
            "level": rule.level_text,
            "clause": rule.clause,
            "title": rule.title,
            "explanation": f"{rule.explanation} {rule.pitfalls}".strip(),
        }
        for rule in in_force(settings or Settings())
    ]
    return pa.Table.from_pylist(rows, schema=TABLE.arrow)
