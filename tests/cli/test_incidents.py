"""Incidents as lines: since when, what, where to look; hostile names in them; in show and in what a watch prints."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.cli import entry, incidents, render
from stompcap.cli.common import Verbosity
from stompcap.cli.rounds import Rounds
from stompcap.lake import tables as lakes
from stompcap.tables import TABLES
from tests.report.sample import HOSTILE, SECOND, START

Said = pytest.CaptureFixture[str]


def row(name: str = "a", begin: float = 0, end: float | None = None, level: str = "warning", **values: Any) -> dict[str, Any]:
    """An incident that begins some seconds behind 2025-11-24 16:00."""
    return {
        "incident_id": name, "kind": "refused", "subject_kind": "login", "subject": "billing", "source": "default",
        "begin_ns": START + int(begin * SECOND), "end_ns": None if end is None else START + int(end * SECOND), "level": level,
        "confidence": "proven", "numbers": [], "messages": 0, "server_product": None,
        "sentence": f"{name} was refused", "streams": ["0123456789abcdef0123"],
        "frames": [], "packets": [{"capture": "b.pcap", "packet": 9}, {"capture": "b.pcap", "packet": 7}],
    } | values  # fmt: skip


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "warning   since 2025-11-24 16:00:00  a was refused  login  show 01234567  packets 7 to 9 of b.pcap"),
        ({"end": 70.0}, "warning   2025-11-24 16:00:00 to 16:01:10  a was refused  login  show 01234567  packets 7 to 9 of b.pcap"),
        (
            {"end": 90_000.0, "streams": []},
            "warning   2025-11-24 16:00:00 to 2025-11-25 17:00:00  a was refused  login  packets 7 to 9 of b.pcap",
        ),
        ({"end": 0.2, "packets": [], "streams": []}, "warning   2025-11-24 16:00:00  a was refused  login"),
        (
            {"server_product": "Artemis", "packets": []},
            "warning   since 2025-11-24 16:00:00  a was refused  login at Artemis  show 01234567",
        ),
        (
            {"server_product": "Artemis", "subject_kind": "broker", "sentence": "Artemis at 10.0.0.1:61613 stopped", "packets": []},
            "warning   since 2025-11-24 16:00:00  Artemis at 10.0.0.1:61613 stopped  show 01234567",
        ),
        (
            {"packets": [{"capture": "b", "packet": 3}]},
            "warning   since 2025-11-24 16:00:00  a was refused  login  show 01234567  packet 3 of b",
        ),
    ],
)
def test_a_line(values: dict[str, Any], words: str) -> None:
    assert incidents.line(row(**values)) == words


def test_what_does_not_print_is_escaped() -> None:
    hostile = row(sentence=HOSTILE, packets=[{"capture": f"/x/{HOSTILE}", "packet": 1}])
    drawn = io.StringIO()
    render.show(incidents.grid([hostile], {"warning": 1}), drawn)
    for text in (incidents.line(hostile), drawn.getvalue().replace("\n", "")):
        assert text.isprintable()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    where = str(tmp_path / "lake")
    lakes.create(where)
    rows = [row("c", 5, level="note"), row("b", 9, level="critical", messages=3), row("a", 1, end=4)]
    lakes.append(where, "incidents", pa.Table.from_pylist(rows, TABLES["incidents"].arrow), ["b"], "r")
    return where


def test_a_lake_is_shown_with_its_incidents_first(lake: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["stompcap", "show", "--lake", lake])
    assert entry.outcome() == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "Incidents: 1 critical, 1 warning, 1 note"
    assert [line.split()[0] for line in lines if "was refused" in line] == ["critical", "warning", "note"]
    monkeypatch.setattr(sys, "argv", ["stompcap", "show", "--lake", lake, "--json"])
    assert entry.outcome() == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["incident_id"] for one in objects if one["type"] == "incidents"] == ["b", "a", "c"]


def test_those_of_a_session(lake: str) -> None:
    assert [one["incident_id"] for one in incidents.of_session(lake, "0123456789abcdef0123")] == ["b", "a", "c"]
    assert not incidents.of_session(lake, "0123")


def test_a_watch_prints_them(capsys: Said) -> None:
    Rounds(Verbosity()).incident("began", row())
    assert capsys.readouterr().out.endswith(f"  began {incidents.line(row())}\n")
    Rounds(Verbosity(as_json=True)).incident("ended", row())
    said = json.loads(capsys.readouterr().out)
    assert (said["type"], said["state"], said["incident_id"]) == ("incident", "ended", "a")
    Rounds(Verbosity(quiet=True)).incident("began", row())
    assert capsys.readouterr().out == ""


def test_many_that_say_the_same_leave_room_for_others() -> None:
    rows = [row("a", number, sentence=f"a was refused {number} times") for number in range(400)] + [row("z", 500, sentence="z is gone")]
    drawn = io.StringIO()
    render.show(incidents.grid(rows, {"warning": 1000}), drawn)
    said = " ".join(drawn.getvalue().split())
    assert said.count("was refused") == 3
    assert "and 397 that say the same, begun 2025-11-24 16:00:03 to 16:06:39: billing" in said
    assert "z is gone" in said
    assert said.endswith("and 599 more: table incidents has all")
