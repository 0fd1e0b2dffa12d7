"""Values of query results as text: one rule per format, the same for every command that prints rows.

- On a terminal and in CSV, characters that do not print are shown as escapes (stompcap.visible), because octets from the
  wire must not control the reader's terminal.
- In CSV, a text that a spreadsheet would take for a formula gets a leading apostrophe, as OWASP advises ("CSV
  Injection"); so does a text that begins with an apostrophe, so removing one restores the text. Numbers are
  written as numbers, negative ones too.
- JSON is for programs: exact values, everything beyond ASCII escaped, octets in base64.

Timestamps are in ISO 8601, in the zone of stompcap.zones; those without a zone have none. Intervals are as DuckDB writes them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from stompcap import zones
from stompcap.cli.intervals import interval
from stompcap.visible import visible, visible_octets

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")


def plain(value: Any) -> Any:
    """The value as JSON represents it; structs and maps are objects, floats that JSON lacks are null."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if (span := interval(value)) is not None:
        return span
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "asDict"):  # a struct as Spark's Row
        return plain(value.asDict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return str(value)


def _moment(value: datetime) -> str:
    """A moment, in the zone that is shown; a timestamp without a zone as it is."""
    if value.tzinfo is None:
        return value.isoformat()
    text = value.astimezone(zones.current()).isoformat()
    return text.removesuffix("+00:00") + "Z" if zones.is_utc() else text


def text(value: Any, limit: int | None = None) -> str:
    """The value as a person reads it; null is `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return visible(value, limit)
    if isinstance(value, (bytes, bytearray)):
        return visible_octets(bytes(value), limit)
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    simple = plain(value)
    return visible(simple if isinstance(simple, str) else json.dumps(simple, ensure_ascii=False), limit)


def csv_text(value: Any) -> str:
    """The value as a CSV field, not yet quoted; null is an empty field."""
    if value is None:
        return ""
    written = text(value)
    if isinstance(value, (bool, int, float, Decimal)):
        return written
    risky = written.startswith(FORMULA) or (isinstance(value, str) and value.startswith(FORMULA))
    return f"'{written}" if risky else written
