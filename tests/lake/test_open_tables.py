"""Tables that a run keeps open are as others have left them, and forgotten when it ends."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.lake import open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.data_files import File
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


def test_of_a_file_no_column_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, read = str(tmp_path), list[tuple[int, list[str] | None]]()
    real = lakes.read_files

    def told(table: str, files: Sequence[File], columns: Sequence[str] | None = None) -> pa.Table:
        read.append((len(files), None if columns is None else list(columns)))
        return real(table, files, columns)

    monkeypatch.setattr(lakes, "read_files", told)
    make(tmp_path)
    with open_tables.keep_open(lake):
        assert lakes.small(lake, "stalls", ["stream_id"]).num_rows == 0
        lakes.append(lake, "stalls", ROWS, ["one"], "run")
        assert lakes.small(lake, "stalls", ["stream_id"]).to_pylist() == [{"stream_id": "s"}]
        assert lakes.small(lake, "stalls", ["direction", "stream_id"]).to_pylist() == [{"direction": "c2s", "stream_id": "s"}]
        assert read == [(1, ["stream_id"]), (1, ["direction"])]
        lakes.append(lake, "stalls", table("stalls", [{"stream_id": "t", "direction": "s2c"}]), ["two"], "run")
        rows = lakes.small(lake, "stalls", ["stream_id", "direction"])
        assert sorted(row["stream_id"] for row in rows.to_pylist()) == ["s", "t"]
        assert read[2:] == [(1, ["stream_id", "direction"])]
        assert lakes.small(lake, "stalls").schema.equals(TABLES["stalls"].arrow, check_metadata=True)
        DeltaTable(location(lake, "stalls")).delete()
        assert lakes.small(lake, "stalls", ["stream_id"]).num_rows == 0
    read.clear()
    assert lakes.small(lake, "stalls", ["stream_id"]).num_rows == 0
    assert not read
