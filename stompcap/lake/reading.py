"""The SQL of users over a lake, executed by DuckDB, which can reach nothing but the files of the lake's tables, and what the user attached.

Three things ensure that. Only statements that read are executed (`stompcap.lake.statement`). Table functions are refused unless they are
known to read no files. DuckDB is configured to open only the files of the tables' current versions, to load no extension and to see no
Python variables, and its configuration is locked.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap import zones
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import attached, data_files, open_tables, query
from stompcap.lake.attached import quoted
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.lake.statement import REFUSED, calls, demand_reading, explained
from stompcap.tables import TABLES
from stompcap.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from stompcap.lake.attached import Attached

BATCH_ROWS = 1 << 14
AT_ONCE = 4
TEXT = re.compile(rb"[eE]?'|\$\w*\$")
"""The beginning of a string literal. Dollar quotes with a tag beyond ASCII do not count: DuckDB takes some of its characters for spaces."""

UNREAD = "sql reads the tables of the lake and no other files"
LISTING = {"show", "information_schema", "duckdb_tables", "duckdb_views", "duckdb_columns", "pg_catalog", "sqlite_master"}
"""Words that occur in statements that list tables."""

EVERYTHING = frozenset((*TABLES, *VIEWS))

FUNCTIONS = frozenset(
    ("range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary", "duckdb_columns",
     "duckdb_functions", "duckdb_keywords", "duckdb_settings", "duckdb_tables", "duckdb_types", "duckdb_views", "icu_calendar_names",
     "pg_timezone_names")
)  # fmt: skip
"""The table functions that are allowed: they read no files."""


def named(statement: str) -> frozenset[str]:
    """The tables and views that a statement may read: those whose names occur in it as words; all if it may list tables."""
    words = {word.lower() for word in re.findall(r"\w+", statement)}
    return EVERYTHING if words & LISTING else EVERYTHING & words


def files(lake: str, table: str) -> Files:
    """The files of a table.

    Raises EnvironmentProblem if the table uses features of Delta that a plain Parquet reader lacks: deletion vectors, column mapping.
    """
    delta = open_tables.table(location(lake, table))
    if delta.protocol().min_reader_version > 1:
        features = ", ".join(delta.protocol().reader_features or ("columnMapping",))
        raise EnvironmentProblem(f"table {table} of {lake} was written with {features}, which only Spark reads; add --spark")
    return Files(table, tuple(data_files.uris(delta)))


@contextmanager
def answered(lake: str, statement: str, more: Sequence[Attached] = ()) -> Iterator[tuple[list[str], Iterator[list[object]]]]:
    """Columns and rows of the answer to a statement over the tables' current versions; the time zone is that of stompcap.zones.

    `more` are files and lakes that the user attached.

    Raises UsageError if the statement does more than read, and the error of DuckDB if it is not valid.
    """
    demand_reading(statement)
    with _opened(lake, named(statement), more) as database:
        if found := _refused(database).search(_without_texts(statement)):
            raise UsageError(f"{found[1]}(): {UNREAD}")
        if not _reads(database, explained(statement)):
            raise UsageError(REFUSED)
        reader = _run(database, statement).to_arrow_reader(BATCH_ROWS)
        yield reader.schema.names, _rows(reader)


def _reads(database: DuckDBPyConnection, statement: str) -> bool:
    """Whether it is one query. DuckDB expands PIVOT without a list of values to CREATE statements without text and the query."""
    import duckdb

    kind = duckdb.StatementType
    *before, last = database.extract_statements(statement) or (None,)
    return last is not None and last.type == kind.SELECT and all(one.type == kind.CREATE and not one.query for one in before)


def _run(database: DuckDBPyConnection, statement: str) -> DuckDBPyConnection:
    """Execute a statement up to the part with rows: DuckDB expands an explained PIVOT to several, the last of which has none."""
    import duckdb

    for part in database.extract_statements(statement):  # by this connection, for what comes of it depends on its transaction
        database.execute(part)
        if part.type in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            break
    return database


def _without_texts(statement: str) -> str:
    """The statement with empty string literals, found by DuckDB's tokenizer."""
    import duckdb

    octets = statement.encode()
    tokens = duckdb.tokenize(statement)
    ends = [begin for begin, _ in tokens[1:]] + [len(octets)]
    kept = [octets[: tokens[0][0]] if tokens else octets]
    for (begin, kind), end in zip(tokens, ends, strict=True):
        is_text = kind == duckdb.token_type.string_const and TEXT.match(octets, begin)
        kept.append(b"'' " if is_text else octets[begin:end])
    return b"".join(kept).decode()


def _refused(database: DuckDBPyConnection) -> re.Pattern[str]:
    """A pattern that matches calls of table functions that are not allowed."""
    found = database.execute("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'").fetchall()
    return calls({name for (name,) in found} - FUNCTIONS)


@contextmanager
def _opened(lake: str, names: Iterable[str], more: Sequence[Attached]) -> Iterator[DuckDBPyConnection]:
    """DuckDB with views of these tables and views of a lake and of what is attached, and access to nothing else."""
    views = [VIEWS[name] for name in names if name in VIEWS]
    tables = sorted({name for name in names if name in TABLES} | {table for view in views for table in view.tables})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        held = dict(zip(tables, pool.map(lambda table: files(lake, table), tables), strict=True))
    with tempfile.TemporaryDirectory(prefix="stompcap-sql-") as spilled, query.isolated(held) as database:
        for view in views:
            database.execute(f"CREATE VIEW {view.name} AS {view.of()}")
        beside = attached.show(database, more, names, files) if more else []
        _lock(database, [*(uri for part in held.values() for uri in part.uris), *beside], spilled)
        yield database


def _lock(database: DuckDBPyConnection, uris: list[str], spilled: str) -> None:
    """Restrict DuckDB to these files, and to a folder for intermediate results that it spills."""
    allowed = ", ".join(map(quoted, uris))
    for setting in (
        f"TimeZone = {quoted(zones.name())}",
        f"allowed_paths = [{allowed}]",
        f"temp_directory = {quoted(spilled)}",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        database.execute(f"SET {setting}")


def _rows(reader: pa.RecordBatchReader) -> Iterator[list[object]]:
    """The rows; a TIMESTAMP has no zone, TIMESTAMP WITH TIME ZONE has that of stompcap.zones, and a map is a dict."""
    for batch in reader:
        columns = [_micros(column).to_pylist(maps_as_pydicts="lossy") for column in batch.columns]
        yield from map(list, zip(*columns, strict=True))


def _micros(column: pa.Array) -> pa.Array:
    """A column of times in microseconds, the resolution of Python's datetime."""
    kind = column.type
    return column.cast(pa.timestamp("us", kind.tz), safe=False) if pa.types.is_timestamp(kind) else column
