"""Dialogues of the sessions that a reader will ask for: those of incidents, then those that broke a MUST; frame by frame, with packets."""

# ruff: noqa: S608  the SQL consists of our own constants and of ids that are hexadecimal digits

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stompcap.lake.query import Query

Rows = list[dict[str, Any]]

EACH = 30
"""Frames shown from the beginning of a session, and as many from its end; those with findings besides."""

SESSIONS = 300
FRAMES = 12_000
"""Frames on the page, about 3 MB."""

_ID = re.compile(r"[0-9a-f]{20}")


def wanted(answers: Mapping[str, Rows]) -> list[str]:
    """The sessions to show, the first three of each incident before those with findings."""
    of_incidents = [stream for row in answers.get("incidents", []) for stream in (row["streams"] or [])[:3]]
    broken = [row["stream_id"] for row in answers.get("sessions", []) if row["must"]]
    return [one for one in dict.fromkeys((*of_incidents, *broken)) if _ID.fullmatch(one)]


def query(ids: list[str]) -> Query:
    """Their frames in the order of time."""
    named = ", ".join(f"'{one}'" for one in ids)
    return Query(
        "dialogues",
        ("frames", "compliance_findings", "captures"),
        f"""
        SELECT * FROM (
            SELECT f.stream_id, f.direction, f.stream_offset, f.first_ns, f.command, f.destination, f.length_octets, f.body_octets,
                   coalesce(f.message_id, f.id, f.receipt_id, f.receipt) AS id, f.first_packet AS packet, c.path, r.rules,
                   CASE WHEN f.command = 'ERROR' THEN substr(f.body_preview, 1, 300) END AS body,
                   row_number() OVER (PARTITION BY f.stream_id ORDER BY f.first_ns, f.direction, f.stream_offset) AS nth,
                   count(*) OVER (PARTITION BY f.stream_id) AS frames
            FROM frames f LEFT JOIN captures c ON c.capture_id = f.first_capture_id
            LEFT JOIN (SELECT stream_id, direction, stream_offset, min(rule_id) AS rules
                       FROM compliance_findings WHERE stream_id IN ({named}) AND level <> 'I'
                       GROUP BY stream_id, direction, stream_offset) r
                   ON r.stream_id = f.stream_id AND r.direction = f.direction AND r.stream_offset = f.stream_offset
            WHERE f.stream_id IN ({named})) one
        WHERE nth <= {EACH} OR nth > frames - {EACH} OR rules IS NOT NULL
        ORDER BY stream_id, nth LIMIT {4 * FRAMES}""",
    )


def folded(ids: list[str], rows: Rows) -> tuple[list[tuple[str, Rows]], int]:
    """Sessions with their frames in the order of `ids`, as many as the page has room for, and the number of those left out.

    A frame before which some are left out has their number as `skipped`.
    """
    by_id: dict[str, Rows] = {}
    for row in rows:
        own = by_id.setdefault(row["stream_id"], [])
        before, begin = (own[-1]["nth"], own[0]["first_ns"]) if own else (0, row["first_ns"])
        own.append(row | {"skipped": row["nth"] - before - 1, "begin_ns": begin})
    found: list[tuple[str, Rows]] = []
    room, left = FRAMES, 0
    for one in (one for one in ids if one in by_id):
        frames = by_id[one][: 4 * EACH]
        if len(frames) > room or len(found) >= SESSIONS:
            left += 1
            continue
        room -= len(frames)
        found.append((one, frames))
    return found, left
