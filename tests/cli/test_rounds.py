"""What `watch` prints: on a terminal, into a pipe, for programs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pipelines.result import Result
from pipelines.watching.rotating import Due
from stompcap.cli.common import Verbosity
from stompcap.cli.rounds import CLEAR, Rounds, news
from stompcap.errors import LakeBusy

Said = pytest.CaptureFixture[str]
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def result(statuses: str = "complete", **rows: int) -> Result:
    captures = [{"path": f"{n}", "capture_id": f"{n}", "status": status} for n, status in enumerate(statuses.split())]
    return Result("1", "lake", captures=captures, rows=rows)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (result(sessions=2, frames=1300, compliance_findings=1), "1 capture, 2 sessions, 1,300 frames, 1 finding"),
        (result("truncated known complete unreadable", sessions=1, frames=1), "2 captures, 1 session, 1 frame, 0 findings"),
        (result(streams=3), "1 capture, 3 connections, none of STOMP"),
        (result("complete"), "1 capture, 0 sessions, 0 frames, 0 findings"),
        (result("", quality_results=200), "expectations checked"),
    ],
)
def test_the_news_of_a_round(found: Result, words: str) -> None:
    assert news(found) == words


def test_rows_written_again_are_no_news() -> None:
    """Those of open connections are written in each round; what the tables have more counts."""
    found = result(sessions=9, frames=99, streams=9)
    assert news(found, {"streams": 1, "sessions": 1, "frames": 3, "compliance_findings": 0}) == "1 capture, 1 session, 3 frames, 0 findings"


def test_into_a_pipe_only_news(capsys: Said) -> None:
    rounds = Rounds(Verbosity())
    rounds.idle(Due())
    rounds.begin()
    rounds.done(result(sessions=1))
    assert re.fullmatch(WHEN + r"  1 capture, 1 session, 0 frames, 0 findings in .+s\n", capsys.readouterr().out)
    Rounds(Verbosity(verbose=True)).idle(Due(written=["a"]))
    assert re.fullmatch(WHEN + r"  nothing new; 1 file being written\n", capsys.readouterr().out)
    Rounds(Verbosity(quiet=True)).done(result(sessions=1))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_one_line_is_overwritten(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    rounds = Rounds(Verbosity())
    rounds.idle(Due(written=["a", "b"]))
    rounds.idle(Due())
    rounds.begin()
    rounds.done(result(sessions=1))
    pattern = rf"{CLEAR}{WHEN}  nothing ?{CLEAR}{WHEN}  nothing ?{CLEAR}{WHEN}  1 capture.*\n".replace("[K", r"\[K")
    assert re.fullmatch(pattern, capsys.readouterr().out)


def test_an_object_a_round(capsys: Said) -> None:
    rounds = Rounds(Verbosity(as_json=True))
    rounds.idle(Due())
    rounds.begin()
    rounds.done(result(sessions=1))
    rounds.failed(LakeBusy("held by another"))
    objects: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["status"] for one in objects] == ["done", "failed"]
    assert objects[0]["rows"] == {"sessions": 1}
    assert {"time", "seconds", "captures", "warnings"} <= set(objects[0])
    assert (objects[1]["error"], objects[1]["exit_code"]) == ("held by another", 5)
    Rounds(Verbosity(as_json=True, verbose=True)).idle(Due(written=["a"]))
    assert json.loads(capsys.readouterr().out)["written"] == ["a"]


def test_a_failure_is_one_line_and_a_warning_comes_once(capsys: Said) -> None:
    rounds = Rounds(Verbosity())
    rounds.warn(["quality: a\x1b[2J", "b"])
    rounds.warn([])
    rounds.warn(["quality: a\x1b[2J"])
    rounds.warn(["b"])
    rounds.failed(ValueError("odd\nmore"))
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "stompcap: quality: a\\x1b[2J", "stompcap: b", "stompcap: b",
        "stompcap: this round failed, the next one tries again: unexpected ValueError: odd (run again with --verbose for the traceback)",
    ]  # fmt: skip
    assert said.out == ""
