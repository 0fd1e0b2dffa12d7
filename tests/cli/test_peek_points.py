"""Captures of two points given to peek: which connections are shown as which file has them is said once, on standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stompcap.cli import entry
from tests.e2e.test_capture_points import tapped
from tests.e2e.truth import DATA

CAPTURE = DATA / "rabbitmq_dialogue.pcap"
Said = pytest.CaptureFixture[str]


def peek(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["stompcap", "peek", "--json", *words])
    assert entry.outcome() == 0


def test_both_files_and_what_they_share_are_named(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tapped(CAPTURE, tmp_path, 1_700, lost=0)
    peek(monkeypatch, str(CAPTURE), other)
    printed = capsys.readouterr()
    [line] = printed.err.splitlines()
    assert line.startswith(f"stompcap: {CAPTURE} and {other} were captured at two points: 1,061 TCP segments (100 % of the smaller file)")
    peek(monkeypatch, str(CAPTURE))
    alone = capsys.readouterr()
    assert [json.loads(one) for one in printed.out.splitlines()] == [json.loads(one) for one in alone.out.splitlines()]
    assert alone.err == ""


def test_of_files_that_overlap_nothing_is_said(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    peek(monkeypatch, str(CAPTURE), tapped(CAPTURE, tmp_path, 0, lost=0, begin=0.5))
    assert capsys.readouterr().err == ""
