"""Old entries of a log go, and every version that is young enough can be read."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.lake import commits, history
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo, replace_files
from stompcap.lake.paths import location
from tests.report.sample import table

COMMITS = 25
"""With checkpoints at 9 and 19."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sessions that came one by one, to copy."""
    lake = str(tmp_path_factory.mktemp("template") / "a lake")
    for name in ("sessions", "ack_latency"):
        lakes._create_table(lake, lakes.TABLES[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commits, "MOST_SMALL", COMMITS)  # else some of the commits put files together
        for number in range(COMMITS):
            row = {"stream_id": f"{number:020x}", "client_ip": f"10.0.0.{number}"}
            lakes.append(lake, "sessions", table("sessions", [row]), [str(number)], "run")
    return lake


@pytest.fixture
def lake(template: str, tmp_path: Path) -> str:
    return str(shutil.copytree(template, tmp_path / "a lake"))


def log(lake: str) -> Path:
    return Path(location(lake, "sessions"), "_delta_log")


def versions(lake: str, kind: str = ".json") -> list[int]:
    return sorted(int(path.name[:20]) for path in log(lake).glob(f"*{kind}") if path.name[:20].isdigit())


def age(lake: str, upto: int) -> None:
    """Make what the log says of versions up to this one nine days old."""
    then = time.time() - 9 * 24 * 3600
    for path in log(lake).iterdir():
        if path.name[:20].isdigit() and int(path.name[:20]) <= upto:
            os.utime(path, (then, then))


@pytest.mark.slow
@pytest.mark.parametrize(("old", "first"), [(-1, 0), (8, 0), (9, 9), (13, 9), (19, 19), (23, 19)])
def test_the_checkpoint_that_young_versions_need_stays(old: int, first: int, lake: str) -> None:
    age(lake, old)
    history.expire(lake, "sessions", 168, "maintain", ())
    assert versions(lake) == list(range(first, COMMITS + 1))
    assert versions(lake, ".checkpoint.parquet") == [number for number in (9, 19, COMMITS) if number >= first]
    for number in (*range(max(old, first), COMMITS), None):
        assert len(DeltaTable(location(lake, "sessions"), version=number).to_pyarrow_table()) == (COMMITS if number is None else number)


@pytest.mark.slow
def test_nothing_is_kept_and_the_last_entry_says_nothing_of_rows(lake: str) -> None:
    for _ in range(2):  # a second time nothing is to be done
        history.expire(lake, "sessions", 0, "maintain", ())
        assert versions(lake) == versions(lake, ".checkpoint.parquet") == [COMMITS + 1]
    (entry,) = log(lake).glob("*.json")
    assert b"10.0.0." not in entry.read_bytes()
    assert len(DeltaTable(location(lake, "sessions")).to_pyarrow_table()) == COMMITS
    assert lakes.lacking(lake, "sessions", frozenset(map(str, range(COMMITS + 1)))) == {str(COMMITS)}


def test_what_an_aggregate_has_not_seen_stays(lake: str) -> None:
    for seen in (7, 12):
        replace_files(DeltaTable(location(lake, "ack_latency")), [], [], CommitInfo("run", sources={"sessions": seen}))
        history.expire(lake, "sessions", 0, "maintain", ("ack_latency",))
        assert versions(lake)[0] == seen + 1
