"""A lake that an older version made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.ingest.baseline import baseline
from stompcap.capture.by_rank import CapturesByRank
from stompcap.lake import data_files, upgrade
from stompcap.lake import tables as lakes
from stompcap.lake.open_state import OpenState, has_states, keys
from stompcap.lake.table_writer import TableWriter
from stompcap.options import Options
from stompcap.tables import TABLES, Column
from tests.examples import slow_behind
from tests.lakes.make import OLDER
from tests.lakes.older import unpacked
from tests.report.sample import table as sample


def test_a_lake_of_an_older_version_is_given_the_columns_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["runs"]
    without = replace(whole, columns=tuple(column for column in whole.columns if column.name != "options"))
    monkeypatch.setitem(lakes.TABLES, "runs", without)
    lakes.create(where)
    row = {"run_id": "r", "stage": "extract", "status": "done", "inputs": ["a"], "rows": [("captures", 1)]}
    lakes.append(where, "runs", pa.Table.from_pylist([row], schema=without.arrow), ["r:extract"], "r")
    monkeypatch.undo()
    lakes.bring_up(where)
    lakes.append(where, "runs", pa.Table.from_pylist([row | {"options": [("vlan", "--vlan")]}], schema=whole.arrow), ["s:extract"], "s")
    assert sorted(map(str, lakes.small(where, "runs", ["options"]).column(0).to_pylist())) == ["None", "[('vlan', '--vlan')]"]
    assert DeltaTable(f"{where}/runs").to_pyarrow_table().num_rows == 2


def test_columns_of_an_older_lake_that_could_not_be_null_can_be_where_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["segments"]
    strict = tuple(replace(column, nullable=False) if column.name == "ts_ns" else column for column in whole.columns)
    monkeypatch.setitem(lakes.TABLES, "segments", replace(whole, columns=strict))
    lakes.create(where)
    lakes.append(where, "segments", sample("segments", [{"stream_id": "a", "ts_ns": 5}]), ["a"], "r")
    monkeypatch.undo()
    lakes.bring_up(where)
    lakes.append(where, "segments", sample("segments", [{"stream_id": "b", "ts_ns": 0}]), ["b"], "r")
    table = DeltaTable(f"{where}/segments")
    assert {field.name for field in table.schema().fields if not field.nullable} == {c.name for c in whole.columns if not c.nullable}
    assert sorted(map(str, table.to_pyarrow_table().column("ts_ns").to_pylist())) == ["5", "None"]


def test_files_of_an_older_lake_are_chosen_by_new_columns_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["compliance"]
    columns = tuple(column for column in whole.columns if column.name != "opened_ts")
    monkeypatch.setitem(lakes.TABLES, "compliance", replace(whole, columns=columns, statistics=("stream_id", "rule_id")))
    monkeypatch.setattr(upgrade, "CHECKPOINT_COMMITS", "100")
    lakes.create(where)
    lakes.append(where, "compliance", sample("compliance", [{"stream_id": "a"}]).select([column.name for column in columns]), ["a"], "r")
    monkeypatch.undo()
    lakes.bring_up(where)
    settled = DeltaTable(f"{where}/compliance").version()
    lakes.bring_up(where)
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
    versions = []
    for _ in range(2):
        lakes.bring_up(where)
        table = DeltaTable(f"{where}/stream_state")
        assert [field.name for field in table.schema().fields] == whole.arrow.names
        versions.append(table.version())
    assert versions[0] == versions[1]
    lakes.append(where, "stream_state", sample("stream_state", [{"stream_id": "a"}]), ["u"], "r")
    assert DeltaTable(f"{where}/stream_state").to_pyarrow_table().num_rows == 1


def configuration(where: str, table: str) -> dict[str, str]:
    found: dict[str, str] = DeltaTable(f"{where}/{table}").metadata().configuration
    return found


@pytest.mark.parametrize(
    "older", [("fin", "rst"), ("fin", "rst", "open", "vanished"), ()], ids=["a word more", "a word less", "words at all"]
)
def test_constraints_of_an_older_lake_follow_the_words(older: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["streams"]
    columns = tuple(replace(column, words=older) if column.name == "close_kind" else column for column in whole.columns)
    monkeypatch.setitem(lakes.TABLES, "streams", replace(whole, columns=columns))
    lakes.create(where)
    before = DeltaTable(f"{where}/streams").version()
    monkeypatch.undo()
    for _ in range(2):
        lakes.bring_up(where)
        assert configuration(where, "streams")["delta.constraints.close_kind_words"] == whole.column("close_kind").check
        assert DeltaTable(f"{where}/streams").version() == before + 1


def test_a_constraint_goes_with_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["streams"]
    columns = tuple(replace(column, words=("c",)) if column.name == "community_id" else column for column in whole.columns)
    monkeypatch.setitem(lakes.TABLES, "streams", replace(whole, columns=columns))
    lakes.create(where)
    assert "delta.constraints.community_id_words" in configuration(where, "streams")
    monkeypatch.undo()
    lakes.bring_up(where)
    assert configuration(where, "streams") == configuration_of_a_new_lake(tmp_path, "streams")


def configuration_of_a_new_lake(folder: Path, table: str) -> dict[str, str]:
    lakes.create(str(folder / "new"))
    return configuration(str(folder / "new"), table)


def test_comments_of_an_older_lake_follow_the_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["streams"]
    columns = tuple(replace(column, comment="As it was") if column.name == "history" else column for column in whole.columns)
    monkeypatch.setitem(lakes.TABLES, "streams", replace(whole, columns=columns, comment="Streams"))
    lakes.create(where)
    monkeypatch.undo()
    lakes.bring_up(where)
    table = DeltaTable(f"{where}/streams")
    (comment,) = (field.metadata["comment"] for field in table.schema().fields if field.name == "history")
    assert (comment, table.metadata().description) == (whole.column("history").comment, whole.comment)


def test_a_lake_of_this_version_is_not_written_to(tmp_path: Path) -> None:
    where = str(tmp_path / "lake")
    lakes.create(where)
    lakes.bring_up(where)
    assert {DeltaTable(f"{where}/{name}").version() for name in TABLES} == {0}


def test_rows_under_older_names_are_written_anew_in_files_of_the_same_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = str(tmp_path / "old"), TABLES["stream_state"]
    columns = tuple(
        replace(column, name=column.formerly or column.name) for column in whole.columns if column.name not in ("place", "pieces")
    )
    monkeypatch.setitem(lakes.TABLES, "stream_state", replace(whole, columns=columns))
    lakes.create(where)
    writer = TableWriter(where, "stream_state", "open-x-")
    writer.write(sample("stream_state", [{"stream_id": "a", "window": 7, "outer": 3}]))
    file = writer.close()
    assert file is not None
    lakes.commit(where, "stream_state", [file], ["u"], "r")
    monkeypatch.undo()
    lakes.bring_up(where)
    table = DeltaTable(f"{where}/stream_state")
    (row,) = table.to_pyarrow_table().to_pylist()
    assert (row["window_size"], row["layers"], row["place"], row["pieces"]) == (7, 3, -1, None)
    assert [field.name for field in table.schema().fields] == whole.arrow.names
    assert [file.name.startswith("open-x-part-") for file in data_files.of(table)] == [True]
    assert lakes.has_committed(where, "stream_state", "u")


@pytest.mark.parametrize("commit", slow_behind(1, OLDER))
def test_lakes_of_older_versions_are_brought_up_once(commit: str, tmp_path: Path) -> None:
    where = str(unpacked(commit, tmp_path))
    lakes.create(where)
    lakes.bring_up(where)
    versions = {name: DeltaTable(f"{where}/{name}").version() for name in TABLES}
    lakes.bring_up(where)
    assert {name: DeltaTable(f"{where}/{name}").version() for name in TABLES} == versions
    for name, table in TABLES.items():
        found = DeltaTable(f"{where}/{name}")
        there = {field.name: field.metadata.get("comment") for field in found.schema().fields}
        assert {column.name: column.comment for column in table.columns}.items() <= there.items()
        assert {column.check for column in table.enumerations} <= set(found.metadata().configuration.values())


@pytest.mark.parametrize("commit", slow_behind(1, OLDER))
def test_a_batch_may_go_on_from_the_state_before_the_lake_was_brought_up(commit: str, tmp_path: Path) -> None:
    """One that was killed is finished from the version that it names."""
    where = str(unpacked(commit, tmp_path))
    version = DeltaTable(f"{where}/stream_state").version()
    lakes.create(where)
    lakes.bring_up(where)
    captures = CapturesByRank.of((row["path"], row["capture_id"]) for row in lakes.small(where, "captures").to_pylist())
    found = []
    for one in (version, None):
        before = baseline(where, Options(), one)
        segments = OpenState(before.files, captures)
        rows = pa.concat_tables(segments.rows(keys(before.files).column("flow").combine_chunks()))
        found.append(segments.segments(rows))
        assert has_states(before.files) is (commit in ("6e2c5f8", "334e90f"))
    assert found[0].num_rows > 0
    assert found[0].equals(found[1])
