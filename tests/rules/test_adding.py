"""A rule is added in one file, and a column of `frames` where its value is computed and in the table: nothing else need be told of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stompcap import kernel_cache

ROOT = Path(__file__).resolve().parents[2]
RULE = '''"""Made up."""

from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged

MADE_UP = Chapter("Made up")


@MADE_UP.rule("SN-98", versions=ALL_VERSIONS, side="client", level="I", observed="F", clause="none", keeps="", breaks="")
def sn_98(ctx: RuleContext) -> Judged:
    """A SEND is not shouted."""
    return Judged(ctx.of("SEND"), ctx.matches("destination", "^[A-Z/]+$"), "destination:{destination}")
'''
CHECK = """
import sys
from stompcap import kernel_cache
kernel_cache.name = lambda: sys.argv[1]  # neither change is one of a kernel
from stompcap.rules import RULES, explain_rule, judge
from stompcap.rules.rules_page import document
from stompcap.tables import TABLES
from stompcap.tables.tables_page import document as tables_document
from tests.session.transcript import run
lines = ("> CONNECT accept-version:1.2 host:/", "< CONNECTED version:1.2", "> SEND destination:/LOUD", "> SEND destination:/quiet")
analysis = run(chr(10).join(lines))
[row] = [row for row in judge(analysis)["compliance"].to_pylist() if row["rule_id"] == "SN-98"]
assert (row["applicable"], row["failed"]) == (2, 1), row
assert "not shouted" in explain_rule("SN-98") and "SN-98" in document()
assert "header_lines" in TABLES["frames"].arrow.names and "`header_lines`" in tables_document()
"""
COLUMN = '        big("header_lines", "Header lines of the frame"),\n'
COMPUTED = '    columns["header_lines"] = pa.array(np.diff(heads.first).astype(np.int64))\n'


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The sources, to be changed."""
    for folder in ("stompcap", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def changed(path: Path, behind: str, line: str) -> None:
    """A line more, behind the one that has some text."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = next(number for number, each in enumerate(lines) if behind in each)
    path.write_text("".join([*lines[: at + 1], line, *lines[at + 1 :]]), "utf-8")


@pytest.mark.slow
def test_a_rule_and_a_column(copied: Path) -> None:
    (copied / "stompcap/rules/sending/made_up.py").write_text(RULE, "utf-8")
    changed(copied / "stompcap/tables/silver.py", 'big("body_octets"', COLUMN)
    changed(copied / "stompcap/stomp/decoder.py", 'columns["body_octets"]', COMPUTED)
    name, kernels = kernel_cache.name(), copied / "kernels"
    for folder in reversed(kernel_cache.folders()):
        if folder.exists():
            shutil.copytree(folder, kernels / name, dirs_exist_ok=True)
    words = [sys.executable, "-c", CHECK, name]
    environment = os.environ | {kernel_cache.VARIABLE: str(kernels)}
    done = subprocess.run(words, cwd=copied, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
