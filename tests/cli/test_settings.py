"""--settings reaches the run, and the catalogue on the terminal shows what is in force."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from stompcap.cli import entry
from stompcap.cli.commands import run_commands
from stompcap.options import Options
from stompcap.settings import RuleSetting


@pytest.fixture
def path(tmp_path: Path) -> str:
    found = tmp_path / "mine.toml"
    found.write_text('[rules."FR-20"]\nenabled = false\n[rules."CN-05"]\nlevel = "I"\n')
    return str(found)


@pytest.mark.parametrize("command", [["run", "x.pcap"], ["metrics"]])
def test_a_run_takes_them(command: list[str], path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Options] = []
    monkeypatch.setattr(run_commands, "perform", lambda _stages, _captures, _lake, options, *_, **__: told.append(options))
    app = typer.Typer()
    run_commands.register(app)
    done = CliRunner().invoke(app, [*command, "--lake", "l", "--settings", path])
    assert done.exit_code == 0
    assert told[0].settings.of("FR-20") == RuleSetting(False)


@pytest.mark.parametrize("command", ["run", "extract"])
def test_a_run_takes_the_limit_of_what_a_capture_decompresses_to(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Options] = []
    monkeypatch.setattr(run_commands, "perform", lambda _stages, _captures, _lake, options, *_, **__: told.append(options))
    app = typer.Typer()
    run_commands.register(app)
    for more in ([], ["--max-decompressed", "5000"]):
        assert CliRunner().invoke(app, [command, "x.pcap", "--lake", "l", *more]).exit_code == 0
    assert [one.max_decompressed for one in told] == [None, 5000]
    assert CliRunner().invoke(app, [command, "x.pcap", "--lake", "l", "--max-decompressed", "0"]).exit_code == 2


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


def test_the_list_shows_what_is_in_force(path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "rules", "list", "--settings", path) == 0
    levels = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines())
    assert (levels["FR-20"], levels["CN-05"], levels["FR-01"]) == ("off", "INFO", "MUST")


def test_one_rule(path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "rules", "explain", "cn-05", "--settings", path) == 0
    assert "level      INFO\n" in capsys.readouterr().out


def test_what_makes_no_sense(path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path(path).write_text('[rules."FR-99"]\nenabled = false\n')
    assert called(monkeypatch, "metrics", "--lake", "l", "--settings", path) == 2
    assert capsys.readouterr().err == (
        f'stompcap: {path}, line 1: rules."FR-99": no such rule; `stompcap rules list` shows them all\n'
    )
