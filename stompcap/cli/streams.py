"""Finds a stream by its id or a unique beginning of it, as git finds a commit."""

from __future__ import annotations

import re
import shlex
from typing import Any

from stompcap.errors import UsageError
from stompcap.units import endpoint, moment
from stompcap.visible import visible

DIGITS = re.compile(r"[0-9a-f]{1,20}")
NAMED = 5
"""How many candidates an error names."""
COLUMNS = ("stream_id", "client_ip", "client_port", "server_ip", "server_port", "first_ns")


def stream(lake: str, text: str) -> dict[str, Any]:
    """The row of table streams whose stream_id is `text`, or the only one that begins with it.

    Raises UsageError where there are none or several; the candidates are named.
    """
    from stompcap.lake import tables as lakes

    digits = text.strip().lower()
    if not DIGITS.fullmatch(digits):
        raise UsageError(f"{visible(text, 40)}: not a stream id, nor the beginning of one; an id is 20 digits of 0-9 and a-f")
    bounds = [("stream_id", ">=", digits), ("stream_id", "<", digits + "g")]  # g comes behind all digits
    rows = lakes.small(lake, "streams", [*COLUMNS], bounds).sort_by("stream_id").to_pylist()
    if not rows:
        query = f"stompcap sql 'SELECT stream_id FROM sessions' --lake {shlex.quote(lake)}"  # noqa: S608  words, not a query
        what = "no such stream" if len(digits) == 20 else "no stream id begins with that"
        raise UsageError(f"{digits}: {what} in {lake}; list them with: {query}")
    if len(rows) > 1:
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        named = ", ".join(map(_candidate, rows[:NAMED]))
        raise UsageError(f"{digits}: {len(rows)} stream ids begin with that, give more digits: {named}{more}")
    found: list[dict[str, Any]] = lakes.small(lake, "streams", filters=[("stream_id", "=", rows[0]["stream_id"])]).to_pylist()
    return found[0]


def _candidate(row: dict[str, Any]) -> str:
    """One candidate: its id, its endpoints, and its first time."""
    ends = f"{endpoint(row['client_ip'], row['client_port'])} to {endpoint(row['server_ip'], row['server_port'])}"
    return f"{row['stream_id']} ({ends}, {moment(row['first_ns'], 0)})"
