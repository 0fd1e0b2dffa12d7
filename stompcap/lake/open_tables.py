"""Tables of a lake as deltalake opens them; while a run holds the lake each is opened once, and asked for its newer commits after that.

To open a table is to read its log from the last checkpoint on, which a run would otherwise do a hundred times. What is read of the files
of small tables is kept too, as long as the table has them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from stompcap.lake.delta_log import ENTRY
from stompcap.lake.paths import location
from stompcap.lake.stores import explained, settings

_KEPT: dict[str, DeltaTable] = {}
_COLUMNS: dict[str, dict[str, dict[str, pa.ChunkedArray]]] = {}
"""Of small tables that are kept: by table, file and name."""
_HOLDERS: list[str] = []
_LOCK = Lock()
AT_ONCE = 8
"""Files that are read at a time."""


@contextmanager
def keep_open(lake: str) -> Iterator[None]:
    """Keep the tables of a lake open; nobody else makes or removes tables of it meanwhile."""
    with _LOCK:
        _HOLDERS.append(location(lake, ""))
    try:
        yield
    finally:
        with _LOCK:
            _HOLDERS.remove(location(lake, ""))
            for where in [where for where in _KEPT if not where.startswith(tuple(_HOLDERS))]:
                del _KEPT[where]
            for where in _COLUMNS.keys() - _KEPT.keys():
                del _COLUMNS[where]


def table(where: str, version: int | None = None) -> DeltaTable:
    """The table that lies somewhere, as it is now or was at a version; of a lake that is kept, the latest is one object for all."""
    latest = _latest(where)
    return latest if version in (None, latest.version()) else at(where, version)


def seen(where: str) -> DeltaTable:
    """The table that lies somewhere, of a lake that is kept as it was when it was asked for last."""
    with _LOCK:
        held = _KEPT.get(where)
    return held or _latest(where)


def _latest(where: str) -> DeltaTable:
    with _LOCK:
        held = _KEPT.get(where)
    if held is not None:
        if "://" in where or os.path.exists(_commit(where, held.version() + 1)):
            held.update_incremental()  # deltalake has a lock of its own for each table
        return held
    found = at(where)
    with _LOCK:
        if where.startswith(tuple(_HOLDERS)):
            _KEPT[where] = found
    return found


def rows(where: str, uris: Sequence[str], schema: pa.Schema, read: Callable[[str, Sequence[str]], pa.Table]) -> pa.Table:
    """Columns of the files of the table that lies somewhere, as `read` gives those of a file; of a lake that is kept, none is read twice.

    A file of a table never changes, so that what a commit adds is all that is read for it.
    """
    with _LOCK:
        held = _COLUMNS.setdefault(where, {}) if where in _KEPT else {}
        for gone in held.keys() - set(uris):
            del held[gone]

    def of(uri: str) -> pa.Table:
        found = held.setdefault(uri, {})
        if lacking := [name for name in schema.names if name not in found]:
            found.update(zip(lacking, read(uri, lacking).columns, strict=True))
        return pa.Table.from_arrays([found[name] for name in schema.names], schema=schema)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return pa.concat_tables([schema.empty_table(), *pool.map(of, uris)])


def at(where: str, version: int | None = None) -> DeltaTable:
    """The table that lies somewhere, opened once more, as it is now or was at a version.

    DeltaError where its log cannot be read, or where its latest commit is empty, as after a loss of power: deltalake passes over that.
    """
    with explained(where):
        found = DeltaTable(where, version=version, storage_options=settings(where))
    latest = _commit(where, found.version())
    if "://" not in where and os.path.isfile(latest) and not os.path.getsize(latest):
        raise DeltaError(f"{latest} is empty")
    return found


def _commit(where: str, version: int) -> str:
    """The file of a commit (Delta protocol, "Delta Log Entries")."""
    return f"{where}/_delta_log/{version:020d}.json"


def is_there(where: str) -> bool:
    """Whether a table lies somewhere. On this machine one entry of its log tells; deltalake looks at all, which are more with each run."""
    if "://" not in where:
        with suppress(OSError), os.scandir(f"{where}/_delta_log") as log:
            if any((found := ENTRY.fullmatch(entry.name)) and (found[2] or found[3]) for entry in log):
                return True
    return DeltaTable.is_deltatable(where, settings(where))
