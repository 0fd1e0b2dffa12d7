"""docs/where.md: what it names is there, and says what it is asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (.+?) \| `(.+?)` \| `(.+?)` \|$", (ROOT / "docs" / "where.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("question", "path", "name"), ROWS, ids=[question for question, _, _ in ROWS])
def test_the_place_named_says_it(question: str, path: str, name: str) -> None:
    of = ROOT / path
    files = sorted(of.rglob("*.py")) if path.endswith("/") else [of]
    assert any(name in file.read_text("utf-8") for file in files), question


def test_every_question_has_one_answer() -> None:
    assert len(ROWS) >= 20
    assert len({question for question, _, _ in ROWS}) == len(ROWS)
