"""Rows that an older version wrote are told of in one line that names what computes them anew."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from stompcap.cli.commands import doctor
from stompcap.cli.commands.show_command import show
from stompcap.cli.dialogue_options import Output
from stompcap.lake import tables as lakes
from stompcap.lake.older_rows import older_rows
from stompcap.tables import TABLES, changes
from stompcap.version import version
from tests.lakes.make import OLDER
from tests.lakes.older import unpacked
from tests.report.sample import table

MENDED = "stompcap run --reprocess --lake"


@pytest.mark.parametrize("commit", [*OLDER][::3])
def test_a_lake_of_an_older_version_says_what_its_rows_mean_otherwise(commit: str, tmp_path: Path) -> None:
    lake = str(unpacked(commit, tmp_path))
    said = older_rows(lake)
    assert said is not None
    assert said.startswith("2 connections of version 0.1.0 have rows from before these changes: ")
    assert f"{MENDED} {lake}" in said
    assert "\n" not in said
    assert all(change.what in said for change in changes.CHANGES)


def made(lake: Path, versions: dict[str, str | None]) -> str:
    """A lake of a connection for each batch, which is of a version."""
    lakes.create(str(lake))
    streams = [{"stream_id": name, "batch_id": name, "source": f"tap {name}"} for name in versions]
    batches = [{"batch_id": name, "run_id": "r", "tool_version": one} for name, one in versions.items() if one is not None]
    lakes.append(str(lake), "streams", table("streams", streams), ["u"], "r")
    lakes.append(str(lake), "batches", pa.Table.from_pylist(batches, schema=TABLES["batches"].arrow), ["u"], "r")
    return str(lake)


def test_rows_of_this_version_are_not_told_of(tmp_path: Path) -> None:
    assert older_rows(made(tmp_path / "lake", {"a": version(), "b": "99.0"})) is None
    assert older_rows(str(tmp_path / "none")) is None


def test_connections_of_batches_that_nothing_is_known_of_are_older(tmp_path: Path) -> None:
    said = older_rows(made(tmp_path / "lake", {"a": version(), "b": None, "c": "0.1.0", "d": "0.1.0"}))
    assert said is not None
    assert said.startswith("3 connections of version 0.1.0, a version before 0.1.0 have")
    assert said.endswith("--source 'tap b', and so for 2 other sources")


def test_show_and_doctor_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(unpacked("334e90f", tmp_path))
    show(lake)
    assert sum(MENDED in line for line in capsys.readouterr().out.splitlines()) == 1
    show(lake, output=Output(as_json=True))
    assert MENDED not in capsys.readouterr().out
    [check] = [one for one in doctor.checks(lake, start_spark=False) if one.name == "rows of the lake"]
    assert check.ok
    assert MENDED in check.found
