"""The gate: a check that failed stays failed until it holds; `validate` looks at the lake as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from stompcap.cli.main import app
from stompcap.lake import tables as lakes
from stompcap.quality import validate
from stompcap.tables import TABLES
from tests.quality import lakes as made

BATCH = "x"  # what made.fill says


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """A lake that has a batch which no validation has seen."""
    where = str(tmp_path / "a lake")
    lakes.create(where)
    for name, rows in made.tables().items():
        if TABLES[name].layer != "operations" or name == "stream_state":
            lakes.append(where, name, rows, [BATCH], "run")
    return where


@pytest.fixture
def end(lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, dict[str, Any]]]:
    """What a command ends with, and what it says, without Spark; two tables are judged, for all take seconds."""
    monkeypatch.setattr("stompcap.quality.validate", partial(validate, tables=["captures", "deliveries"]))
    monkeypatch.setattr("stompcap.spark.session.get_session", lambda *_: pytest.fail("a small lake needs no Spark"))
    (tmp_path / "captures").mkdir()

    def end(*words: str) -> tuple[int, dict[str, Any]]:
        captures = [str(tmp_path / "captures")] if words[0] == "run" else []
        done = CliRunner().invoke(app, [words[0], *captures, *words[1:], "--lake", lake, "--fail-on", "quality", "--json"])
        return done.exit_code, json.loads(done.stdout)

    return end


def put(lake: str, latency: str) -> None:
    """Change a row by hand, as anybody with a Delta library may."""
    DeltaTable(f"{lake}/deliveries").update(updates={"ack_latency_us": latency}, predicate="message_id = 'm-3'")


@pytest.mark.slow
def test_a_check_that_failed_stays_failed_until_it_holds(lake: str, end: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    put(lake, "-5")
    code, told = end("run")
    words = "quality: deliveries.ack_latency_us: 1 of 12 deliveries is below 0 (stream_id "
    assert (code, told["rows"]["quality_results"] > 30) == (1, True)
    assert [line for line in told["warnings"] if line.startswith(words)]
    first = told["run_id"]

    for words_of_it in (["run"], ["validate", "--new"]):
        code, told = end(*words_of_it)
        assert (code, told["rows"]) == (1, {}), "nothing is new, nothing is mended"
        assert [line for line in told["warnings"] if line.startswith(words) and f"(run {first} found so; " in line]

    put(lake, "null")
    code, told = end("validate", "--new")
    assert (code, told["warnings"]) == (0, []), "it is looked at again, as the table has another version"
    assert end("run")[1]["rows"] == {}, "nothing is new"

    for command in (["run"], ["validate", "--new"]):
        put(lake, "-5")
        code, told = end(*command)
        assert (code, told["rows"] != {}) == (1, True), "others wrote to the table since"
        put(lake, "null")
        assert end(*command)[0] == 0


def test_data_docs_are_written_and_told(lake: str, end: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    code, told = end("validate")
    assert (code, told["data_docs"]) == (0, f"{lake}/_data_docs/index.html")
    page = Path(told["data_docs"]).read_text("utf-8")
    assert f"run {told['run_id']}" in page
    assert "expect_column_values_to_be_between" in page
    assert end("run")[1]["data_docs"] == told["data_docs"]
    done = CliRunner().invoke(app, ["validate", "--new", "--lake", lake])
    assert re.search(f"^Data Docs +{re.escape(lake)}/_data_docs/index.html$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_a_batch_that_has_not_been_through_all_stages_is_judged_again(
    lake: str, end: Callable[..., tuple[int, dict[str, Any]]], tmp_path: Path
) -> None:
    capture = made.fill("captures", 1, {"capture_id": ["d" * 64], "format": ["pcap"], "batch_id": ["later"]})
    lakes.append(lake, "captures", capture, ["later"], "run")
    assert end("validate", "--new")[1]["rows"] != {}
    for name in TABLES:
        if TABLES[name].layer != "operations" or name == "stream_state":
            lakes.append(lake, name, TABLES[name].arrow.empty_table(), ["later"], "run")
    assert end("validate", "--new")[1]["rows"] != {}, "its other rows have come since"
    assert end("validate", "--new")[1]["rows"] == {}
