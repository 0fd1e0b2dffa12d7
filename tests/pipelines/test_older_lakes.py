"""A lake that an older version made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.lake import data_files
from stompcap.lake import tables as lakes
from stompcap.tables import TABLES, Column
from tests.report.sample import table as sample


def test_a_lake_of_an_older_version_is_given_the_columns_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["runs"]
    without = replace(whole, columns=tuple(column for column in whole.columns if column.name != "options"))
    monkeypatch.setitem(lakes.TABLES, "runs", without)
    lakes.create(where)
    row = {"run_id": "r", "stage": "extract", "status": "done", "inputs": ["a"], "rows": [("captures", 1)]}
    lakes.append(where, "runs", pa.Table.from_pylist([row], schema=without.arrow), ["r:extract"], "r")
    monkeypatch.undo()
    lakes.create(where)
    lakes.append(where, "runs", pa.Table.from_pylist([row | {"options": [("vlan", "--vlan")]}], schema=whole.arrow), ["s:extract"], "s")
    assert sorted(map(str, lakes.small(where, "runs", ["options"]).column(0).to_pylist())) == ["None", "[('vlan', '--vlan')]"]
    assert DeltaTable(f"{where}/runs").to_pyarrow_table().num_rows == 2


def test_files_of_an_older_lake_are_chosen_by_new_columns_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["compliance"]
    columns = tuple(column for column in whole.columns if column.name != "opened_ts")
    monkeypatch.setitem(lakes.TABLES, "compliance", replace(whole, columns=columns, statistics=("stream_id", "rule_id")))
    monkeypatch.setattr(lakes, "CHECKPOINT_COMMITS", "100")
    lakes.create(where)
    lakes.append(where, "compliance", sample("compliance", [{"stream_id": "a"}]).select([column.name for column in columns]), ["a"], "r")
    monkeypatch.undo()
    lakes.create(where)
    settled = DeltaTable(f"{where}/compliance").version()
    lakes.create(where)
    lakes.append(where, "compliance", sample("compliance", [{"stream_id": "b", "opened_ts": 10**15}]), ["b"], "r")
    table = DeltaTable(f"{where}/compliance")
    table.create_checkpoint()
    assert table.version() == settled + 1
    held = data_files.of(DeltaTable(f"{where}/compliance"), ["opened_ts"])
    assert sorted((file.bounds["opened_ts"].known, file.rows) for file in held) == [(False, 1), (True, 1)]


def test_a_state_of_an_older_version_that_was_never_used_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["stream_state"]
    old = (*(column for column in whole.columns if column.name in ("stream_id", "source")), Column("state", pa.binary(), "State"))
    monkeypatch.setitem(lakes.TABLES, "stream_state", replace(whole, columns=old, statistics=("stream_id",)))
    lakes.create(where)
    monkeypatch.undo()
    for _ in range(2):
        lakes.create(where)
        table = DeltaTable(f"{where}/stream_state")
        assert [field.name for field in table.schema().fields] == whole.arrow.names
        assert table.version() == 1
    lakes.append(where, "stream_state", sample("stream_state", [{"stream_id": "a"}]), ["u"], "r")
    assert DeltaTable(f"{where}/stream_state").to_pyarrow_table().num_rows == 1
