"""The project's own promises: what lies where, which way imports go, and that what is declared in two places agrees."""

from __future__ import annotations

import re
import subprocess
import tokenize
import tomllib
from itertools import chain
from pathlib import Path
from tokenize import COMMENT, ENCODING, NEWLINE, NL, STRING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import stompcap
from stompcap.version import VERSION
from tests.examples import in_part

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

TOP_LEVEL = {
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "airflow_dags",
    "benchmarks", "data", "docs", "jobs", "mkdocs.yml", "pipelines", "pyproject.toml", "stompcap", "tests",
}  # fmt: skip


def tracked() -> list[str]:
    """The files git knows; skips where this is no clone."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        pytest.skip("not a git clone")
    return done.stdout.splitlines()


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_top_level_holds_nothing_else() -> None:
    assert {name.split("/")[0] for name in tracked()} <= TOP_LEVEL


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources("stompcap", "pipelines", "jobs", "airflow_dags", "benchmarks", "data", "tests")
        if path.stat().st_size and not begins_with_a_docstring(path)
    ]
    assert not silent


def begins_with_a_docstring(path: Path) -> bool:
    """By its first words alone, for there are many modules."""
    with path.open("rb") as file:
        kinds = (one.type for one in tokenize.tokenize(file.readline) if one.type not in (ENCODING, COMMENT, NL))
        return (next(kinds), next(kinds)) == (STRING, NEWLINE)


@pytest.mark.parametrize(
    ("text", "begins"),
    [('"""What."""\n', True), ('# Who.\n\n"""What."""\n\nimport os\n', True), ('import os\n"""What."""\n', False), ('"a" + b\n', False)],
)
def test_a_module_that_says_nothing_is_found(text: str, begins: bool, tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(text)
    assert begins_with_a_docstring(tmp_path / "some.py") is begins


def test_version_is_one() -> None:
    """It is that of the latest changes, or, while these are not released, a later one."""
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "stompcap.version.VERSION"}
    first, *rest = re.findall(r"^## \[?([^\]\s]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = Version(rest[0] if first == "Unreleased" else first)
    assert Version(VERSION) > released if first == "Unreleased" else Version(VERSION) == released
    assert getattr(stompcap, "__version__", VERSION) == VERSION


def test_constraints_hold_what_is_declared() -> None:
    texts = [(ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("constraints.txt", "site-constraints.txt")]
    lines = "".join(reversed(texts)).splitlines()
    pinned = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    project = PYPROJECT["project"]
    declared = [
        Requirement(text) for text in project["dependencies"] + list(chain(*project["optional-dependencies"].values()))
    ]
    for requirement in declared:
        if requirement.name != "stompcap":
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement.name} has no tested version"
            assert version in requirement.specifier, f"{requirement.name} {version} is outside {requirement.specifier}"


def test_readme_names_real_targets_and_files() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)", readme)) <= targets
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in link]
    assert not [link for link in links if not (ROOT / link).exists()]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_each_test_is_in_one_part(parts: int) -> None:
    names = [f"tests/test_{number}.py::test_it[{number % 7}]" for number in range(300)]
    chosen = [[name for name in names if in_part(f"{number}/{parts}", name)] for number in range(1, parts + 1)]
    assert sorted(chain(*chosen)) == sorted(names)
    assert min(map(len, chosen)) > len(names) // parts // 2
