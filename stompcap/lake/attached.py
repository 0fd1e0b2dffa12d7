"""What a user attaches to a lake for questions of SQL: files of their own, and other lakes; all are only read.

A Parquet or CSV file is a table of the name given, a lake a schema of that name with its tables and views: `other.sessions`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stompcap.errors import UsageError
from stompcap.lake import query, tables
from stompcap.lake.data_files import Files
from stompcap.tables import TABLES
from stompcap.views import VIEWS
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from duckdb import DuckDBPyConnection

NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
TAKEN = frozenset((*TABLES, *VIEWS, "main", "temp", "system", "information_schema", "pg_catalog"))
READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".csv.gz": "read_csv", ".tsv": "read_csv"}
PATTERN = re.compile(r"[*?\[]")  # DuckDB takes a path with these for a pattern


@dataclass(frozen=True)
class Attached:
    """One file or lake: the name that statements know it by, where it is, and how DuckDB reads it, empty for a lake."""

    name: str
    path: str
    reader: str

    @staticmethod
    def of(text: str) -> Attached:
        """What `NAME=PATH` names. Raises UsageError where there is no such file or lake."""
        name, _, path = text.partition("=")
        option = f"--attach {visible(text, 80)}"
        if not NAME.fullmatch(name) or not path:
            raise UsageError(f"{option}: must be NAME=PATH, the name of letters, digits and _")
        if name.lower() in TAKEN:
            raise UsageError(f"{option}: {name} is a name that the lake has itself")
        if "://" not in path and not os.path.exists(path):
            raise UsageError(f"{option}: no such file or folder")
        if "://" in path or os.path.isdir(path):
            tables.demand(path)
            return Attached(name, path, "")
        reader = next((reader for ending, reader in READERS.items() if path.lower().endswith(ending)), None)
        if reader is None:
            raise UsageError(f"{option}: must be the folder of a lake, or a file that ends in {', '.join(READERS)}")
        if PATTERN.search(path):
            raise UsageError(f"{option}: files with * ? [ in their names cannot be attached")
        return Attached(name, os.path.abspath(path), reader)


def attached(texts: Iterable[str]) -> list[Attached]:
    """What several `NAME=PATH` name. Raises UsageError, also for a name that is given twice."""
    found = [Attached.of(text) for text in texts]
    names = [one.name.lower() for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--attach {twice}=...: the name is given twice")
    return found


def show(database: DuckDBPyConnection, some: Sequence[Attached], named: Iterable[str], files: Callable[[str, str], Files]) -> list[str]:
    """Make what is attached known to DuckDB; gives the files that it may open for that.

    Of lakes those tables and views are known that are `named`; `files` gives the files of a lake's table.
    """
    opened: list[str] = []
    for one in some:
        if one.reader:
            database.execute(f"CREATE VIEW {one.name} AS SELECT * FROM {one.reader}({quoted(one.path)})")  # noqa: S608  quoted
            opened.append(one.path)
        else:
            opened += _lake(database, one, set(named), files)
    return opened


def _lake(database: DuckDBPyConnection, one: Attached, named: set[str], files: Callable[[str, str], Files]) -> list[str]:
    views = [view for name, view in VIEWS.items() if name in named]
    wanted = sorted({name for name in named if name in TABLES} | {table for view in views for table in view.tables})
    database.execute(f"CREATE SCHEMA {one.name}")
    opened: list[str] = []
    for table in wanted:
        held = files(one.path, table)
        query.show(database, f"{one.name}_{table}", held)
        database.execute(f"CREATE VIEW {one.name}.{table} AS SELECT * FROM main.{one.name}_{table}")  # noqa: S608  our names
        opened += held.uris
    for view in views:
        database.execute(f"CREATE VIEW {one.name}.{view.name} AS {view.of({table: f'{one.name}.{table}' for table in view.tables})}")
    return opened


def quoted(text: str) -> str:
    """A text literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def definitions(lake: str) -> list[str]:
    """Statements by which any DuckDB with its extension for Delta knows the tables and views of a lake, always as they are now."""
    from stompcap.lake.paths import location

    scans = [f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM delta_scan({quoted(location(lake, name))});" for name in TABLES]  # noqa: S608
    views = [f"CREATE OR REPLACE VIEW {view.name} AS {' '.join(view.of().split())};" for view in VIEWS.values()]
    return ["INSTALL delta;", "LOAD delta;", *scans, *views]
