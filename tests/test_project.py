"""The project's own promises: what lies where, which way imports go, and that what is declared in two places agrees."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import stompcap
from stompcap.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# The way of the data: a folder may know those before it, never those after it.
LAYERS = (
    "tables",
    "capture",
    "tcp",
    "transport",
    "stomp",
    "session",
    "rules",
    "generate",
    "assembly",
    "spark",
    "quality",
    "report",
    "prepare",
    "wireshark",
    "cli",
)
# Single modules that any layer may use, which know no folder, or the tables alone.
BASE = {"baseline", "errors", "kernel", "kernel_cache", "visible", "units", "options", "zones"}
OVER_TABLES = {"views"}
PURE = {"tables", "capture", "tcp", "transport", "stomp", "session", "rules"}
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


def imports(path: Path) -> list[tuple[int, str]]:
    """Line and full name of every absolute import, `if TYPE_CHECKING` ones left out: they are not there at run time."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def offences(path: Path, forbidden: re.Pattern[str]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line} imports {name}" for line, name in imports(path) if forbidden.match(name)]


def test_top_level_holds_nothing_else() -> None:
    assert {name.split("/")[0] for name in tracked()} <= TOP_LEVEL


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources("stompcap", "pipelines", "jobs", "airflow_dags", "benchmarks", "data", "tests")
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_nothing_downstream_is_known_upstream() -> None:
    wrong = []
    for rank, layer in enumerate(LAYERS):
        later = "|".join(LAYERS[rank + 1 :])
        if later:
            for path in sources(f"stompcap/{layer}"):
                wrong += offences(path, re.compile(rf"stompcap\.({later})\b"))
    for name in BASE | OVER_TABLES:
        path = ROOT / "stompcap" / f"{name}.py"
        if path.exists():
            later = "|".join(LAYERS[1:] if name in OVER_TABLES else LAYERS)
            wrong += offences(path, re.compile(rf"stompcap\.({later})\b"))
    assert not wrong


def test_protocol_logic_is_without_spark() -> None:
    outside = re.compile(r"(pyspark|delta|deltalake|py4j)\b")
    assert not [o for layer in sorted(PURE) for path in sources(f"stompcap/{layer}") for o in offences(path, outside)]


def test_pipelines_parse_no_arguments_and_jobs_hold_no_logic() -> None:
    parsers = re.compile(r"(argparse|typer|click)\b")
    assert not [o for path in sources("pipelines") for o in offences(path, parsers)]
    assert not [o for path in sources("jobs") for o in offences(path, re.compile(r"(numpy|numba|scapy)\b"))]


def test_dags_import_nothing_heavy() -> None:
    heavy = re.compile(r"(pyspark|scapy|numba|pandas|stompcap)\b")
    assert not [o for path in sources("airflow_dags") for o in offences(path, heavy)]


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
