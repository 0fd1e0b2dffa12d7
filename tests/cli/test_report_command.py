"""The command `report`: what it is compared with, and the gates that end it with code 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap.cli import entry
from stompcap.cli.commands import report_command
from stompcap.lake import tables as lakes
from stompcap.lake.scope import Scope
from stompcap.report.against import Before
from stompcap.report.gates import FINDINGS, INCIDENTS
from stompcap.tables import TABLES
from tests.cli.test_incidents import row

Said = pytest.CaptureFixture[str]
DAY, EIGHT, NINE = 1_764_028_800 * 10**9, 1_764_057_600 * 10**9, 1_764_061_200 * 10**9
"""2025-11-25, its 8:00 and its 9:00."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = str(tmp_path_factory.mktemp("report") / "lake")
    lakes.create(where)
    rows = [row("a", level="critical"), row("b", 9, subject="shop")]
    lakes.append(where, "incidents", pa.Table.from_pylist(rows, TABLES["incidents"].arrow), ["b"], "r")
    return where


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["stompcap", "report", *words])
    return entry.outcome()


def test_gates_end_it_with_code_1_and_the_page_is_written(lake: str, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tmp_path / "r.md")
    assert called(monkeypatch, "--lake", lake, "-o", out, "--format", "md", "--fail-on", "warning", "--fail-on", "must") == 1
    said = capsys.readouterr()
    assert "stompcap: --fail-on warning: 1 critical incident, 1 warning incident\n" in said.err
    assert said.out == f"report: {out}\n"
    assert Path(out).exists()
    assert called(monkeypatch, "--lake", lake, "-o", out, "--format", "md", "--fail-on", "must", "--fail-on", "quality") == 0
    same = called(monkeypatch, "--lake", lake, "-o", out, "--format", "md", "--compare", lake, "--fail-on", "critical")
    assert same == 0, "no incident is new"
    assert "2 incidents in both" in Path(out).read_text("utf-8")
    assert called(monkeypatch, "--lake", lake, "-o", out, "--fail-on", "often") == 2
    assert {*INCIDENTS, *FINDINGS, "quality"} == set(report_command.GATES)


@pytest.mark.parametrize(
    ("before", "scope", "expected"),
    [
        ("2025-11-25T08:00..2025-11-25T09:00", None, (EIGHT, NINE, NINE, None)),
        ("2025-11-25T08:00..2025-11-25T09:00", Scope(since_ns=NINE + 5), (EIGHT, NINE, NINE + 5, None)),
        ("2025-11-25T08:00..2025-11-25T09:00", Scope(until_ns=EIGHT), (EIGHT, NINE, None, EIGHT)),
        ("..2025-11-25", None, (None, DAY, DAY, None)),
        ("2025-11-25T09:00..", Scope(until_ns=EIGHT), (NINE, None, None, EIGHT)),
    ],
)
def test_a_period_is_compared_with_what_follows_or_what_is_said(
    before: str, scope: Scope | None, expected: tuple[int | None, ...], lake: str
) -> None:
    own, found = report_command.compared(before, lake, scope)
    assert own is not None
    assert found is not None
    assert found.scope is not None
    assert found.lake == lake
    assert (found.scope.since_ns, found.scope.until_ns, own.since_ns, own.until_ns) == expected


def test_another_lake_is_asked_for_the_same_names_and_all_its_time(lake: str) -> None:
    scope = Scope(since_ns=5, logins=("billing",))
    own, found = report_command.compared(lake, "other", scope)
    assert own == scope
    assert found is not None
    assert found.scope == Scope(logins=("billing",))
    assert report_command.compared(lake, "other", None)[1] == Before(lake, None, f"lake {lake}")


@pytest.mark.parametrize("before", ["yesterday", "..", "../gone.lake", "2025-11-25..soon", "2025-11-25.."])
def test_what_is_neither_a_lake_nor_a_period_apart_is_usage(
    before: str, lake: str, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(monkeypatch, "--lake", lake, "-o", str(tmp_path / "r.html"), "--compare", before) == 2
    assert "--compare" in capsys.readouterr().err
