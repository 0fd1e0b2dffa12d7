"""What a lake has, shown without Spark: short tables, and one session as the dialogue that peek shows."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap import capture
from stompcap.cli import entry
from stompcap.lake import tables as lakes
from stompcap.rules import catalogue_table
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA

PATH = str(DATA / "rabbitmq_dialogue.pcap")
SESSION = "4678febaf599ba369629"
Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake of one capture, made without Spark."""
    where = str(tmp_path_factory.mktemp("a lake"))
    lakes.create(where)
    row = capture.survey(PATH, "default")
    assert row is not None
    row |= {"batch_id": "b", "run_id": "r", "skipped": list(row["skipped"].items())}
    rows = {"captures": pa.Table.from_pylist([row], TABLES["captures"].arrow), "rules": catalogue_table(), **tables_of([PATH])}
    for name, table in rows.items():
        lakes.append(where, name, table, ["b"], "r")
    return where


def stompcap(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def test_an_overview_says_what_to_run_next(lake: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stompcap(monkeypatch, "show", "--lake", lake, "--rows", "3") == 0
    out = capsys.readouterr().out
    titles = ["Captures, latest first", "Sessions, latest", "Sessions, longest", "Slowest destinations", "Worst consumers", "Findings"]
    assert [line.split(", by")[0] for line in out.splitlines() if line.startswith(tuple(titles))] == titles
    following = re.findall(r"^  next: (stompcap .*)$", out, re.MULTILINE)
    assert len(following) == len(titles)
    for words in map(shlex.split, following):
        if words[1] != "sql":
            assert stompcap(monkeypatch, *words[1:]) == 0


@pytest.mark.parametrize("form", ["json", "csv"])
def test_an_overview_for_programs(form: str, lake: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stompcap(monkeypatch, "show", "--lake", lake, *(["--json"] if form == "json" else ["--format", "csv"])) == 0
    out = capsys.readouterr().out
    rows: list[dict[str, Any]] = [*map(json.loads, out.splitlines())] if form == "json" else [*csv.DictReader(io.StringIO(out))]
    assert {row["type"] for row in rows} == {"captures", "latest", "longest", "destinations", "consumers", "findings"}
    assert [row["path"] for row in rows if row["type"] == "captures"] == [PATH]


@pytest.mark.slow
def test_a_session_is_shown_as_peek_shows_it(lake: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ((), ("--absolute", "--headers"), ("--json",), ("--format", "csv", "--command", "ACK")):
        assert stompcap(monkeypatch, "show", SESSION[:6], "--lake", lake, *form) == 0
        shown = capsys.readouterr().out
        assert stompcap(monkeypatch, "peek", PATH, "--stream", SESSION, *form) == 0
        peeked = capsys.readouterr().out
        if form and form[0] in ("--json", "--format"):
            assert shown == peeked
        else:
            session, remark = shown.rstrip("\n").rsplit("\n", 1)
            assert peeked.split("\n\n", 1)[1].rstrip("\n") == session
            assert remark.startswith(f"for Wireshark: stompcap export {SESSION} --lake ")


@pytest.mark.parametrize(("words", "code", "says"), [
    (("0000",), 2, "0000: no stream id begins with that"),
    (("--command", "ACK"), 2, "select frames of one session; name it: stompcap show STREAM_ID"),
    (("--format", "xml"), 2, "--format xml: must be one of text, csv, json"),
])  # fmt: skip
def test_what_makes_no_sense_is_a_line(
    words: tuple[str, ...], code: int, says: str, lake: str, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stompcap(monkeypatch, "show", *words, "--lake", lake) == code
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_lake_that_is_not_there(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stompcap(monkeypatch, "show", "--lake", str(tmp_path / "none")) == 3
    assert "no lake here; make one with" in capsys.readouterr().err


@pytest.mark.parametrize(("shell", "has"), [("bash", "complete -o default"), ("zsh", "#compdef stompcap"), ("fish", "complete --command")])
def test_shells_complete_the_commands(shell: str, has: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stompcap(monkeypatch, "completion", shell) == 0
    assert has in capsys.readouterr().out


def test_the_manual_page_has_every_command_and_no_request_of_its_own(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stompcap(monkeypatch, "manual") == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split('"')[1].split(" ")[1] for line in lines if line.startswith(".SS")} >= {"run", "peek", "show", "rules", "watch"}
    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} == {".TH", ".SH", ".SS", ".TP", ".B"}
