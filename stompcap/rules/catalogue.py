"""The catalogue: all rules, in the order of their ids' families, and as the table `rules`."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa

from stompcap.rules.acking import ACKING
from stompcap.rules.acknowledged import ACKNOWLEDGED
from stompcap.rules.beating import BEATING
from stompcap.rules.bodies import BODIES
from stompcap.rules.closing import CLOSING
from stompcap.rules.commands import COMMANDS
from stompcap.rules.committing import COMMITTING
from stompcap.rules.connecting import CONNECTING
from stompcap.rules.delivering import DELIVERING
from stompcap.rules.errors import ERRORS
from stompcap.rules.escapes import ESCAPES
from stompcap.rules.framing import FRAMING
from stompcap.rules.greeting import GREETING
from stompcap.rules.headers import HEADERS
from stompcap.rules.heartbeating import HEARTBEATING
from stompcap.rules.leaving import LEAVING
from stompcap.rules.lengths import LENGTHS
from stompcap.rules.negotiating import NEGOTIATING
from stompcap.rules.receipts import RECEIPTS
from stompcap.rules.record import Rule
from stompcap.rules.redelivering import REDELIVERING
from stompcap.rules.sending import SENDING
from stompcap.rules.silence import SILENCE
from stompcap.rules.subscribed import SUBSCRIBED
from stompcap.rules.subscribing import SUBSCRIBING
from stompcap.rules.transactions import TRANSACTIONS
from stompcap.rules.unprocessed import UNPROCESSED
from stompcap.settings import Settings, load
from stompcap.tables.gold import RULES as TABLE

CHAPTERS = (
    FRAMING, COMMANDS, LENGTHS, HEADERS, ESCAPES, BODIES, CONNECTING, NEGOTIATING, GREETING, HEARTBEATING, BEATING, SILENCE,
    SENDING, SUBSCRIBING, UNPROCESSED, DELIVERING, SUBSCRIBED, ACKING, ACKNOWLEDGED, REDELIVERING, TRANSACTIONS, COMMITTING,
    RECEIPTS, ERRORS, LEAVING, CLOSING,
)
FAMILIES = ("FR", "CN", "HB", "SN", "SB", "MS", "AK", "TX", "RC", "ER", "DS")
"""Framing, connecting, heart-beats, SEND, SUBSCRIBE, MESSAGE, ACK, transactions, RECEIPT, ERROR, DISCONNECT."""


def _place(rule: Rule) -> tuple[int, str]:
    family, number = re.fullmatch(r"([A-Z]{2})-(\d\d[a-z]?)", rule.id).groups()  # type: ignore[union-attr]
    return FAMILIES.index(family), number


RULES: tuple[Rule, ...] = tuple(sorted((rule for chapter in CHAPTERS for rule in chapter.rules), key=_place))
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def in_force(settings: Settings) -> tuple[Rule, ...]:
    """RULES with the levels that settings give them; those switched off are not `enabled`."""
    if not settings.rules:
        return RULES
    chosen = dict(settings.rules)
    return tuple(
        replace(rule, enabled=mine.enabled, level=mine.level or rule.level) if (mine := chosen.get(rule.id)) else rule
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
