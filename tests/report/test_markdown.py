"""The report as Markdown: incidents and tables, and nothing from the wire that is Markdown or HTML."""

from __future__ import annotations

from stompcap import zones
from stompcap.lake.scope import Scope
from stompcap.report import markdown
from tests.report.sample import HOSTILE, ask, lake


def test_incidents_come_first_and_tables_hold_one_line_a_row() -> None:
    page = markdown.build({None: ask(lake())}, f"Night {HOSTILE}")
    lines = page.splitlines()
    assert lines[0].startswith("# Night ")
    assert lines[4].startswith("**1 critical incident, 1 warning, 1 note**, captured ")
    assert lines[6].startswith("1. since 2025-11-24 16:05:00 **critical** billing takes 400 ms a message")
    assert [line for line in lines if line.startswith("## ")] == ["## Who", "## Destinations", "## Broken rules"]
    for line in lines:
        assert "<script" not in line.replace("\\<script", "")
        assert line.isprintable()


def test_it_says_what_it_is_restricted_to_in_which_zone_and_what_it_leaves_out() -> None:
    answers = ask(lake())
    few = answers | {"incidents": answers["incidents"].slice(0, 1)}
    with zones.showing(zones.find("Europe/Berlin")):
        scope = Scope(since_ns=1_764_000_000_000_000_000, logins=("bill*ing",))
        lines = markdown.build({None: few}, "Night", scope.words()).splitlines()
    assert lines[2] == "Only from 2025-11-24 17:00:00+01:00, login bill\\*ing."
    assert lines[4] == "Times in Europe/Berlin."
    assert "2 more incidents not listed." in lines


def test_an_empty_lake_has_a_page() -> None:
    assert markdown.build({None: {}}, "Report").count("None.") == 3
