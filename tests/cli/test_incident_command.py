"""`watch --exec`: what the program gets, and what becomes of one that fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from stompcap.cli import incident_command
from stompcap.cli.incident_command import tell, words_of
from stompcap.errors import UsageError

ROW = {"kind": "refused", "subject": "$(touch owned); `id` \x1b[31m\n", "begin_ns": 5, "streams": ["a"], "sentence": "'; DROP"}


def test_an_incident_is_json_on_standard_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert tell([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())", str(out)], "began", ROW) is None
    assert json.loads(out.read_text()) == {"type": "incident", "state": "began"} | ROW
    assert len(out.read_text().splitlines()) == 1
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("code", "says"),
    [("raise SystemExit(3)", "exit code 3"), ("import time; time.sleep(9)", "ended after 0.2 s"), ("import sys; sys.stdin.close()", None)],
)
def test_a_program_that_fails_is_a_warning(code: str, says: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident_command, "LONGEST_S", 0.2 if "time" in code else 30)
    told = tell([sys.executable, "-c", code], "ended", ROW)
    assert told is None if says is None else told is not None and told.endswith(says)


def test_a_command_is_split_into_words() -> None:
    assert words_of("sh -c 'cat > out.json'") == ["sh", "-c", "cat > out.json"]


@pytest.mark.parametrize("command", ["", "  ", "no-such-program-here", "'open"])
def test_a_command_that_cannot_be_run_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="--exec"):
        words_of(command)
