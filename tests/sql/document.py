"""docs/sql.md, generated: `python -m tests.sql.document LAKE CARRIED > docs/sql.md`, with lakes of the bundled recordings: of data/, and
of data/transports/ with their key logs.

The questions are in questions.sql and, those to the second lake, in transports.sql. The tables, views and relations come from their
declarations in the code.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stompcap.cli import render
from stompcap.lake.reading import answered
from stompcap.views import VIEWS

QUESTIONS, OF_TRANSPORTS = (Path(__file__).with_name(name) for name in ("questions.sql", "transports.sql"))
PROSE = Path(__file__).with_name("sql.md")
WIDEST = 60  # characters of a value
KEYS = "Keys and references; [tables.md](tables.md) has all columns. Most rows also have the `batch_id` of the batch that wrote them."


@dataclass(frozen=True)
class Question:
    """A question in words, a remark on its answer, its SQL, and who asks it."""

    asked_by: str
    words: str
    remark: str
    sql: str


def questions(path: Path = QUESTIONS) -> list[Question]:
    """The questions of a file in order."""
    found, asked_by = [], ""
    for part in re.split(r"\n\n+", path.read_text(encoding="utf-8").strip()):
        if part.startswith("-- # "):
            asked_by = part.removeprefix("-- # ")
            continue
        words, *remarks = re.findall(r"^-- (.*)$", part, re.MULTILINE)
        sql = re.sub(r"^-- .*\n", "", part, flags=re.MULTILINE).strip().removesuffix(";")
        found.append(Question(asked_by, words, " ".join(remarks), sql))
    return found


def printed(columns: list[str], rows: list[list[Any]]) -> str:
    """Rows as `stompcap sql` prints them, values cut to WIDEST characters."""
    text = io.StringIO()
    render.show(render.table(columns, rows, WIDEST), text)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def document(lake: str, carried: str) -> str:
    """The whole page."""
    pieces = [PROSE.read_text(encoding="utf-8").rstrip(), "", *_views(), *_diagram()]
    pieces += [*_answers(lake, questions()), *_answers(carried, questions(OF_TRANSPORTS))]
    return "\n".join(pieces).rstrip() + "\n"


def _answers(lake: str, asked: list[Question]) -> Iterator[str]:
    """Questions with what a lake answers."""
    asked_by = ""
    for question in asked:
        if question.asked_by != asked_by:
            asked_by = question.asked_by
            yield from (f"## {asked_by}", "")
        with answered(lake, question.sql) as (columns, rows):
            shown = printed(columns, list(rows))
        yield from (f"### {question.words}", "", *([question.remark, ""] if question.remark else []))
        yield from ("```sql", question.sql, "```", "", "```text", shown, "```", "")


def _views() -> list[str]:
    told = "Those named `..._details` have the rows of their table, and columns of others; the rest answer a question."
    lines = ["## Views", "", f"Beside the tables there are views. {told}", ""]
    lines += ["| view | table | what it adds |", "| --- | --- | --- |"]
    lines += [f"| `{view.name}` | `{view.tables[0]}` | {view.comment} |" for view in VIEWS.values()]
    return [*lines, ""]


def _diagram() -> list[str]:
    """How tables refer to each other, with the columns that identify or join their rows: tests/sql/diagram.py draws it."""
    return ["## How tables join", "", KEYS, "", "![The tables with their keys, and what refers to them](tables.svg)", ""]


if __name__ == "__main__":
    sys.stdout.write(document(*sys.argv[1:]))
