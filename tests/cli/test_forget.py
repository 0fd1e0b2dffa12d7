"""The command forget: what it asks, prints and refuses."""

from __future__ import annotations

import ipaddress
import json
import shutil
from pathlib import Path

import pytest

from stompcap.cli import entry
from stompcap.cli.commands import forget_command
from stompcap.cli.moments import moment
from stompcap.errors import UsageError
from tests.pipelines.forgetting.forgotten_lakes import KEYED, Connection, make, rows_of

ONE = Connection("0a" * 10, "10.1.2.3", "alice", 0)
OTHER = Connection("0b" * 10, "10.1.2.4", "bob", 0)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("lakes") / "whole", [[ONE, OTHER]])


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "lake"))


def written(lake: Path) -> dict[Path, int]:
    """The files of a lake, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", "forget", *words])
    return entry.outcome()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "forget needs at least one of --before, --client, --login and --stream"),
        (["--yes"], "forget needs at least one of --before, --client, --login and --stream"),
        (["--login", "alice"], "nobody can answer here; add --yes, or --dry-run"),
        (["--login", "alice", "--json"], "nobody can answer here; add --yes, or --dry-run"),
        (["--before", "yesterday", "--yes"], "--before yesterday: must be a date or time such as 2026-11-21"),
        (["--before", "2026-13-01", "--yes"], "--before 2026-13-01: must be a date or time"),
        (["--before", "0001-01-01T00:00+14:00", "--yes"], "must be a date or time"),
        (["--client", "alice\x1b[31m", "--yes"], "--client alice\\x1b[31m: must be an address or a network"),
        (["--client", "10.1.2.3/8", "--yes"], "--client 10.1.2.3/8: must be an address or a network"),
        (["--stream", "xyz", "--yes"], "xyz: not a stream id"),
        (["--stream", "0", "--yes"], "0: 2 stream ids begin with that, give more digits"),
        (["--stream", "0f", "--yes"], "0f: no stream id begins with that"),
    ],
)
def test_what_is_no_request_is_refused(
    words: list[str], says: str, lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = written(lake)
    assert called(monkeypatch, "--lake", str(lake), *words) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert written(lake) == before


@pytest.mark.slow
def test_a_dry_run_prints_what_the_command_then_deletes(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows_of(lake)
    told = []
    for word in ("--dry-run", "--yes"):
        assert called(monkeypatch, "--lake", str(lake), "--stream", ONE.name[:3], "--json", word) == 0
        told.append(json.loads(capsys.readouterr().out))
        assert (rows_of(lake) == before) == (word == "--dry-run")
    assert [one.pop("status") for one in told] == ["dry run", "done"]
    assert [one.pop("run_id") is None for one in told] == [True, False]
    assert told[0] == told[1] == {"lake": str(lake), "connections": 1, "rows": dict.fromkeys(KEYED, 1), "warnings": []}
    assert called(monkeypatch, "--lake", str(lake), "--stream", ONE.name, "--yes") == 0
    assert capsys.readouterr().out == "0 connections deleted\n"


@pytest.mark.slow
@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_it_asks(
    answer: bool, lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows_of(lake)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question: answer)
    assert called(monkeypatch, "--lake", str(lake), "--client", "10.1.2.0/28", "--login", "bob") == 0
    printed = capsys.readouterr().out
    assert "1 connection to be deleted" in printed
    assert ("1 connection deleted" in printed) is answer
    assert ("nothing was deleted" in printed) is not answer
    assert (rows_of(lake) == before) is not answer


@pytest.mark.parametrize(
    ("text", "is_"),
    [
        ("2026-11-21", "2026-11-21T00:00:00+00:00"),
        (" 2026-11-21T08:30:00Z ", "2026-11-21T08:30:00+00:00"),
        ("2026-11-21T08:30:00+02:00", "2026-11-21T06:30:00+00:00"),
        ("2026-11-21 08:30", "2026-11-21T08:30:00+00:00"),
    ],
)
def test_moments(text: str, is_: str) -> None:
    assert moment("--before", text).isoformat() == is_


@pytest.mark.parametrize(
    ("text", "is_"),
    [
        ("10.1.2.3", "10.1.2.3/32"),
        ("10.1.0.0/16", "10.1.0.0/16"),
        ("FD00:0:0::1", "fd00::1/128"),
        ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ("::ffff:10.1.0.0/112", "10.1.0.0/16"),
        ("::/0", "::/0"),
    ],
)
def test_networks(text: str, is_: str) -> None:
    assert forget_command.network(text) == ipaddress.ip_network(is_)


def test_no_word_of_a_network_is_too_much() -> None:
    with pytest.raises(UsageError):
        forget_command.network("10.0.0.0/8 or so")
