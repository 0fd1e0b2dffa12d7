"""The page, its first remark and the terminal name the broken rules in one order."""

from __future__ import annotations

import io
import re
from typing import Any

from stompcap.cli import render
from stompcap.cli.summary import summary
from stompcap.report import build, by_product
from stompcap.report.page import records
from stompcap.report.ranking import ranked
from stompcap.report.remarks import remarks
from stompcap.tables.levels import SPELLED
from stompcap.units import NOTHING
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


ORDER = [("CC-01", "M"), ("EE-01", "M"), ("DD-01", "M"), ("AA-01", "M"), ("BB-01", "S"), ("EE-01", "S"), ("AA-01", "I")]


def test_all_who_rank_rules_rank_them_alike() -> None:
    answers = ask(lake())
    broken = records(answers["broken"])
    assert [(row["rule_id"], row["level"]) for row in ranked(broken)] == ORDER
    page = build(answers)
    listed = page[page.index("Broken rules") :]
    rows = re.findall(r'<th scope="row" class="keep"><.*?>(..-01)<.*?></th><td><span class="mark ([MSI])">', listed)
    assert rows == ORDER
    assert "most often CC-01" in remarks({name: records(answer) for name, answer in answers.items()})[0].sentence
    told = io.StringIO()
    result = {"run_id": "r", "lake": "lake", "status": "done", "seconds": 1, "captures": [], "stages": [], "rows": {}, "warnings": []}
    render.show(summary(result | {"overview": {name: records(answer) for name, answer in answers.items()}}), told)
    shown = re.findall(r"^(..-01) +(MUST|SHOULD|INFO) ", told.getvalue(), re.MULTILINE)
    assert shown == [(name, SPELLED[level]) for name, level in ORDER[:5]]


SIDES = [("R-1", "M", "client", 3), ("R-1", "M", "server", 2), ("R-1", "I", "client", 60), ("R-1", "I", "server", 1),
         ("R-2", "S", "server", 4)]  # fmt: skip


def test_a_rule_has_a_row_for_each_level_and_side_with_its_own_findings() -> None:
    findings = [
        {"rule_id": name, "level": level, "side": side, "stream_id": "ab"[n % 2], "direction": "c2s", "stream_offset": n}
        for name, level, side, number in SIDES for n in range(number)
    ]  # fmt: skip
    compliance = [{"stream_id": stream, "rule_id": name, "applicable": 50, "passed": 50 - failed, "failed": failed}
                  for name, failed in (("R-1", 33), ("R-2", 2)) for stream in "ab"]  # fmt: skip
    made = {
        "rules": [rule("R-1", "M/I"), rule("R-2", "S") | {"side": "server"}], "compliance": compliance, "compliance_findings": findings,
        "sessions": [{"stream_id": stream, "server_product": "Broker", "client_product": f"Library {stream}"} for stream in "ab"],
        "compliance_summary": [{"rule_id": name, "server_product": "Broker", "client_product": f"Library {stream}", "passed": 50 - failed,
                                "failed": failed} for name, failed in (("R-1", 33), ("R-2", 2)) for stream in "ab"],
    }  # fmt: skip
    answers = {name: records(answer) for name, answer in ask({name: table(name, rows) for name, rows in made.items()}).items()}
    got = {(row["rule_id"], row["level"], row["side"]): (row["findings"], row["judged"]) for row in answers["broken"]}
    assert got == {(name, level, side): (number, 100) for name, level, side, number in SIDES}
    broker, library = by_product.of("server", answers), by_product.of("client", answers)
    assert (broker.names, library.names) == (["Broker"], ["Library a", "Library b"])
    assert [broker.cell(name, level, "Broker") for name, level in (("R-1", "M"), ("R-1", "I"), ("R-2", "S"))] == ["2", "1", "4 % (4)"]
    assert [library.cell("R-1", level, name) for level in "MI" for name in library.names] == ["2", "1", "30", "30"]
    assert library.cell("R-2", "S", "Library a") == NOTHING, "what brokers break is no library's"
