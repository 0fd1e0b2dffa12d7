"""`make setup` on an environment that it must leave alone, and where one that helps cannot be made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from stompcap.cli.commands import prepare_command
from stompcap.errors import EnvironmentProblem

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder in which setup works, on its own."""
    (tmp_path / "clone" / ".ci").mkdir(parents=True)
    for name in (".ci/setup", ".ci/constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    return tmp_path / "clone"


def refused(clone: Path) -> str:
    done = subprocess.run([clone / ".ci" / "setup"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1), done.stderr
    return done.stderr


def test_an_environment_behind_a_link_is_refused(clone: Path) -> None:
    (clone.parent / "other").mkdir()
    (clone / ".venv").symlink_to(clone.parent / "other")
    assert f"{clone}/.venv is a symbolic link" in refused(clone)
    assert not any((clone.parent / "other").iterdir())


@pytest.mark.parametrize("line", ['VIRTUAL_ENV="{}"', "    export VIRTUAL_ENV={}", "VIRTUAL_ENV='{}'"])
def test_an_environment_of_another_folder_is_refused(clone: Path, line: str) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "activate").write_text(
        f"VIRTUAL_ENV=$(cygpath /x)\n{line.format('/somewhere else/.venv')}\nexport VIRTUAL_ENV\n"
    )
    assert "/.venv was set up as /somewhere else/.venv" in refused(clone)


def test_without_the_class_data_archive_there_is_a_warning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from stompcap.prepare import classes

    def fails(_: object) -> int:
        raise EnvironmentProblem("the class-data archive could not be made (it took longer than 300 s)")

    monkeypatch.setattr(classes, "record", fails)
    monkeypatch.setattr(prepare_command, "STEPS", prepare_command.STEPS[1:])
    app = typer.Typer()
    prepare_command.register(app)
    app([], standalone_mode=False)
    assert capsys.readouterr().err == (
        "warning: the class-data archive could not be made (it took longer than 300 s); runs start some seconds slower; "
        "stompcap prepare tries again\n"
    )
