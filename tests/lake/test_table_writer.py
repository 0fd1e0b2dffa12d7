"""Rows that break the schema are refused, statistics bound every row, and a unit of work is committed once."""

from __future__ import annotations

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from stompcap.errors import EnvironmentProblem
from stompcap.lake import table_writer
from stompcap.lake import tables as lake
from stompcap.tables import TABLES


def stream_rows(**changes: object) -> pa.Table:
    row: dict[str, object] = {
        field.name: None if field.nullable else {pa.int64(): 0, pa.bool_(): False}.get(field.type, "x") for field in TABLES["streams"].arrow
    }
    row |= {"stream_id": "s", "transport": "tcp", "protocol": "stomp", "close_kind": "open"} | changes
    return pa.Table.from_pylist([row], schema=TABLES["streams"].arrow)


def test_a_word_that_is_none_is_refused(tmp_path: Path) -> None:
    lake.create(str(tmp_path))
    with pytest.raises(ValueError, match="quic"):
        table_writer.write(str(tmp_path), "streams", stream_rows(transport="quic"))


def test_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    lake.create(str(tmp_path))
    rows = stream_rows().set_column(0, pa.field("stream_id", pa.string()), pa.array([None], pa.string()))
    with pytest.raises(ValueError, match="stream_id"):
        table_writer.write(str(tmp_path), "streams", rows)


def test_statistics_bound_every_row_of_every_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "HELD_OCTETS", 1)
    lake.create(str(tmp_path))
    writer = table_writer.TableWriter(str(tmp_path), "streams")
    for name, first_ns in (("a" * 100, 5), ("z" * 100, -3), ("m", 0)):
        writer.write(stream_rows(stream_id=name, first_ns=first_ns, server_ip="ä"))
    made = writer.close()
    assert made is not None
    assert made.rows == 3
    statistics = json.loads(made.statistics)
    assert statistics["numRecords"] == 3
    assert statistics["minValues"]["stream_id"] <= "a" * 100
    assert statistics["maxValues"]["stream_id"] >= "z" * 100
    assert (statistics["minValues"]["first_ns"], statistics["maxValues"]["first_ns"]) == (-3, 5)
    assert (statistics["minValues"]["server_ip"], statistics["maxValues"]["server_ip"]) == ("ä", "ä")
    assert statistics["nullCount"]["client_ip"] == 3
    assert "client_ip" not in statistics["minValues"]


def test_a_bound_that_is_too_long_for_parquet_is_left_out(tmp_path: Path) -> None:
    lake.create(str(tmp_path))
    made = table_writer.write(str(tmp_path), "streams", stream_rows(source="x" * 5_000))
    statistics = json.loads(made.statistics)
    assert "source" not in {*statistics["minValues"], *statistics["maxValues"]}
    assert statistics["minValues"]["stream_id"] == statistics["maxValues"]["stream_id"] == "s"


def test_a_unit_of_work_is_admitted_once(tmp_path: Path) -> None:
    place = str(tmp_path)
    lake.create(place)
    assert lake.append(place, "streams", stream_rows(), ["unit"], "run 1") == 1
    assert lake.append(place, "streams", stream_rows(), ["unit"], "run 2") == 0
    assert lake.append(place, "streams", stream_rows(stream_id="t"), ["other"], "run 2") == 1
    assert lake.lacking(place, "streams", frozenset(("unit", "other", "third"))) == {"third"}
    assert DeltaTable(f"{place}/streams").to_pyarrow_table().num_rows == 2


def test_replacing_with_the_same_writes_nothing(tmp_path: Path) -> None:
    place = str(tmp_path)
    lake.create(place)
    assert lake.replace(place, "streams", stream_rows(), "run") == 1
    before = DeltaTable(f"{place}/streams").version()
    assert lake.replace(place, "streams", stream_rows(), "run") == 0
    assert DeltaTable(f"{place}/streams").version() == before


def test_a_lake_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no lake here"):
        lake.demand(str(tmp_path / "nowhere"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="file"):
        lake.create(str(tmp_path / "file"))


def test_a_thread_writes_what_a_writer_by_itself_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "HELD_OCTETS", 1)
    lake.create(str(tmp_path))
    made = []
    with ThreadPoolExecutor(1) as thread:
        for by in (None, thread):
            writer = table_writer.TableWriter(str(tmp_path), "streams", thread=by)
            for number in range(20):
                writer.write(stream_rows(stream_id=f"s{number}"))
            file = writer.close()
            assert file is not None
            made.append((file.rows, file.statistics, pq.read_table(tmp_path / "streams" / file.path)))
    assert made[0][:2] == made[1][:2]
    assert made[0][2].equals(made[1][2])


def test_an_error_of_the_thread_is_raised_by_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    lake.create(str(tmp_path))
    with ThreadPoolExecutor(1) as thread:
        writer = table_writer.TableWriter(str(tmp_path), "streams", thread=thread)
        writer.write(stream_rows())
        with pytest.raises(OSError, match="No space left"):
            writer.close()
