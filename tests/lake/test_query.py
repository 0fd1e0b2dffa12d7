"""DuckDB over tables of a lake: databases that share an instance, and instances of their own."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import NoReturn

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from stompcap.lake import duckdb_instances, query
from stompcap.lake import tables as lakes
from stompcap.lake.data_files import Files
from stompcap.lake.finality import marked
from stompcap.lake.paths import location
from stompcap.rules import catalogue_table
from stompcap.tables import TABLES
from tests.report.sample import table as sample


def numbers(*values: int) -> pa.Table:
    return pa.table({"number": pa.array(values, pa.int64())})


def total(database: duckdb.DuckDBPyConnection, view: str = "t") -> int:
    return int(database.sql(f"SELECT sum(number) FROM {view}").fetchall()[0][0])


def test_databases_see_neither_each_others_views_nor_tables() -> None:
    with query.opened({"t": numbers(1, 2)}) as one, query.opened({"t": numbers(10)}) as other:
        one.execute("CREATE TABLE made AS SELECT 1 AS number")
        other.execute("CREATE TABLE made AS SELECT 5 AS number")
        assert [total(one), total(other), total(one, "made"), total(other, "made")] == [3, 10, 1, 5]
    with query.opened({}) as later, pytest.raises(duckdb.CatalogException):
        later.sql("SELECT * FROM made")


def test_threads_have_databases_of_their_own() -> None:
    found: dict[int, int] = {}

    def ask(number: int) -> None:
        for _ in range(20):
            with query.opened({"t": numbers(number)}) as database:
                found[number] = total(database)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}


def test_a_statement_that_fails_leaves_the_next_database_as_it_was() -> None:
    with pytest.raises(duckdb.Error), query.opened({"t": numbers(1)}) as database:
        database.sql("SELECT nonsense FROM t").fetchall()
    with query.opened({"t": numbers(4)}) as database:
        assert total(database) == 4


def test_duckdb_has_fewer_threads_of_its_own_while_several_of_ours_ask() -> None:
    setting = "SELECT CAST(current_setting('external_threads') AS BIGINT), CAST(current_setting('threads') AS BIGINT)"
    with query.opened({}) as database:
        [(before, every)] = database.sql(setting).fetchall()
        with query.asked_at_once(database, 2):
            assert database.sql(setting).fetchall() == [(min(2, every), every)]
        with query.asked_at_once(database, every + 1):  # more than there are processors
            assert database.sql(setting).fetchall() == [(every, every)]
        with pytest.raises(duckdb.Error), query.asked_at_once(database, 2):
            database.execute("SELECT nothing")
        assert database.sql(setting).fetchall() == [(before, every)]


def test_settings_of_an_isolated_database_are_nobody_elses() -> None:
    with query.isolated({"t": numbers(1)}) as database:
        database.execute("SET enable_external_access = false")
        database.execute("SET TimeZone = 'Asia/Tokyo'")
        database.execute("SET lock_configuration = true")
        with query.opened({"t": numbers(2)}) as other:
            assert other.sql("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]


def test_times_are_in_utc_and_nulls_in_sparks_order() -> None:
    with query.opened({"t": pa.table({"number": pa.array([2, None, 1], pa.int64())})}) as database:
        assert database.sql("SELECT number FROM t ORDER BY number").fetchall() == [(None,), (1,), (2,)]
        assert database.sql("SELECT number FROM t ORDER BY number DESC").fetchall() == [(2,), (1,), (None,)]
        assert database.sql("SELECT CAST(to_timestamp(0) AS VARCHAR)").fetchall() == [("1970-01-01 00:00:00+00",)]


def test_a_process_that_was_forked_off_starts_duckdb_anew() -> None:
    with query.opened({"t": numbers(1)}) as database:
        assert total(database) == 1
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with query.opened({"t": numbers(7)}) as database:
                os.write(writer, str(total(database)).encode())
        finally:
            os._exit(0)
    assert os.read(reader, 10) == b"7"
    os.waitpid(child, 0)


def test_an_instance_keeps_footers_of_few_files_and_gives_way_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process that lives on keeps of files stays small, whatever their number."""
    lake = str(tmp_path)
    lakes.create(lake)
    lakes.append(lake, "rules", catalogue_table(), ["unit"], "run")
    cached = "SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'"

    def kept() -> int:
        with query.opened({"rules": query.all_files(lake, "rules")}) as database:
            assert database.sql("SELECT count(*) FROM rules").fetchall() > [(100,)]
            return int(database.sql(cached).fetchall()[0][0])

    monkeypatch.setattr(duckdb_instances, "OPENED", 2)
    duckdb_instances.forget()
    monkeypatch.setattr(duckdb_instances, "FOOTERS", 0)
    without = kept()
    monkeypatch.setattr(duckdb_instances, "FOOTERS", 1)
    assert kept() > without + 5_000
    monkeypatch.setattr(duckdb_instances, "FOOTERS", 0)
    assert kept() == without  # by another


def test_one_thread_answers_where_little_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others cost more than they do there."""
    lake = str(tmp_path)
    lakes.create(lake)
    lakes.append(lake, "rules", catalogue_table(), ["unit"], "run")

    def with_two(database: duckdb.DuckDBPyConnection) -> None:
        database.execute("SET GLOBAL threads = 2")

    def started(*, by_arrow: bool) -> duckdb.DuckDBPyConnection:  # as on a machine of two processors
        instance = start(by_arrow=by_arrow)
        with_two(instance)
        return instance

    start = duckdb_instances.start
    monkeypatch.setattr(duckdb_instances, "start", started)
    monkeypatch.setattr(duckdb_instances, "_INSTANCES", {})

    def threads(table: Files | pa.Table, shown_later: Files | pa.Table | None = None) -> int:
        with query.opened({"rules": table}) as database:
            if shown_later is not None:
                query.show(database, "later", shown_later)
            return int(database.sql("SELECT current_setting('threads')").fetchall()[0][0])

    monkeypatch.setattr(duckdb_instances, "with_all_threads", with_two)
    files, large = query.all_files(lake, "rules"), pa.table({"number": np.zeros(duckdb_instances.LITTLE_OCTETS // 8 + 1, np.int64)})
    assert threads(files) == threads(numbers(7)) == threads(files, numbers(7)) == 1
    assert threads(files, large) == threads(large) == 2
    assert threads(files) == 1
    monkeypatch.setattr(duckdb_instances, "LITTLE_OCTETS", 0)
    assert threads(files) == 2


def test_a_table_without_files_has_no_rows_and_a_join_with_it_none(tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    rows = marked(TABLES["streams"], sample("streams", [{"stream_id": "a"}, {"stream_id": "b"}]), "part")
    write_deltalake(location(lake, "streams"), rows, mode="append")
    with query.opened({name: query.all_files(lake, name) for name in ("streams", "sessions")}) as database:
        assert database.sql("SELECT count(*) FROM streams").fetchall() == [(2,)]
        assert database.sql("SELECT count(*) FROM streams JOIN sessions USING (stream_id)").fetchall() == [(0,)]


def test_spark_is_asked_beyond_as_many_rows_as_a_query_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    lakes.append(lake, "rules", catalogue_table(), ["unit"], "run")
    monkeypatch.setattr(query, "DRIVER_ROWS", query.all_files(lake, "rules").rows // 2)

    def asked(factor: int) -> int:
        counting = query.Query("counted", ("rules",), "SELECT count(*) AS number FROM rules", factor)
        return int(query.ask(lake, [counting], no_spark)["counted"].column("number")[0].as_py())

    assert asked(3) == query.all_files(lake, "rules").rows
    with pytest.raises(LookupError, match="Spark"):
        asked(1)


def no_spark() -> NoReturn:
    raise LookupError("Spark was asked")


def test_what_does_not_fit_into_memory_is_spilled_among_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory may be read-only, or small."""
    working, temporary = tmp_path / "working", tmp_path / "temporary"
    working.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(duckdb_instances, "MEMORY", "40MB")
    with query.isolated({}) as database, query.isolated({}) as other:
        for one in (database, other):
            one.execute("CREATE TABLE large AS SELECT hash(number) AS a, hash(number + 1) AS b FROM range(5000000) numbers(number)")
        assert len([folder for folder in temporary.iterdir() if any(folder.iterdir())]) == 2
        assert not list(working.iterdir())
    assert not list(temporary.iterdir())
