"""The instances of DuckDB of this process, each with the settings that every query of the project counts on.

Databases that are opened for a few queries share an instance, whose start takes as long as a small query. What is a setting of an instance
tells them apart: where Arrow reads a table, joins must not push their filters down into it, because Arrow does not know all of them; and
where little is read, a second thread costs more than it does.
"""

from __future__ import annotations

import os
import tempfile
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "600MB"
"""Memory that DuckDB uses before it spills intermediate results to disk."""

FOOTERS = 1_000
"""Files of one database, up to which the instance keeps their footers: DuckDB reads them for each view and each query anew."""

LITTLE_OCTETS = 1 << 24
"""Octets of the files of a database, up to which each of its queries has one thread. With two, runs of five minutes' traffic each over a
lake of twelve hours took a sixth more processor time, and longer."""

OPENED = 1_000
"""Databases, after which another instance takes the place of one, so that footers of files that are gone do not pile up."""

_INSTANCES: dict[tuple[int, bool, bool], tuple[int, DuckDBPyConnection]] = {}
"""By process, whether Arrow reads a table, and whether little is read: the number of the database from which on it is another, and the
instance."""
_SPILLS = count()
_LOCK = Lock()


def keep_footers(database: DuckDBPyConnection, files: int) -> None:
    """Have the instance keep the footers of the files of a database, if they are few."""
    database.execute(f"SET parquet_metadata_cache = {files <= FOOTERS}")


def shared(number: int, *, by_arrow: bool, little: bool) -> DuckDBPyConnection:
    """The instance of this process for a database of this number; a process that was forked off another starts its own.

    `little`: no more than `LITTLE_OCTETS` are read.
    """
    with _LOCK:
        key = os.getpid(), by_arrow, little
        until, instance = _INSTANCES.get(key, (0, None))
        if instance is None or number >= until:
            instance = start(by_arrow=by_arrow)
            _INSTANCES[key] = number + OPENED, instance
        if little:
            instance.execute("SET GLOBAL threads = 1")
        return instance


def with_all_threads(database: DuckDBPyConnection) -> None:
    """Have the instance of a database use one thread for each processor again."""
    database.execute("RESET GLOBAL threads")


def forget() -> None:
    """Start others from now on: an instance answers nothing after an internal error."""
    with _LOCK:
        _INSTANCES.clear()


def start(*, by_arrow: bool) -> DuckDBPyConnection:
    """An instance of its own, whose settings the caller may change."""
    import duckdb

    # by itself it spills into the working directory, which need be neither writable nor large; instances must not share a folder
    spilled = os.path.join(tempfile.gettempdir(), f"stompcap-duckdb-{os.getpid()}-{next(_SPILLS)}")
    started = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": spilled})
    started.execute("SET GLOBAL TimeZone = 'UTC'")
    started.execute("SET GLOBAL default_null_order = 'nulls_first_on_asc_last_on_desc'")  # as Spark has it
    started.execute("SET GLOBAL enable_external_file_cache = false")  # what a process that lives on would keep of files that are gone
    if by_arrow:
        started.execute("SET GLOBAL disabled_optimizers = 'join_filter_pushdown'")
    return started
