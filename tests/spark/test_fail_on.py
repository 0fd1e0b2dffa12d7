"""`run --fail-on must` and `should`: the exit code goes by the findings of what the run wrote, which `--json` lists."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from stompcap.cli.main import app
from stompcap.lake import tables as lakes
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURE = DATA / "activemq_violations.pcap"


@pytest.fixture
def end(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """What `stompcap run` of a capture ends with, and what it prints; nothing is validated, which is no matter of these gates."""
    monkeypatch.setattr("stompcap.spark.session.get_session", lambda *_: spark)
    monkeypatch.setattr("pipelines.run.validate", lambda *_, **__: None)

    def end(*words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["run", str(CAPTURE), "--lake", str(tmp_path / "lake"), *words])
        return done.exit_code, done.stdout, done.stderr

    return end


@pytest.mark.spark
def test_a_run_fails_on_findings_of_what_it_wrote(end: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, printed, _ = end("--fail-on", "should", "--json")
    told: dict[str, Any] = json.loads(printed)
    there = Counter(lakes.small(str(tmp_path / "lake"), "compliance_findings", ["level"]).column("level").to_pylist())
    expected = {level: there[level] for level in ("M", "S")}
    assert (code, told["finding_counts"]) == (1, expected)
    assert all(expected.values())
    assert Counter(row["level"] for row in told["findings"]) == expected
    assert set(told["findings"][0]) == {"rule_id", "level", "side", "stream_id", "direction", "stream_offset", "ts_ns", "evidence"}
    assert told["rows"]["compliance_findings"] == there.total(), "the run itself is done"

    code, printed, _ = end("--fail-on", "must", "--json")
    told = json.loads(printed)
    assert (code, told["finding_counts"], told["findings"], told["rows"]) == (0, {}, [], {}), "nothing was new"

    code, printed, said = end("--fail-on", "must", "--quiet", "--reprocess")
    assert (code, printed) == (1, "")
    assert f"connections that this run wrote broke rules: MUST {expected['M']};" in said.splitlines()[-1]
    assert "finding_counts" not in json.loads(end("--json")[1])
