"""Faults planted in a lake are all caught, each told with the key of a row; the lake itself has none."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stompcap.cli.main import app
from tests.capture.packaging import pcap
from tests.e2e.test_other_protocols import packets
from tests.examples import THOROUGH
from tests.quality.planted import FAULTS, TOGETHER, plant

RECORDINGS = Path(__file__).resolve().parents[2] / "data"
MQTT = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the recordings and of two connections of MQTT."""
    folder = tmp_path_factory.mktemp("planted")
    for number in range(2):
        pcap(folder / f"mqtt-{number}.pcap", packets([(0, MQTT), (1, b"\x20\x02\x00\x00")], (50123 + number, 1883), closes=True), nano=True)
    words = ["run", str(RECORDINGS), *map(str, sorted(folder.glob("*.pcap"))), "--lake", str(folder / "lake"), "--quiet"]
    subprocess.run([sys.executable, "-m", "stompcap", *words], check=True)
    return folder / "lake"


def validated(lake: Path) -> tuple[int, list[str], list[dict[str, Any]]]:
    """The exit code, the warnings and the failures of a validation of the whole lake."""
    from stompcap.quality import last

    done = CliRunner().invoke(app, ["validate", "--lake", str(lake), "--fail-on", "quality", "--json"])
    failed = [row | {"observed": json.loads(row["observed"])} for row in last(str(lake)) if not row["success"]]
    return done.exit_code, json.loads(done.stdout)["warnings"], failed


@pytest.mark.slow
@pytest.mark.spark
def test_a_lake_of_recordings_has_no_fault(lake: Path, tmp_path: Path) -> None:
    assert validated(plant(lake, tmp_path / "copy", ())) == (0, [], [])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("names", [(fault.name,) for fault in FAULTS] if THOROUGH else TOGETHER, ids=", ".join)
def test_planted_faults_are_caught_and_told_with_keys(
    lake: Path, tmp_path: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stompcap.quality.clear_secrets.SEARCHED_ROWS", 1 << 20)  # all, where a validation draws from what is larger
    faults = [fault for fault in FAULTS if fault.name in names]
    code, warnings, failed = validated(plant(lake, tmp_path / "copy", faults))
    assert code == 1
    told = {(row["table_name"], row["expectation"]): row for row in failed}
    for fault in faults:
        row = told[fault.table, fault.expectation]
        assert row["failed_rows"] >= 1
        assert any(key in row["observed"]["first"][0] for key in ("stream_id", "message_stream_id", "capture_id", "hour_ts")), row
        assert f"quality: {row['message']}" in warnings
    [others] = [set(group) - {*names} for group in TOGETHER if names[0] in group]
    assert not [fault.name for fault in FAULTS if fault.name in others and (fault.table, fault.expectation) in told]


def test_there_are_thirty_two_faults_and_three_of_journeys() -> None:
    assert len({fault.name for fault in FAULTS}) == 35


def test_faults_that_are_planted_together_are_all_and_in_tables_of_their_own() -> None:
    assert sorted(chain(*TOGETHER)) == sorted(fault.name for fault in FAULTS)
    for group in TOGETHER:
        tables = [name for fault in FAULTS if fault.name in group for name in (*fault.changes, *(fault.deletes or {}))]
        assert len(tables) == len(set(tables))
