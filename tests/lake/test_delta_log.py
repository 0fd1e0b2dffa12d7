"""What a process remembers of logs: never of another table, nor of what was there before a restore."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stompcap.lake import delta_log, open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.commits import APP
from stompcap.lake.paths import location
from stompcap.tables import TABLES

EMPTY = TABLES["streams"].arrow.empty_table()


def commit(lake: Path, *names: str) -> None:
    for name in names:
        lakes.append(str(lake), "streams", EMPTY, [name], "run")


def known(lake: Path) -> set[str]:
    found = delta_log.transactions(open_tables.table(location(str(lake), "streams")))
    return {name.removeprefix(APP) for name in found}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    lakes.create(str(tmp_path / "lake"))
    commit(tmp_path / "lake", "one")
    return tmp_path / "lake"


def test_a_copy_of_a_lake_has_its_own(lake: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(lake, tmp_path / "copy"))
    commit(lake, "two")
    commit(copy, "other")
    assert known(lake) == {"one", "two"}
    assert known(copy) == {"one", "other"}


@pytest.mark.parametrize("more", [(), ("third",), ("third", "fourth"), ("third", "fourth", "fifth")])
@pytest.mark.parametrize("kept", [False, True])
def test_a_restored_lake_has_what_it_had_then(lake: Path, tmp_path: Path, more: tuple[str, ...], kept: bool) -> None:
    backup = shutil.copytree(lake, tmp_path / "backup")
    names = frozenset({"one", "two", "three", *more})
    if kept:
        with open_tables.keep_open(str(lake)):
            known(lake)
            commit(lake, "two", "three")
            assert known(lake) == {"one", "two", "three"}
    else:
        commit(lake, "two", "three")
        assert known(lake) == {"one", "two", "three"}
    assert lakes.lacking(str(lake), "streams", names) == {*more}
    shutil.rmtree(lake)
    shutil.copytree(backup, lake)
    commit(lake, *more)
    assert known(lake) == {"one", *more}
    assert lakes.lacking(str(lake), "streams", names) == {"two", "three"}
