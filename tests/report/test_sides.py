"""On recordings of brokers: no number of findings is of both sides together, or of two levels, wherever findings are counted."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pyarrow as pa
import pytest

from stompcap.cli.commands.show_queries import sections
from stompcap.cli.summary import summary
from stompcap.lake.query import in_process
from stompcap.report import build
from stompcap.report.page import records
from stompcap.rules import catalogue_table
from stompcap.tables.levels import SPELLED
from stompcap.views import VIEWS
from tests.cli.test_render import printed, result
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.report.sample import ask, table
from tests.sql.document import Question, questions

CAPTURES = [str(DATA / name) for name in ("rabbitmq_violations.pcap", "artemis_aftermath.pcapng")]
Found = Counter[tuple[str, str, str]]
COUNTED = [one for one in questions() if re.search(r"compliance_findings|finding_details", one.sql) and "count(" in one.sql]


@pytest.fixture(scope="module")
def lake() -> dict[str, pa.Table]:
    return {"rules": catalogue_table(), **tables_of(CAPTURES)}


@pytest.fixture(scope="module")
def answers(lake: dict[str, pa.Table]) -> dict[str, pa.Table]:
    return ask(lake)


@pytest.fixture(scope="module")
def found(lake: dict[str, pa.Table]) -> Found:
    """Findings by rule, level and side, counted one by one."""
    rows = lake["compliance_findings"].select(["rule_id", "level", "side"]).to_pylist()
    return Counter((row["rule_id"], row["level"], row["side"]) for row in rows)


def of(found: Found, *, level: str | None = None, side: str | None = None) -> int:
    return sum(number for (_, one, who), number in found.items() if level in (None, one) and side in (None, who))


def test_recordings_have_rules_that_both_sides_broke_and_rules_of_two_levels(found: Found) -> None:
    both = {rule for rule, _, side in found if side == "client"} & {rule for rule, _, side in found if side == "server"}
    levels = Counter(rule for rule, _ in {(rule, level) for rule, level, _ in found})
    assert both
    assert max(levels.values()) > 1


@pytest.mark.parametrize("name", ["broken", "product_findings"])
def test_answers_of_the_report_are_by_rule_level_and_side(answers: dict[str, pa.Table], found: Found, name: str) -> None:
    told: Found = Counter()
    for row in answers[name].to_pylist():
        told[row["rule_id"], row["level"], row["side"]] += row["findings"]
    assert told == found


def test_show_has_a_row_for_each_rule_level_and_side(lake: dict[str, pa.Table], found: Found) -> None:
    [asked] = [one.query for one in sections(1000) if one.query.name == "findings"]
    [rows] = in_process({name: lake[name] for name in asked.tables}, [asked]).values()
    assert {(row["rule_id"], row["level"], row["side"]): row["findings"] for row in rows.to_pylist()} == found


def test_the_head_of_the_report_and_the_summary_of_a_run_count_each_side_by_level(answers: dict[str, pa.Table], found: Found) -> None:
    page = unescape(re.sub(r"<[^>]*>", " ", build(answers)))
    told = printed(summary(result(overview={name: records(rows) for name, rows in answers.items()})))
    for side, words, line in (("client", "clients", "By clients"), ("server", "brokers", "By brokers")):
        numbers = [f"{of(found, level=level, side=side):,} {word}" for level, word in SPELLED.items()]
        assert f"Findings, {words} {' '.join(numbers)}".replace(",", "") in " ".join(page.split()).replace(",", "")
        assert f"{line} {', '.join(numbers)} findings" in told
    assert f" {sum(found.values()):,} " not in f" {told} ", "a sum of all"


def test_a_rate_is_not_of_the_occasions_of_both_sides(answers: dict[str, pa.Table]) -> None:
    rules = {row["id"]: row for row in catalogue_table().to_pylist()}
    listed = build(answers).partition("Broken rules")[2].partition("</table>")[0]
    for row in re.findall(r"<tr>.*?</tr>", listed)[1:]:
        [name] = set(re.findall(r"[A-Z]{2}-\d\d", row))
        assert (rules[name]["side"] == "both") == ("of both sides" in row) == ('class="meter"' not in row), name


@pytest.mark.parametrize("question", COUNTED, ids=lambda one: one.words)
def test_questions_that_count_findings_count_those_of_one_side_and_level(question: Question) -> None:
    assert re.search(r"\bside = '(client|server)'|GROUP BY .*\bside\b", question.sql), "sides are apart"
    assert re.search(r"\blevel = '[MSI]'|GROUP BY .*\blevel\b", question.sql, re.DOTALL), "levels are apart"


def test_views_have_level_and_side_of_each_finding() -> None:
    counting = {name for name, view in VIEWS.items() if view.tables[0].startswith("compliance")}
    assert counting == {"finding_details"}, "a view of compliance or compliance_summary would count both sides"
    assert {"level", "side"} <= set(table("compliance_findings", []).column_names)
