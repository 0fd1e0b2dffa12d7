"""The catalogue: all rules, in the order of their ids' families, and as the table `rules`."""

from __future__ import annotations

import re

import pyarrow as pa

from stompcap.rules.acking import ACKING
from stompcap.rules.bodies import BODIES
from stompcap.rules.commands import COMMANDS
from stompcap.rules.connecting import CONNECTING
from stompcap.rules.delivering import DELIVERING
from stompcap.rules.escapes import ESCAPES
from stompcap.rules.framing import FRAMING
from stompcap.rules.greeting import GREETING
from stompcap.rules.headers import HEADERS
from stompcap.rules.heartbeating import HEARTBEATING
from stompcap.rules.lengths import LENGTHS
from stompcap.rules.negotiating import NEGOTIATING
from stompcap.rules.receipts import RECEIPTS
from stompcap.rules.record import Rule
from stompcap.rules.sending import SENDING
from stompcap.rules.transactions import TRANSACTIONS
from stompcap.tables.gold import RULES as TABLE

CHAPTERS = (
    FRAMING, COMMANDS, LENGTHS, HEADERS, ESCAPES, BODIES, CONNECTING, NEGOTIATING, GREETING, HEARTBEATING, SENDING,
    DELIVERING, ACKING, TRANSACTIONS, RECEIPTS,
)
FAMILIES = ("FR", "CN", "HB", "SN", "SB", "MS", "AK", "TX", "RC", "ER", "DS")
"""Framing, connecting, heart-beats, SEND, SUBSCRIBE, MESSAGE, ACK, transactions, RECEIPT, ERROR, DISCONNECT."""


def _place(rule: Rule) -> tuple[int, str]:
    family, number = re.fullmatch(r"([A-Z]{2})-(\d\d[a-z]?)", rule.id).groups()  # type: ignore[union-attr]
    return FAMILIES.index(family), number


RULES: tuple[Rule, ...] = tuple(sorted((rule for chapter in CHAPTERS for rule in chapter.rules), key=_place))
BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def catalogue_table() -> pa.Table:
    """The table `rules` (stompcap.tables.gold.RULES): the catalogue for SQL to join."""
    rows = [
        {
            "id": rule.id,
            "versions": ",".join(rule.versions),
            "side": rule.side,
            "level": rule.level_text,
            "clause": rule.clause,
            "title": rule.title,
            "explanation": rule.explanation,
        }
        for rule in RULES
    ]
    return pa.Table.from_pylist(rows, schema=TABLE.arrow)
