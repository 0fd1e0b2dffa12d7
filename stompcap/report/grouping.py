"""Answers of queries brought into the groups that the page shows."""

from __future__ import annotations

import re
from typing import Any

Rows = list[dict[str, Any]]
FrameKey = tuple[str, str, int]

DIRECTIONS = {"c2s": "client to server", "s2c": "server to client"}
TEXTS = 20  # of ERROR frames, on the page


def errors(rows: Rows) -> Rows:
    """Rows of the query `errors` with texts put together that differ in the lengths of their numbers only; most sessions first."""
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for row in rows:
        key = re.sub("#+", "#", row["text"]), row["server_product"]
        if (one := found.get(key)) is None:
            found[key] = dict(row)
            continue
        one["sessions"] += row["sessions"]
        one["refused"] += row["refused"]
        for name, of in (("first_ns", min), ("last_ns", max)):
            one[name] = of((ns for ns in (one[name], row[name]) if ns is not None), default=None)
    return sorted(found.values(), key=lambda row: (-row["sessions"], row["text"], row["server_product"] or ""))[:TEXTS]


def lists(rows: Rows, name: str) -> dict[str, Rows]:
    """Rows by the value of a column, in their order."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row[name], []).append(row)
    return found


def by_frame_key(rows: Rows) -> dict[FrameKey, dict[str, Any]]:
    """Rows by their place: stream, direction, offset."""
    return {(row["stream_id"], row["direction"], row["stream_offset"]): row for row in rows}


def hexadecimal(octets: bytes) -> str:
    """Octets in lines of 16, in hexadecimal digits and as text, in which what does not print is a dot."""
    lines = (octets[at : at + 16] for at in range(0, len(octets), 16))
    return "\n".join(f"{line.hex(' '):<47}  {''.join(chr(one) if 32 <= one < 127 else '.' for one in line)}" for line in lines)
