"""The catalogue as data: complete, well formed, and the page made from it current."""

from pathlib import Path

import pytest

from stompcap.errors import UsageError
from stompcap.rules import RULES, catalogue_table, explain_rule, list_rules
from stompcap.rules.rules_page import document
from stompcap.tables import TABLES, words
from tests.rules.transcript import read

PAGE = Path(__file__).resolve().parents[2] / "docs/rules.md"


def test_page_is_current():
    assert PAGE.read_text() == document(), "run python -m stompcap.rules.rules_page > docs/rules.md"


def test_ids_are_unique_and_in_order():
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids) == 143
    framing = [i for i in ids if i.startswith("FR")]
    assert framing == sorted(framing)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_record(rule):
    assert set(rule.versions) <= set(words.VERSIONS)
    assert rule.versions
    assert rule.side in ("client", "server", "both")
    assert rule.observed in "FHSTXL"
    assert rule.clause
    assert rule.title
    assert len(rule.explanation) > 20
    for version in (*rule.versions, None):
        assert set(rule.levels(version)) <= set(words.LEVELS)
    assert rule.keeps
    for text in filter(None, (rule.breaks, rule.keeps)):
        read(text)


def test_table():
    table = catalogue_table()
    assert table.schema.equals(TABLES["rules"].arrow)
    assert table["id"].to_pylist() == [rule.id for rule in RULES]
    levels = dict(zip(table["id"].to_pylist(), table["level"].to_pylist(), strict=True))
    assert (levels["FR-01"], levels["FR-28"], levels["FR-04"]) == ("M", "S in 1.1, M in 1.2", "M/I")


def test_list_has_a_line_for_each():
    assert len(list_rules().splitlines()) == len(RULES) + 1


def test_explain_in_any_case():
    text = explain_rule("fr-19B")
    assert text.startswith("FR-19b  An undefined escape is fatal")
    assert "breaks it:" in text


def test_explain_rules_that_no_capture_breaks():
    assert "No capture can prove it broken" in explain_rule("CN-10")


def test_explain_unknown():
    with pytest.raises(UsageError, match=r"no rule FR-9\b.*did you mean FR-"):
        explain_rule("FR-9")
    with pytest.raises(UsageError, match="stompcap rules list"):
        explain_rule("?")
