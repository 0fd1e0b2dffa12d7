"""Dialogues of the sessions that a reader will ask for: those of incidents, then those with findings; frame by frame, with packets."""

# ruff: noqa: S608  the SQL consists of our own constants and of ids that are hexadecimal digits

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from stompcap.lake.query import Query

Rows = list[dict[str, Any]]

EACH = 30
"""Frames shown from the beginning of a session, and as many from its end; those with findings besides."""

SESSIONS = 1000
FRAMES = 12_000
"""Frames on the page, about 3 MB."""

ASKED = 2000  # sessions with findings of which frames are asked for

FOUND = Query(
    # what everyone breaks tells least: of each level first the sessions that broke a rule that few break
    "sessions_found",
    ("compliance_findings",),
    f"""
    WITH own AS (SELECT stream_id, rule_id, level, count(*) AS findings FROM compliance_findings GROUP BY stream_id, rule_id, level),
         rare AS (SELECT rule_id, level, count(*) AS sessions FROM own GROUP BY rule_id, level),
         graded AS (SELECT own.stream_id, own.findings, rare.sessions,
                           CASE own.level WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END AS grade,
                           min(CASE own.level WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END) OVER (PARTITION BY own.stream_id) AS gravest
                    FROM own JOIN rare ON rare.rule_id = own.rule_id AND rare.level = own.level)
    SELECT *, count(*) OVER () AS total FROM (
        SELECT stream_id, gravest, min(sessions) AS sessions, sum(findings) AS findings
        FROM graded WHERE grade = gravest GROUP BY stream_id, gravest) one
    ORDER BY gravest, sessions, findings DESC, stream_id LIMIT {ASKED}""",
)
"""Sessions with findings, the most telling first."""

_ID = re.compile(r"[0-9a-f]{20}")


def wanted(answers: Mapping[str, Rows]) -> list[str]:
    """The sessions to show, the first three of each incident before those with findings, the gravest first."""
    of_incidents = [stream for row in answers.get("incidents", []) for stream in (row["streams"] or [])[:3]]
    broken = [row["stream_id"] for row in answers.get("sessions_found", [])]
    return [one for one in dict.fromkeys((*of_incidents, *broken)) if _ID.fullmatch(one)]


def query(ids: list[str]) -> Query:
    """Their frames in the order of time, each with how its connection was closed."""
    named = ", ".join(f"'{one}'" for one in ids)
    return Query(
        "dialogues",
        ("frames", "compliance_findings", "captures", "streams", "sessions"),
        f"""
        SELECT * FROM (
            SELECT f.stream_id, f.direction, f.stream_offset, f.first_ns, f.command, f.destination, f.length_octets, f.body_octets,
                   coalesce(f.message_id, f.id, f.receipt_id, f.receipt) AS id, f.first_packet AS packet, c.path, r.rules,
                   CASE WHEN f.command = 'ERROR' THEN substr(f.body_preview, 1, 300) END AS body,
                   CASE WHEN p.close_kind <> 'open' THEN p.close_kind END AS close_kind, p.closed_by, p.rst_by, s.closed_ns, s.close_cause,
                   row_number() OVER (PARTITION BY f.stream_id ORDER BY f.first_ns, f.direction, f.stream_offset) AS nth,
                   count(*) OVER (PARTITION BY f.stream_id) AS frames
            FROM frames f LEFT JOIN captures c ON c.capture_id = f.first_capture_id
            LEFT JOIN streams p ON p.stream_id = f.stream_id LEFT JOIN sessions s ON s.stream_id = f.stream_id
            LEFT JOIN (SELECT stream_id, direction, stream_offset, min(rule_id) AS rules
                       FROM compliance_findings WHERE stream_id IN ({named}) AND level <> 'I'
                       GROUP BY stream_id, direction, stream_offset) r
                   ON r.stream_id = f.stream_id AND r.direction = f.direction AND r.stream_offset = f.stream_offset
            WHERE f.stream_id IN ({named})) one
        WHERE nth <= {EACH} OR nth > frames - {EACH} OR rules IS NOT NULL
        ORDER BY stream_id, nth LIMIT {4 * FRAMES}""",
    )


def left(found: Rows, shown: Collection[str]) -> tuple[int, str | None]:
    """How many sessions with findings have no dialogue on the page, and the gravest level of the first of them."""
    number = (found[0]["total"] if found else 0) - sum(row["stream_id"] in shown for row in found)
    first = next((row["gravest"] for row in found if row["stream_id"] not in shown), found[-1]["gravest"] if found else 0)
    return number, ("MSI"[first] if number else None)


def folded(ids: list[str], rows: Rows) -> list[tuple[str, Rows]]:
    """Sessions with their frames in the order of `ids`, as many as the page has room for.

    A frame before which some are left out has their number as `skipped`.
    """
    by_id: dict[str, Rows] = {}
    for row in rows:
        own = by_id.setdefault(row["stream_id"], [])
        before, begin = (own[-1]["nth"], own[0]["first_ns"]) if own else (0, row["first_ns"])
        own.append(row | {"skipped": row["nth"] - before - 1, "begin_ns": begin})
    found: list[tuple[str, Rows]] = []
    room = FRAMES
    for one in (one for one in ids if one in by_id):
        frames = by_id[one][: 4 * EACH]
        if len(frames) > room or len(found) >= SESSIONS:
            break
        room -= len(frames)
        found.append((one, frames))
    return found
