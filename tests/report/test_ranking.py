"""The page, its first remark and the terminal name the broken rules in one order."""

from __future__ import annotations

import io
import re
from typing import Any

from stompcap.cli import render
from stompcap.cli.summary import summary
from stompcap.report import build
from stompcap.report.page import records
from stompcap.report.ranking import ranked, worst
from stompcap.report.remarks import remarks
from tests.report.sample import ask, table


def rule(name: str, level: str) -> dict[str, Any]:
    return {"id": name, "versions": "1.2", "side": "both", "level": level, "title": f"Title of {name}"}


def lake() -> dict[str, Any]:
    """Rules whose declared levels, findings of level MUST and findings of all levels each give another order."""
    found = {"AA-01": ("M/I", 1, 0, 90), "BB-01": ("S", 0, 40, 0), "CC-01": ("M", 7, 0, 0), "DD-01": ("M", 3, 0, 0),
             "EE-01": ("S/M", 5, 9, 0)}  # fmt: skip
    findings, compliance = [], []
    for name, (_, *numbers) in found.items():
        levels = [level for level, number in zip("MSI", numbers, strict=True) for _ in range(number)]
        compliance.append({"stream_id": "s", "rule_id": name, "applicable": 100, "passed": 100 - len(levels), "failed": len(levels)})
        findings += [
            {"rule_id": name, "level": level, "side": "client", "stream_id": "s", "direction": "c2s", "stream_offset": n}
            for n, level in enumerate(levels)
        ]
    made = {"rules": [rule(name, level) for name, (level, *_) in found.items()], "compliance": compliance, "compliance_findings": findings}
    return {name: table(name, rows) for name, rows in made.items()}


ORDER = ["CC-01", "EE-01", "DD-01", "AA-01", "BB-01"]


def test_all_who_rank_rules_rank_them_alike() -> None:
    answers = ask(lake())
    rules = records(answers["rules"])
    assert [row["rule_id"] for row in ranked(rules)] == ORDER
    assert [worst(row) for row in ranked(rules)] == ["M", "M", "M", "M", "S"]
    page = build(answers)
    listed = page[page.index("Broken rules") :]
    assert re.findall(r'<th scope="row" class="keep"><.*?>(..-01)<.*?></th>', listed)[:5] == ORDER
    assert "most often CC-01" in remarks({name: records(answer) for name, answer in answers.items()})[0].sentence
    told = io.StringIO()
    result = {"run_id": "r", "lake": "lake", "status": "done", "seconds": 1, "captures": [], "stages": [], "rows": {}, "warnings": []}
    render.show(summary(result | {"overview": {name: records(answer) for name, answer in answers.items()}}), told)
    assert re.findall(r"^(..-01) ", told.getvalue(), re.MULTILINE) == ORDER
