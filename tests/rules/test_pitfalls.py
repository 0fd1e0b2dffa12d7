"""Pitfalls: what looks like a breach is none, what is one is found, and every pitfall of the design has a case."""

from __future__ import annotations

from typing import Any

import pytest

from stompcap.rules import RULES, judge
from stompcap.rules.catalogue import BY_ID
from tests.rules.design import catalogue
from tests.rules.pitfalls import CASES
from tests.rules.transcript import analysed


@pytest.fixture(scope="module")
def judged() -> dict[str, list[dict[str, Any]]]:
    """All cases at once, each a session of its own."""
    return {name: table.to_pylist() for name, table in judge(analysed(*(text for *_, text in CASES))).items()}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{rule}: {what}" for rule, what, *_ in CASES])
def test_case(number: int, judged: dict[str, list[dict[str, Any]]]) -> None:
    rule, _, verdict, _ = CASES[number]
    counts, findings = ([row for row in judged[name] if (row["stream_id"], row["rule_id"]) == (f"s{number}", rule)]
                        for name in ("compliance", "compliance_findings"))  # fmt: skip
    if verdict in ("M", "S", "I"):
        assert {row["level"] for row in findings} == {verdict}
        return
    assert not findings
    if verdict == "none":
        assert not counts
    else:
        [row] = counts
        assert (row["not_evaluable"] > 0) == (verdict == "unsure"), row


def test_a_refusal_by_nobody_is_held_against_the_client_alone(judged: dict[str, list[dict[str, Any]]]) -> None:
    number = next(i for i, (rule, what, *_) in enumerate(CASES) if rule == "FR-14" and "implicit" in what)
    found = [row["side"] for row in judged["compliance_findings"] if (row["stream_id"], row["rule_id"]) == (f"s{number}", "FR-14")]
    assert found == ["client"]


def test_cases_are_of_rules_there_are() -> None:
    assert {rule for rule, *_ in CASES} <= {rule.id for rule in RULES}
    assert {verdict for _, _, verdict, _ in CASES} <= {"kept", "none", "unsure", "M", "S", "I"}
    assert len({(rule, what) for rule, what, *_ in CASES}) == len(CASES)


def test_every_pitfall_of_the_design_has_a_case() -> None:
    told = {rule for rule, *_ in CASES}
    assert [row.id for row in catalogue() if row.pitfalls and row.id not in told] == []


def test_every_pitfall_has_a_case() -> None:
    told = {rule for rule, *_ in CASES}
    assert [rule.id for rule in RULES if rule.pitfalls and rule.id not in told and not _says_who(rule.id)] == []


def _says_who(rule: str) -> bool:
    return "X" in BY_ID[rule].observed
