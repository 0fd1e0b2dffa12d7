"""`make setup` on an environment that it must leave alone, and where one that helps cannot be made."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from stompcap.cli.commands import prepare_command
from stompcap.errors import EnvironmentProblem
from stompcap.prepare import classes

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


class Fails:
    """A recording of classes that takes too long."""

    stopped = 0

    def finish(self) -> None:
        raise EnvironmentProblem("the class-data archive could not be made (it took longer than 300 s)")

    def stop(self) -> None:
        self.stopped += 1


def begin_fails() -> None:
    raise EnvironmentProblem("/x.jsa: the class-data archive could not be made (no space left on device)")


@pytest.mark.parametrize(
    ("begin", "why"),
    [
        (Fails, "the class-data archive could not be made (it took longer than 300 s)"),
        (begin_fails, "/x.jsa: the class-data archive could not be made (no space left on device)"),
    ],
)
def test_without_the_class_data_archive_there_is_a_warning(
    begin: Callable[[], object], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(classes, "begin", begin)
    monkeypatch.setattr(prepare_command, "_kernels", lambda _: 0)
    app = typer.Typer()
    prepare_command.register(app)
    app([], standalone_mode=False)
    said = capsys.readouterr().err.replace("class-data archive of the JVM: 0 of 1 made\n", "")
    assert said == f"compiled kernels: all there\nwarning: {why}; runs start some seconds slower; stompcap prepare tries again\n"


def test_where_kernels_fail_the_class_data_archive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, app = Fails(), typer.Typer()

    def kernels(_: object) -> int:
        raise EnvironmentProblem("no room for kernels")

    monkeypatch.setattr(classes, "begin", lambda: begun)
    monkeypatch.setattr(prepare_command, "_kernels", kernels)
    prepare_command.register(app)
    with pytest.raises(EnvironmentProblem, match="no room"):
        app([], standalone_mode=False)
    assert begun.stopped == 1
