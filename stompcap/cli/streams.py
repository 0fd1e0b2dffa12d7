"""A stream by its id or the first digits of it, as git takes them for a commit: as many as fit one stream alone."""

from __future__ import annotations

import re
import shlex
from typing import Any

from stompcap.errors import UsageError
from stompcap.spark import lake as lakes
from stompcap.units import endpoint, moment
from stompcap.visible import visible

DIGITS = re.compile(r"[0-9a-f]{1,20}")
NAMED = 5
"""Candidates that are named."""
TOLD = ("stream_id", "client_ip", "client_port", "server_ip", "server_port", "first_ns")


def stream(lake: str, given: str) -> dict[str, Any]:
    """The row of table streams whose stream_id is, or alone begins with, what was given.

    Raises UsageError where none does or several do; these are named.
    """
    digits = given.strip().lower()
    if not DIGITS.fullmatch(digits):
        raise UsageError(f"{visible(given, 40)}: not a stream id, nor the beginning of one: these are 20 digits of 0-9 and a-f")
    bounds = [("stream_id", ">=", digits), ("stream_id", "<", digits + "g")]  # g comes behind all digits
    rows = lakes.small(lake, "streams", [*TOLD], bounds).sort_by("stream_id").to_pylist()
    if not rows:
        query = f"stompcap sql 'SELECT stream_id FROM sessions' --lake {shlex.quote(lake)}"  # noqa: S608  words, not a query
        what = "no such stream" if len(digits) == 20 else "no stream id begins so"
        raise UsageError(f"{digits}: {what} in {lake}; list them with: {query}")
    if len(rows) > 1:
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        raise UsageError(f"{digits}: {len(rows)} stream ids begin so, give more digits: {', '.join(map(_told, rows[:NAMED]))}{more}")
    found: list[dict[str, Any]] = lakes.small(lake, "streams", filters=[("stream_id", "=", rows[0]["stream_id"])]).to_pylist()
    return found[0]


def _told(row: dict[str, Any]) -> str:
    """One candidate: its id, who spoke to whom, and since when."""
    ends = f"{endpoint(row['client_ip'], row['client_port'])} to {endpoint(row['server_ip'], row['server_port'])}"
    return f"{row['stream_id']} ({ends}, {moment(row['first_ns'], 0)})"
