"""The catalogue against the design's: the same ids in the same order, the same versions, sides and levels."""

from __future__ import annotations

from stompcap.rules import RULES
from stompcap.rules.record import Rule
from tests.rules.design import catalogue

DIGITS, LETTERS = {"1.0": "0", "1.1": "1", "1.2": "2"}, {"client": "C", "server": "S", "both": "B"}

# Where the design says in words, mostly in its pitfalls, what a level or a side says here.
SAID = {
    "FR-08": {"level": "M"},  # M(implied)
    "FR-11": {"level": "M/I"},  # NULs alone: low severity
    "FR-14": {"side": "B"},  # C,S
    "FR-16": {"level": "M/I"},  # never enforced: I in practice
    "FR-17": {"level": "M/I"},  # UTF-8: low severity
    "FR-20": {"level": "M/I"},  # low severity, high volume
    "FR-22": {"level": "I"},  # undecidable: I only
    "FR-25": {"level": "S/I"},  # legal to send: I, raised if a protocol header differs
    "FR-28": {"level": "S in 1.1, M in 1.2"},  # M(2) S(1)
    "CN-11": {"level": "S in 1.1, M in 1.2"},  # the same
    "SB-03": {"level": "M/I"},  # reuse after UNSUBSCRIBE: separate code
    "TX-03": {"level": "M/I"},  # reuse after the end: warn
    "ER-02": {"versions": "12"},  # 2 (1 partly)
}


def facts(rule: Rule) -> dict[str, str]:
    return {
        "versions": "".join(DIGITS[version] for version in rule.versions), "side": LETTERS[rule.side], "level": rule.level_text,
        "observed": rule.observed,
    }


def test_ids_are_the_designs() -> None:
    wanted = [row.id for row in catalogue()]
    assert len(wanted) == 129
    assert [rule.id for rule in RULES if rule.observed != "L"] == wanted  # those of the layers below STOMP came later


def test_facts_are_the_designs() -> None:
    by_id = {rule.id: facts(rule) for rule in RULES if rule.observed != "L"}
    wanted = {row.id: {name: getattr(row, name) for name in by_id[row.id]} | SAID.get(row.id, {}) for row in catalogue()}
    assert by_id == wanted
