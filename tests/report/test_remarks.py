"""Remarks name what the findings say, not what a rule's level might have been."""

from __future__ import annotations

from stompcap.report.remarks import remarks


def rule(name: str, musts: int, failed: int) -> dict[str, object]:
    return {"rule_id": name, "level": "M/I", "title": f"title of {name}", "musts": musts, "shoulds": 0, "failed": failed}


def test_the_worst_rule_is_the_one_with_most_findings_of_level_must() -> None:
    answers = {"rules": [rule("FR-17", 0, 300), rule("HB-02", 40, 41)], "levels": [{"level": "M", "findings": 40}]}
    [found] = [remark for remark in remarks(answers) if remark.grade == "bad"]
    assert found.sentence == "40 violations of MUST rules; most often HB-02: title of HB-02."
