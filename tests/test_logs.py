"""Structured logs: one JSON object a line, whatever a name in a capture has, and no secret."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stompcap import logs
from stompcap.cli.common import Verbosity
from stompcap.cli.progress import on_stderr
from stompcap.cli.rounds import Rounds
from stompcap.cli.stderr import to_stderr

HOSTILE = 'a"\n{"level": "INFO"}\x1b[2J\u202e\u2028\udcff.pcap'


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """A function that gives the objects logged so far."""
    logger = logging.getLogger(logs.NAME)
    before = (logger.handlers[:], logger.level, logger.propagate)
    logs.begin()
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])
    logs._state["structured"] = False


def test_a_record_is_one_line_with_what_it_is_about(told: Any) -> None:
    with logs.about(run_id="r1"), logs.about(stage="extract"):
        logs.tell("run", "stage done", seconds=1.5, rows={"frames": 2})
    logs.tell("run", "over")
    logs.tell("run", "not shown", "DEBUG")
    done, over = told()
    assert done.pop("ts")[10] == "T"
    assert done == {
        "level": "INFO", "logger": "stompcap.run", "message": "stage done", "run_id": "r1", "stage": "extract", "seconds": 1.5,
        "rows": {"frames": 2},
    }  # fmt: skip
    assert over.keys() == {"ts", "level", "logger", "message"}


def test_hostile_names_make_no_line_and_no_sequence(capsys: pytest.CaptureFixture[str], told: Any) -> None:
    to_stderr(HOSTILE)
    logs.tell("run", "100 %s", path=HOSTILE)
    text = capsys.readouterr().err
    assert text.isascii()
    assert text.count("\n") == 2
    assert "\x1b" not in text
    message, path = map(json.loads, text.splitlines())
    assert message["message"] == r'a"\n{"level": "INFO"}\x1b[2J\u202e\u2028\udcff.pcap'
    assert (path["message"], path["path"]) == ("100 %s", HOSTILE)


def test_secrets_are_masked(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    try:
        raise ValueError("wJalrXUtnFEMI")
    except ValueError as error:
        logs.tell("cli", "wJalrXUtnFEMI at https://ann:pencil@host/x", "ERROR", error, uri="s3://key:word@bucket")
    (entry,) = told()
    assert (entry["message"], entry["uri"]) == ("*** at https://***@host/x", "s3://***@bucket")
    assert "ValueError: ***" in entry["traceback"]
    assert "wJalr" not in json.dumps(entry)


def test_steps_and_rounds_are_records(told: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with on_stderr(quiet=False) as progress:
        progress.begin("reading", 5)
    Rounds(Verbosity()).failed(ValueError("odd"))
    step, failed = told()
    assert (step["logger"], step["message"], step["octets"]) == ("stompcap.progress", "reading", 5)
    assert (failed["level"], failed["exit_code"]) == ("ERROR", 70)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["watch", "no\nsuch", "--lake", "lake", "--log-format", "json"], 4, r"no\nsuch: no such folder"),
        (["watch", "x", "--lake", "lake", "--log-format=json", "--every", "soon"], 2, "--every soon"),
        (["watch", "--log-format=json"], 2, "Missing"),
    ],
)
def test_a_job_ends_with_a_record(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stompcap", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (entry,) = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, entry["exit_code"], entry["level"], done.stdout) == (code, code, "ERROR", "")
    assert says in entry["message"]


def test_another_format_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stompcap", "watch", "x", "--lake", "lake", "--log-format", "xml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "stompcap: --log-format xml: must be text or json\n")
