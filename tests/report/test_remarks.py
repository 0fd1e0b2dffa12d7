"""Remarks name what the findings say, not what a rule's level might have been."""

from __future__ import annotations

from typing import Any

from stompcap.report.remarks import remarks


def broken(name: str, level: str, side: str, findings: int) -> dict[str, Any]:
    return {"rule_id": name, "level": level, "side": side, "title": f"title of {name}", "findings": findings}


def test_the_worst_rule_is_the_one_with_most_findings_of_the_level() -> None:
    rows = [broken("FR-17", "I", "client", 300), broken("HB-02", "M", "server", 40), broken("FR-04", "M", "client", 39),
            broken("FR-04", "I", "client", 70)]  # fmt: skip
    levels = [{"level": "M", "side": "client", "findings": 39}, {"level": "M", "side": "server", "findings": 40},
              {"level": "I", "side": "client", "findings": 370}]  # fmt: skip
    [found] = [remark for remark in remarks({"rules": [{}], "broken": rows, "levels": levels}) if remark.section == "compliance"]
    assert found.grade == "bad"
    assert found.sentence == "79 MUST findings, 39 by clients and 40 by brokers; most often HB-02: title of HB-02."


def test_findings_worth_knowing_break_no_rule() -> None:
    levels = [{"level": "I", "side": "client", "findings": 370}]
    [found] = remarks({"rules": [{}], "broken": [broken("FR-17", "I", "client", 370)], "levels": levels})
    assert (found.grade, found.sentence) == ("ok", "No MUST or SHOULD rule was broken where it could be judged.")


def test_clocks_that_disagree_are_a_warning() -> None:
    row = {"against_time": 3, "unsure": 3, "durations": 127, "without_times": 0}
    [found] = remarks({"clocks_total": [row]})
    assert (found.grade, found.section) == ("warn", "captures")
    assert found.sentence.startswith("In 3 sessions acknowledgements have earlier times than what they acknowledge: ")
    assert remarks({"clocks_total": [dict.fromkeys(row, 0)]}) == []
