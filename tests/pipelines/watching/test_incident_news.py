"""A watch says an incident once when it begins, and once when it ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.watching.incident_news import IncidentNews


def row(name: str, begin: int = 10, end: int | None = None, subject: str = "billing") -> dict[str, Any]:
    return {
        "incident_id": name, "kind": "refused", "subject_kind": "login", "subject": subject, "source": "default", "destination_name": None,
        "begin_ns": begin, "end_ns": end,
    }  # fmt: skip


def said(known: list[dict[str, Any]], *rounds: list[dict[str, Any]]) -> list[list[str]]:
    told = IncidentNews(known)
    return [[f"{state} {one['incident_id']}" for state, one in told.of(rows)] for rows in rounds]


CASES = {
    "begins, goes on, ends, stays ended": (
        [], [[row("a")], [row("a")], [row("a", end=20)], [row("a", end=20)]], [["began a"], [], ["ended a"], []],
    ),
    "begun and ended in a round": ([], [[row("a", end=20)], [row("a", end=20)]], [["began a"], []]),
    "known before": (
        [row("a"), row("b", end=12)], [[row("a"), row("b", end=12)], [row("a", end=20), row("b", end=12)]], [[], ["ended a"]],
    ),
    "begins earlier by what came late": ([], [[row("a")], [row("b", begin=5)], [row("b", 5, 20)]], [["began a"], [], ["ended b"]]),
    "another time": ([], [[row("a", end=20)], [row("b", begin=90), row("a", end=20)]], [["began a"], ["began b"]]),
    "another time, the first forgotten": ([], [[row("a", end=20)], [row("b", begin=90)]], [["began a"], ["began b"]]),
    "another subject": ([], [[row("a")], [row("b", subject="mailer")]], [["began a"], ["began b"]]),
    "taken back": ([], [[row("a")], []], [["began a"], []]),
    "ended, and longer": ([], [[row("a", end=20)], [row("a", end=40)]], [["began a"], []]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_said(case: str) -> None:
    known, rounds, expected = CASES[case]
    assert said(known, *rounds) == expected


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), unique_by=lambda one: one[0]), max_size=8))
def test_nothing_begins_twice_while_it_is_there(rounds: list[list[tuple[str, bool]]]) -> None:
    """By id, whatever ends or opens again; what was gone for a round is another one."""
    found = said([], *([row(name, end=20 if ended else None, subject=name) for name, ended in one] for one in rounds))
    for name in "abc":
        there = [any(one == name for one, _ in each) for each in rounds]
        begins = sum(now and not before for before, now in zip([False, *there], there, strict=False))
        assert sum(each.count(f"began {name}") for each in found) == begins
