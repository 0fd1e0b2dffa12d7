"""How the sides of a layer keep to its specification: what was checked, side by side, as rules and table transports take it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from stompcap.tables.words import DIRECTIONS

CHECKS = "checks"
"""The column of table transports that has them; rows of table streams that sessions are made of have those of all layers."""

Outcome = Literal["kept", "broken", "unknown"]


@dataclass(frozen=True)
class Check:
    """What one side does about one thing in the whole of a connection, as far as it came.

    what     the thing
    side     who has to keep to it
    outcome  `broken` where that is certain, `kept` where nothing is missing that could break it
    offset   where it was broken, in the octets that the layer gives
    ts_ns    when; None where it is the end of the connection, or nothing was broken
    seen     what was seen, without secrets
    """

    what: str
    side: int
    outcome: Outcome
    offset: int = 0
    ts_ns: int | None = None
    seen: str = ""


def text_of(checks: Iterable[Check], client: int) -> str | None:
    """Checks as table transports has them, where `client` is the side of the client; None where there are none."""
    found = [[one.what, DIRECTIONS[one.side ^ client], one.outcome, one.offset, one.ts_ns, one.seen] for one in checks]
    return json.dumps(found, separators=(",", ":")) if found else None


def of_layers(texts: Iterable[str | None]) -> str | None:
    """The checks of all layers of a connection, as one text."""
    found = [check for text in texts if text for check in json.loads(text)]
    return json.dumps(found, separators=(",", ":")) if found else None


def of_text(text: str) -> list[Check]:
    """The checks of such a text; side 0 is the client."""
    return [
        Check(what, DIRECTIONS.index(way), outcome, offset, ts_ns, seen) for what, way, outcome, offset, ts_ns, seen in json.loads(text)
    ]
