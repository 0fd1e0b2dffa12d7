"""Coverage: which rules some sessions have tried, by the side that is judged."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from stompcap.rules import RULES, judge
from stompcap.rules.coverage import coverage
from stompcap.rules.occasions import OCCASIONS
from tests.rules.test_examples import EXAMPLES
from tests.rules.transcript import analysed


@pytest.fixture(scope="module")
def examples() -> tuple[pa.Table, dict[str, pa.Table]]:
    """All examples of the catalogue at once, each a session of its own: their coverage, and the tables of the engine."""
    analysis = analysed(*(text for _, text, _ in EXAMPLES))
    return coverage(analysis), judge(analysis)


def test_every_rule_says_what_exercises_it() -> None:
    assert OCCASIONS.keys() == {rule.id for rule in RULES}


def test_findings_are_the_failures_of_the_side_that_is_blamed(examples: tuple[pa.Table, dict[str, pa.Table]]) -> None:
    found, tables = examples
    failures = Counter({(row["stream_id"], row["rule_id"], row["side"]): row["failed"] for row in found.to_pylist() if row["failed"]})
    assert failures == Counter((row["stream_id"], row["rule_id"], row["side"]) for row in tables["compliance_findings"].to_pylist())


def test_opportunities_are_the_engines_but_where_a_rule_is_narrowed(examples: tuple[pa.Table, dict[str, pa.Table]]) -> None:
    found, tables = examples
    sums: Counter[tuple[str, str, str]] = Counter()
    for row in found.to_pylist():
        for name in ("applicable", "failed", "not_evaluable"):
            sums[row["stream_id"], row["rule_id"], name] += row[name]
    for row in tables["compliance"].to_pylist():
        key = row["stream_id"], row["rule_id"]
        mine = {name: sums[*key, name] for name in ("applicable", "failed", "not_evaluable")}
        if OCCASIONS[row["rule_id"]].tried is None:
            assert mine == {name: row[name] for name in mine}, key
        else:
            assert mine["failed"] == row["failed"], key
            assert mine["applicable"] <= row["applicable"], key


def test_a_rule_of_one_side_is_tried_by_that_side_alone(examples: tuple[pa.Table, dict[str, pa.Table]]) -> None:
    sides = {rule.id: {"client", "server"} if rule.side == "both" else {rule.side} for rule in RULES}
    assert not [row for row in examples[0].to_pylist() if row["side"] not in sides[row["rule_id"]]]


CASES = {
    "FR-09": (r"C: SEND⏎destination:/queue/a⏎⏎one␀", r"C: SEND⏎destination:/queue/a⏎content-length:7⏎⏎one␀two␀"),
    "FR-18": (r"C: SEND⏎destination:/queue/a⏎⏎␀", r"C: SEND⏎destination:/queue/\xc3\xa4⏎⏎␀"),
    "FR-20": (r"C: SEND⏎destination:/queue/a⏎path:c\\temp⏎⏎␀", r"C: SEND⏎destination:/queue/a⏎time:12\c30⏎⏎␀"),
    "SB-03": ("C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀",
              "C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀\nC: SUBSCRIBE⏎id:1⏎destination:/queue/b⏎⏎␀"),
    "TX-03": ("C: BEGIN⏎transaction:1⏎⏎␀", "C: BEGIN⏎transaction:1⏎⏎␀\nC: BEGIN⏎transaction:2⏎⏎␀"),
    "RC-07": ("C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀",
              "C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀\nC: SEND⏎destination:/queue/a⏎receipt:2⏎⏎␀"),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_what_lacks_the_content_that_a_rule_is_about_has_not_tried_it(rule: str) -> None:
    found = coverage(analysed(*(f"in 1.2\n{text}" for text in CASES[rule]))).to_pylist()
    assert {row["stream_id"] for row in found if row["rule_id"] == rule and row["side"] == "client"} == {"s1"}
