"""docs/incidents.md has a row for each kind, with the thresholds of the SQL, and levels as the sentences have them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from pipelines.incidents.kinds import KINDS
from pipelines.incidents.kinds_page import page
from pipelines.incidents.possible import NEEDS
from stompcap.incidents.facts import Facts
from stompcap.incidents.summary import KINDS as SAID
from stompcap.incidents.summary import summarise
from stompcap.tables.incidents import KINDS as WORDS

PAGE = Path(__file__).parents[3] / "docs" / "incidents.md"


def rows() -> dict[str, list[str]]:
    lines = [line for line in page().splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: [cell.strip() for cell in line.strip("|").split("|")] for line in lines}


def facts(kind: str) -> Facts:
    return Facts(kind=kind, subject_kind="login", subject="shop", source="here", begin_ns=0, latest_ns=10**9, end_ns=10**9, events=3,
                 messages=2, of_all=1.0)  # fmt: skip


def test_the_page_is_that_of_the_thresholds() -> None:
    assert PAGE.read_text("utf-8") == page() + "\n"


def test_each_kind_has_a_row_a_sentence_and_a_word() -> None:
    names = {kind.name for kind in KINDS}
    assert len(names) == len(KINDS)
    assert rows().keys() == names == SAID.keys()
    assert names <= set(WORDS)
    assert NEEDS.keys() <= names


def test_the_page_tells_level_and_what_would_change_it() -> None:
    for name, cells in rows().items():
        told = summarise(facts(name))
        assert re.match(told.level, cells[2]), name
        assert cells[3] == (told.would_change or ""), name


def test_a_sentence_is_one_line_of_what_can_be_printed() -> None:
    hostile = "\x1b[31m<b>\u202e\nqueue/" + "x" * 500
    for name in SAID:
        one = summarise(replace(facts(name), subject=hostile, what=hostile, text=hostile, server_product=hostile, destination_name=hostile,
                           end_ns=None, messages=10**6, most=1e9, mean=1e9, total=1e12, before=0.001, backlog=1e6, late_s=1e5))  # fmt: skip
        assert one.sentence.isprintable(), name
        assert len(one.sentence) <= 340, name
