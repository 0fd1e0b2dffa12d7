"""The catalogue's own examples: what breaks a rule is found, what keeps it is not."""

import pytest

from stompcap.rules import RULES, judge
from tests.rules.transcript import analysed

EXAMPLES = [
    (rule.id, text, breaks) for rule in RULES for text, breaks in ((rule.breaks, True), (rule.keeps, False)) if text
]
NAMES = [f"{rule}-{'breaks' if breaks else 'keeps'}" for rule, _, breaks in EXAMPLES]


@pytest.fixture(scope="module")
def judged() -> tuple[list[dict], list[dict]]:
    """All examples at once, each a session of its own."""
    tables = judge(analysed(*(text for _, text, _ in EXAMPLES)))
    return tables["compliance"].to_pylist(), tables["compliance_findings"].to_pylist()


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=NAMES)
def test_example(number, judged):
    rule, _, breaks = EXAMPLES[number]
    key = (f"s{number}", rule)
    counts, findings = ([row for row in rows if (row["stream_id"], row["rule_id"]) == key] for rows in judged)
    assert bool(findings) == breaks, findings or counts
    assert sum(row["failed"] for row in counts) == len(findings)
    if not breaks:
        assert counts, "the example never lets the rule apply"
