"""What works without the packages of an extra, and what is said where it does not: in processes that have these packages hidden."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from stompcap import extras
from stompcap.cli.main import app
from stompcap.cli.needs import NEEDS
from stompcap.errors import EnvironmentProblem
from tests.examples import slow_behind

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = str(ROOT / "data" / "rabbitmq_habits.pcap")
OF_LAKE = extras.PACKAGES[extras.LAKE]
OF_SPARK = extras.PACKAGES[extras.SPARK]
ALL = OF_LAKE + OF_SPARK
BASE = (
    ("peek", CAPTURE), ("peek", CAPTURE, "--summary", "--json"), ("generate", "made.pcap", "--size", "100kB"), ("dissector",),
    ("rules", "list"), ("rules", "explain", "FR-07"), ("doctor",), ("manual",), ("completion", "bash"), ("--version",), ("--help",),
    ("run", "--help"), ("show", "-h"),
)  # fmt: skip
"""What needs no extra."""
CALLED = {
    "run": ("run", CAPTURE, "--lake", "lake"), "extract": ("extract", CAPTURE, "--lake", "lake"),
    "watch": ("watch", ".", "--lake", "lake"), "export": ("export", "abc", "--lake", "lake", "-o", "out.pcap"),
    "rules compare": ("rules", "compare", "RabbitMQ", "Artemis", "--lake", "lake"), "sql": ("sql", "SELECT 1", "--lake=lake"),
    "doctor --lake": ("doctor", "--lake=lake"),
}  # fmt: skip
"""Command lines of those that take more than a lake."""

PROGRAM = """
import contextlib, io, json, sys

hidden, lines = json.loads(sys.argv[1])

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hiding())
from stompcap.cli.entry import outcome

found = []
for line in lines:
    sys.argv = ["stompcap", *line]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = outcome()
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def called(hidden: tuple[str, ...], lines: list[tuple[str, ...]], folder: Path) -> list[Any]:
    """The exit code, the output and the errors of command lines, in a process without some packages."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([hidden, lines])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def needing(extra: str) -> list[tuple[str, ...]]:
    return [CALLED.get(name, (*name.split(), "--lake", "lake")) for name in NEEDS[extra]]


@pytest.mark.slow
def test_what_reads_captures_needs_no_extra(tmp_path: Path) -> None:
    for line, (code, _, err) in zip(BASE, called(ALL, list(BASE), tmp_path), strict=True):
        assert code == 0, (line, err)


@pytest.mark.parametrize(
    ("hidden", "without"),
    [
        (ALL, extras.LAKE),
        *slow_behind(1, [((one,), extras.SPARK) for one in OF_SPARK], several=True),
        *slow_behind(1, [((one,), extras.LAKE) for one in OF_LAKE], several=True),
    ],
)
def test_a_command_without_its_extra_names_what_installs_it_in_one_line(hidden: tuple[str, ...], without: str, tmp_path: Path) -> None:
    told = [(extra, line) for extra in NEEDS if without in extras.INCLUDED[extra] for line in needing(extra)]
    for (extra, line), (code, out, err) in zip(told, called(hidden, [line for _, line in told], tmp_path), strict=True):
        assert (code, out) == (3, ""), (line, err)
        says = rf"stompcap {line[0]} needs \w+, which is not installed; run: pip install 'stompcap\[{extra}\]'"
        assert re.fullmatch(f"stompcap: {says}\n", err)
    assert not list(tmp_path.iterdir())


def test_an_import_that_fails_later_is_told_too(tmp_path: Path) -> None:
    [(code, _, err)] = called(("pyspark",), [("show", "--lake", "nowhere")], tmp_path)
    assert (code, "no lake here" in err) == (3, True)  # a lake is read without Spark: what is wrong is that there is none
    for package in ALL:
        assert "pip install 'stompcap[" in (extras.lacking(ModuleNotFoundError("", name=f"{package}.some")) or "")
    assert extras.lacking(ModuleNotFoundError("", name="numpy")) is None
    assert extras.lacking(ImportError("", name="duckdb")) is None


def test_programs_are_told_as_commands_are(monkeypatch: pytest.MonkeyPatch) -> None:
    import stompcap

    monkeypatch.setattr(extras, "there", lambda package: package != "pyspark")
    with pytest.raises(EnvironmentProblem, match=r"^stompcap.run needs pyspark, .*'stompcap\[spark\]'$"):
        stompcap.run([CAPTURE], "lake")


def test_packages_are_those_of_pyproject() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    installed = packages_distributions()
    for extra, packages in extras.PACKAGES.items():
        names = {re.split(r"[\[<>=]", one)[0].replace("_", "-") for one in declared[extra]} - {"stompcap"}
        assert {name.replace("_", "-").lower() for package in packages for name in installed[package]} == names


def test_commands_that_need_an_extra_exist() -> None:
    names = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback} | {"rules"}
    assert {one.split()[0] for some in NEEDS.values() for one in some} <= names


def test_modules_that_every_command_imports_import_no_package_of_an_extra() -> None:
    for folder in ("cli", "cli/commands", "cli/dialogue", "cli/trace"):
        for path in (ROOT / "stompcap" / folder).glob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                    assert not {name.split(".")[0] for name in names}.intersection(ALL), path
