"""SQL over the tables of a lake, executed by DuckDB in this process if the tables are small, else by Spark.

DuckDB reads the files of the tables' current versions and answers in a tenth of a second what takes Spark seconds to plan. Queries over
more than `DRIVER_ROWS` rows are answered by Spark, so that nothing in the driver grows with the lake; those that only sum may have more.
Both understand the SQL alike.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.lake import data_files, duckdb_instances, open_tables
from stompcap.lake.data_files import Files
from stompcap.lake.finality import stored
from stompcap.lake.paths import location
from stompcap.lake.scope import ASKED, CHOSEN, NEEDED, Scope
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

DRIVER_ROWS = 50_000_000
"""Rows of the tables of a query, beyond which Spark answers it."""

NOT_PLAIN = ("://", "*", "?", "[")
"""Parts of a path that make DuckDB take it for a URI or a pattern; such files are read as a dataset of Arrow, which costs more."""

STREAMS = "streams"
SELECTED = "selected_source"
"""The table with the name of the capture point that a query is restricted to."""

_NUMBERS = count()

AT_ONCE = 4  # small jobs of one Spark session are quicker side by side


@dataclass(frozen=True)
class Query:
    """A query: its name, the tables it reads, and its SQL, which refers to them by their names.

    Spark answers it beyond `driver_factor` times `DRIVER_ROWS` rows; that is more than 1 where it only counts and sums what it reads.
    """

    name: str
    tables: tuple[str, ...]
    sql: str
    driver_factor: int = 1


def ask(
    lake: str, queries: Sequence[Query], spark: Callable[[], SparkSession], parts: Mapping[str, Files] | None = None,
    source: str | None = None, scope: Scope | None = None,
) -> dict[str, pa.Table]:
    """The answers by name; each must be small: an aggregate, or limited.

    `source` restricts them to the rows of a capture point, `scope` to a time and names.
    `parts` restricts some tables to the files that can have matching rows; the queries must have the same filters, because Spark reads all
    files. `spark` returns the session for queries over more than `DRIVER_ROWS` rows, in which temporary views of their tables are made.
    KeyError for an unknown table.
    """
    parts = parts or {}
    more = (() if source is None else (STREAMS,)) + (() if scope is None else NEEDED)
    tables = {query.name: sorted({TABLES[table].name for table in (*query.tables, *more)}) for query in queries}
    held = {name: parts[name] if name in parts else all_files(lake, name) for name in sorted(set(chain(*tables.values())))}
    large = [query for query in queries if sum(held[name].rows for name in tables[query.name]) > query.driver_factor * DRIVER_ROWS]
    few = [query for query in queries if query not in large]
    named = sorted({name for query in large for name in tables[query.name]})
    answers = _by_spark(lake, large, named, spark(), source, scope) if large else {}
    if few:
        answers |= in_process({name: held[name] for query in few for name in tables[query.name]}, few, source, scope)
    return {query.name: answers[query.name] for query in queries}


def all_files(lake: str, table: str) -> Files:
    """All files of the current version of a table."""
    return Files.of(table, data_files.of(open_tables.table(location(lake, table))))


def in_process(
    tables: Mapping[str, Files | pa.Table], queries: Sequence[Query], source: str | None = None, scope: Scope | None = None
) -> dict[str, pa.Table]:
    """The answers of DuckDB over files of a lake or tables in memory, given under the names that the queries use."""
    parted = source is not None or scope is not None
    with opened({f"all_{name}": table for name, table in tables.items()} if parted else tables) as database:
        if source is not None:
            database.register(SELECTED, _selected(source))
        if scope is not None:
            database.register(ASKED, scope.names())
            database.execute(f"CREATE TABLE {CHOSEN} AS {scope.chosen()}")
        if parted:
            for name in tables:
                database.execute(f"CREATE VIEW {name} AS {_part(name, source, scope)}")
        return {query.name: _whole_numbers(database.sql(query.sql).to_arrow_table()) for query in queries}


@contextmanager
def opened(tables: Mapping[str, Files | pa.Table]) -> Iterator[DuckDBPyConnection]:
    """DuckDB with views of these tables, in a database of its own."""
    import duckdb

    by_arrow = any(_read_by_arrow(table) for table in tables.values())
    number = next(_NUMBERS)
    name = f"opened_{number}"
    with duckdb_instances.shared(number, by_arrow=by_arrow, little=_is_little(tables)).cursor() as database:
        database.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
        duckdb_instances.keep_footers(database, _files(tables))
        try:
            for view, table in tables.items():
                _show(database, view, table)
            yield database
        except duckdb.FatalException:
            duckdb_instances.forget()
            raise
        finally:
            with suppress(duckdb.Error):
                database.execute(f"USE memory; DETACH {name}")


@contextmanager
def beside(database: DuckDBPyConnection, tables: Mapping[str, Files | pa.Table]) -> Iterator[DuckDBPyConnection]:
    """A further connection to a database that was opened for these tables, for another thread: it has the same tables and views."""
    [(name,)] = database.sql("SELECT current_database()").fetchall()
    with database.cursor() as other:
        other.execute(f"USE {name}")
        duckdb_instances.keep_footers(other, _files(tables))
        for view, table in tables.items():
            if _read_by_arrow(table):
                _show(other, view, table)  # each connection has its own
        yield other


@contextmanager
def asked_at_once(database: DuckDBPyConnection, number: int) -> Iterator[None]:
    """While this many threads ask queries at once, DuckDB runs fewer threads of its own, so that all together are one per processor.

    With more they take turns: on two cores that cost a tenth to a third more processor time.
    """
    import duckdb

    [(every,)] = database.sql("SELECT current_setting('threads')").fetchall()
    database.execute(f"SET GLOBAL external_threads = {min(number, every)}")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # after an internal error an instance answers nothing
            database.execute("RESET GLOBAL external_threads")


@contextmanager
def isolated(tables: Mapping[str, Files | pa.Table]) -> Iterator[DuckDBPyConnection]:
    """DuckDB with views of these tables, in an instance of its own, whose settings the caller may change."""
    with duckdb_instances.start(by_arrow=True) as database:
        for name, table in tables.items():
            _show(database, name, table)
        yield database


def differing(one: str, other: str, columns: str) -> str:
    """DuckDB's query for the rows, by some columns, that one of two tables has more often than the other."""
    either = f"SELECT {columns}, 1 AS sign FROM {one} UNION ALL SELECT {columns}, -1 AS sign FROM {other}"  # noqa: S608  our names
    return f"SELECT * EXCLUDE (sign) FROM ({either}) either GROUP BY ALL HAVING sum(sign) <> 0"  # noqa: S608


def _files(tables: Mapping[str, Files | pa.Table]) -> int:
    return sum(len(table.uris) for table in tables.values() if isinstance(table, Files))


def _is_little(tables: Mapping[str, Files | pa.Table]) -> bool:
    """Whether these are so few octets on this machine that one thread does."""
    left: int = duckdb_instances.LITTLE_OCTETS - sum(table.nbytes for table in tables.values() if isinstance(table, pa.Table))
    for uri in (uri for table in tables.values() if isinstance(table, Files) for uri in table.uris):
        try:
            left -= os.path.getsize(uri)
        except OSError:  # a file that is elsewhere, or gone
            return False
        if left < 0:
            return False
    return left >= 0


def show(database: DuckDBPyConnection, name: str, table: Files | pa.Table) -> None:
    """Create one more view of a table in an open database, which has all its threads from then on if the table is not little."""
    if not _is_little({name: table}):
        duckdb_instances.with_all_threads(database)
    _show(database, name, table)


def _show(database: DuckDBPyConnection, name: str, table: Files | pa.Table) -> None:
    if isinstance(table, pa.Table):
        database.register(name, table)
    elif not table.uris:
        database.register(name, stored(TABLES[table.table]).empty_table())
    elif _read_by_arrow(table):
        database.register(name, data_files.dataset(table.table, table.uris))
    else:
        _view(database, name, table)


def _read_by_arrow(table: Files | pa.Table) -> bool:
    return isinstance(table, pa.Table) or not table.uris or any(mark in uri for uri in table.uris for mark in NOT_PLAIN)


def _view(database: DuckDBPyConnection, name: str, files: Files) -> None:
    """A view of the files; a column that none of them has is null, because they are older than the column."""
    held = database.read_parquet(list(files.uris), union_by_name=True)
    schema = stored(TABLES[files.table])
    if set(schema.names) <= set(held.columns):
        held.create_view(name)
        return
    held.create_view(f"held_{name}")
    database.register(f"columns_of_{name}", schema.empty_table())
    database.execute(f"CREATE TABLE no_{name} AS SELECT * FROM columns_of_{name}")  # noqa: S608  our names
    database.execute(f"CREATE VIEW {name} AS SELECT * FROM no_{name} UNION ALL BY NAME SELECT * FROM held_{name}")  # noqa: S608


def _whole_numbers(answer: pa.Table) -> pa.Table:
    """Sums of BIGINT as BIGINT, as in Spark: DuckDB returns HUGEINT, which Arrow gets as a decimal."""
    types = (pa.int64() if pa.types.is_decimal(field.type) and field.type.scale == 0 else field.type for field in answer.schema)
    return answer.cast(pa.schema([field.with_type(kind) for field, kind in zip(answer.schema, types, strict=True)]))


def _selected(source: str) -> pa.Table:
    """The table `SELECTED`: the name comes from a user, so it is passed as data and not as SQL."""
    return pa.table({"source": pa.array([source], pa.string())})


def _of_source(table: str) -> str:
    """SQL for the rows of `all_<table>` that belong to the capture point in table `SELECTED`."""
    columns = TABLES[table].arrow.names
    if "source" in columns:
        return f"SELECT * FROM all_{table} WHERE source IN (SELECT source FROM {SELECTED})"  # noqa: S608  our names
    if "stream_id" in columns:
        return f"SELECT * FROM all_{table} WHERE stream_id IN (SELECT stream_id FROM ({_of_source(STREAMS)}) streams)"  # noqa: S608
    return f"SELECT * FROM all_{table}"  # noqa: S608


def _part(table: str, source: str | None, scope: Scope | None) -> str:
    """SQL for the rows of `all_<table>` that are of a capture point and in a scope."""
    rows = _of_source(table) if source is not None else f"SELECT * FROM all_{table}"  # noqa: S608  our names
    return rows if scope is None else scope.part(table, TABLES[table].arrow.names, rows)


def _by_spark(
    lake: str, queries: Sequence[Query], tables: Sequence[str], spark: SparkSession, source: str | None, scope: Scope | None
) -> dict[str, pa.Table]:
    from stompcap.lake import tables as lakes

    parted = source is not None or scope is not None

    def view(table: str) -> None:
        lakes.read(spark, lake, table).createOrReplaceTempView(f"all_{table}" if parted else table)

    def answer(query: Query) -> pa.Table:
        return spark.sql(query.sql).toArrow()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(view, tables))
        if source is not None:
            spark.createDataFrame(_selected(source)).createOrReplaceTempView(SELECTED)
        if scope is not None:
            spark.createDataFrame(scope.names()).createOrReplaceTempView(ASKED)
            spark.sql(scope.chosen()).createOrReplaceTempView(CHOSEN)
        if parted:
            for table in tables:
                spark.sql(_part(table, source, scope)).createOrReplaceTempView(table)
        return dict(zip((query.name for query in queries), pool.map(answer, queries), strict=True))
