"""docs/conformance.md is what its module makes of data/conformance.json, and nothing in it is markup that came from the wire."""

from __future__ import annotations

import json

from data.recorder.conformance import page
from data.recorder.conformance.results import RESULTS
from tests.cli.commands import ROOT


def test_the_page_is_that_of_the_results() -> None:
    assert (ROOT / "docs" / "conformance.md").read_text("utf-8") == page.page(json.loads(RESULTS.read_text("utf-8")))


def test_every_failed_cell_leads_to_its_bytes_and_clause() -> None:
    found = json.loads(RESULTS.read_text("utf-8"))
    for product in found.values():
        for row in product["cases"]:
            assert (row["outcome"] == "failed") == bool(row.get("proof")), row["case"]
            assert row["clause"]
    text = page.page(found)
    links = {part.partition(")")[0] for part in text.split("](#")[1:]}
    titles = {line.removeprefix("#### ") for line in text.splitlines() if line.startswith("#### ")}
    assert links == {title.lower().replace(".", "").replace(" ", "-") for title in titles}


def test_what_came_from_the_wire_is_no_markup() -> None:
    hostile = "```\n<script>|`*_[x](y)\x1b[2J\u202e"
    row = {"case": "c", "level": "MUST", "rules": ["FR-01"], "must": "m", "clause": "1.2 X", "outcome": "failed", "reason": hostile}
    row["proof"] = [{"from": "peer", "octets": hostile.encode().decode("latin-1")}]
    lines = page.page({"p": {"product": "P 1", "side": "client", "cases": [row]}}).splitlines()
    inside = lines[lines.index("```text") + 1 :]
    assert inside[0].startswith("< ` ` `\\n<script>")
    assert inside[1:] == ["```"]
    text = "\n".join(lines[: lines.index("```text")])
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
