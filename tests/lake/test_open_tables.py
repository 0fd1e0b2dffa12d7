"""Tables that a run keeps open are as others have left them, and forgotten when it ends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from stompcap.tables import TABLES
from tests.report.sample import table

ROWS = table("stalls", [{"stream_id": "s", "direction": "c2s"}])


def make(lake: Path) -> str:
    """A lake with the table stalls alone."""
    where = location(str(lake), "stalls")
    DeltaTable.create(where, schema=TABLES["stalls"].arrow)
    return where


def test_a_kept_table_is_one_object_that_sees_new_commits(tmp_path: Path) -> None:
    where = make(tmp_path)
    with open_tables.keep_open(str(tmp_path)):
        first = open_tables.table(where)
        lakes.append(str(tmp_path), "stalls", ROWS, ["one"], "run")
        assert open_tables.table(where) is first
        assert first.count() == 1
        other = DeltaTable(where)
        other.delete()
        assert open_tables.table(where).count() == 0


@pytest.mark.parametrize("inner", [False, True])
def test_nothing_is_kept_afterwards(inner: bool, tmp_path: Path) -> None:
    where = make(tmp_path)
    with open_tables.keep_open(str(tmp_path)):
        if inner:
            with open_tables.keep_open(str(tmp_path)):
                lakes.append(str(tmp_path), "stalls", ROWS, ["one"], "run")
            assert open_tables.table(where) is open_tables.table(where)
        lakes.append(str(tmp_path), "stalls", ROWS, ["two"], "run")
    shutil.rmtree(where)
    make(tmp_path)
    assert open_tables.table(where).count() == 0
    assert open_tables.table(where) is not open_tables.table(where)
    assert lakes.lacking(str(tmp_path), "stalls", frozenset(("one", "two"))) == {"one", "two"}
