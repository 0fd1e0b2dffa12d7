"""Operators read of bytes: octets are the specification's, in its rules, and in the names of columns and options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "pipelines", "stompcap/capture", "stompcap/cli", "stompcap/lake", "stompcap/quality",
    "stompcap/report", "stompcap/rules", "stompcap/spark",
)  # fmt: skip
OCTETS = re.compile(r"(?<![\w.-])octets?(?![\w-])", re.IGNORECASE)
QUOTED = "quotations.py"
"""Sentences of the specification."""
NOT_PROSE = re.compile(r"SELECT |⏎|^# |^\w*$")
"""SQL, the dialogues that are examples of rules, the head of their page, single names."""


def told(file: Path) -> Iterator[str]:
    """The texts of a module, its docstrings apart."""
    tree = ast.parse(file.read_text("utf-8"))
    prose = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    parts = (one for one in ast.walk(tree) if isinstance(one, ast.Constant) and id(one) not in prose)
    return (part.value for part in parts if isinstance(part.value, str))


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_told_says_bytes(folder: str) -> None:
    files = sorted(path for path in ROOT.joinpath(folder).rglob("*.py") if path.name != QUOTED)
    assert files
    assert [(file.name, text) for file in files for text in told(file) if OCTETS.search(text) and not NOT_PROSE.search(text)] == []


def test_pages_and_help_say_bytes() -> None:
    pages = [ROOT / "docs" / "commands.md", *(ROOT / "stompcap" / "report").glob("*.html")]
    texts = {page.name: re.sub(r"\{[{%].*?[%}]\}|`[^`]*`", "", page.read_text("utf-8")) for page in pages}
    assert {name: OCTETS.findall(text) for name, text in texts.items() if OCTETS.search(text)} == {}
