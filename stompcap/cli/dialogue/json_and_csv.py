"""Dialogues for programs: JSON, one object a line, and CSV, one row a line of the dialogue or a finding."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from stompcap.cli import cells
from stompcap.cli.dialogue.lines import Dialogue, Line, Row
from stompcap.cli.dialogue.summary import figures
from stompcap.units import iso

COLUMNS = (
    "type", "stream_id", "time", "ns", "relative_us", "capture", "packet", "direction", "stream_offset", "octets", "command",
    "destination", "headers", "body_octets", "count", "note", "rule_id", "level", "side", "evidence",
)  # fmt: skip
"""The columns of CSV."""

SESSION = (
    "client_ip", "client_port", "server_ip", "server_port", "version", "server_product", "server_version", "client_product", "outcome",
)  # fmt: skip


def line_objects(dialogue: Dialogue, line: Line) -> Iterator[dict[str, Any]]:
    """A line, and each of its findings."""
    frame = line.frame or {}
    found: dict[str, Any] = {
        "type": line.kind, "stream_id": dialogue.stream_id, **_when(dialogue, line.ns),
        "capture": dialogue.captures.get(line.capture_id or ""),
        "packet": line.packet, "direction": line.direction, "stream_offset": line.offset, "octets": line.octets,
    }  # fmt: skip
    if line.frame is not None:
        found |= {
            "command": line.command, "destination": frame["destination"],
            "headers": [[one["name"], one["value"]] for one in frame["headers"] or ()],
            "body_octets": frame["body_octets"], "body_preview": frame["body_preview"],
        }  # fmt: skip
    found |= {"count": line.count, "note": line.note or None}
    yield found
    for finding in line.findings:
        yield finding_object(dialogue, finding, line)


def finding_object(dialogue: Dialogue, finding: Row, line: Line | None = None) -> dict[str, Any]:
    """A finding, with the packet of its line."""
    return {
        "type": "finding", "stream_id": dialogue.stream_id, **_when(dialogue, finding["ts_ns"]),
        "capture": dialogue.captures.get(line.capture_id or "") if line else None, "packet": line.packet if line else None,
        **{name: finding[name] for name in ("direction", "stream_offset", "rule_id", "level", "side", "evidence")},
    }  # fmt: skip


def session_object(dialogue: Dialogue) -> dict[str, Any]:
    """What begins a session."""
    session = dialogue.session
    return {
        "type": "session", "stream_id": dialogue.stream_id, **_when(dialogue, session["opened_ns"]),
        **{name: session[name] for name in SESSION},
    }  # fmt: skip


def summary_object(dialogue: Dialogue) -> dict[str, Any]:
    """What ends a session."""
    return {"type": "summary", "stream_id": dialogue.stream_id, **figures(dialogue)}


def as_json(found: dict[str, Any]) -> str:
    """An object as one line."""
    return json.dumps(cells.plain(found))


def as_csv(values: Sequence[Any]) -> str:
    """A row of CSV (RFC 4180); `cells` keeps spreadsheets from taking a header for a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([cells.csv_text(value) for value in values])
    return out.getvalue()


def csv_row(found: dict[str, Any]) -> str:
    """An object as a row of COLUMNS."""
    flat = dict(found)
    if flat.get("headers") is not None:
        flat["headers"] = "\n".join(name if value is None else f"{name}:{value}" for name, value in flat["headers"])
    return as_csv([flat.get(name) for name in COLUMNS])


def _when(dialogue: Dialogue, ns: int | None) -> dict[str, Any]:
    return {"time": iso(ns), "ns": ns, "relative_us": None if ns is None else (ns - (dialogue.session["opened_ns"] or ns)) // 1000}
