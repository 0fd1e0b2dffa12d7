"""A capture shown without a lake gives what a lake gives of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stompcap.cli.dialogue.lines import COLUMNS, Dialogue, dialogues
from stompcap.cli.tracing import read
from stompcap.errors import CaptureError
from stompcap.lake import tables as lakes
from stompcap.options import Options
from tests.e2e.truth import captures

LARGEST = sorted(captures(), key=os.path.getsize)[-5:]
pytestmark = pytest.mark.spark


def refuse(error: CaptureError) -> None:
    raise error


def content(dialogue: Dialogue) -> dict[str, Any]:
    """What is told of a session, whichever captures and batches it came from."""
    lines = [(line.key, line.ns, line.octets, line.packet, line.note, line.count, line.frame) for line in dialogue.lines]
    found = [sorted(map(str, line.findings)) for line in dialogue.lines]
    session = {name: value for name, value in dialogue.session.items() if name != "batch_id"}
    return {"session": session, "lines": lines, "findings": found, "deliveries": sorted(map(str, dialogue.deliveries)),
            "heartbeats": sorted(map(str, dialogue.heartbeats))}  # fmt: skip


def test_peek_tells_of_the_five_largest_captures_what_the_lake_has(lake: Path) -> None:
    tables = {name: lakes.small(str(lake), name, None if columns is None else [*columns]) for name, columns in COLUMNS.items()}
    rows = sorted(lakes.small(str(lake), "captures").to_pylist(), key=lambda row: (row["first_ns"], row["capture_id"]))
    kept = {one.stream_id: one for one in dialogues(tables, {row["capture_id"]: row["path"] for row in rows})}
    for path in LARGEST:
        shown = [*read([path], Options(), refuse).dialogues(Options())]
        assert shown
        for one in shown:
            assert content(one) == content(kept[one.stream_id]), one.stream_id
