"""What is wrong with a lake's files: tables whose folder or log is gone or cut, data files that are missing or cut.

Nothing here changes a lake. `stompcap repair` mends what is found (`stompcap.lake.mending`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError
from pyarrow import fs

from stompcap.errors import EnvironmentProblem
from stompcap.lake import data_files, open_tables, stores
from stompcap.lake.delta_log import ENTRY
from stompcap.lake.paths import filesystem, location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from stompcap.lake.data_files import File

AT_ONCE = 8
MADE = "stompcap.tables"
"""Setting of table runs: the tables that were made in its lake, so that one whose folder is gone is told from one never made."""

MARK = "_repair.json"
"""File beside the tables while a repair goes on: what was damaged. A repair that was killed is known by it."""

LONGEST = 120


@dataclass(frozen=True)
class Damage:
    """One thing that cannot be read: of which table, which file of its folder (empty: the table itself), and what is wrong with it.

    `rows` are those that the table's log says it had; None where that is not known.
    """

    table: str
    file: str
    what: str
    rows: int | None = None

    def __str__(self) -> str:
        return f"table {self.table}: {self.file + ' ' if self.file else ''}{self.what}"


@dataclass(frozen=True)
class Entry:
    """A file of a folder. One of this machine is asked for its size only where that counts: most are of versions that are gone."""

    path: str
    listed: int | None = None

    @property
    def size(self) -> int:
        """Its octets."""
        return os.path.getsize(self.path) if self.listed is None else self.listed


class Damaged(EnvironmentProblem):
    """A lake that cannot be read; the message names the first damage and the remedy."""

    def __init__(self, lake: str, first: object, more: int = 0) -> None:
        also = f" (and {more} more)" if more else ""
        super().__init__(f"{lake}: {first}{also}; {remedy(lake)}")


def remedy(lake: str) -> str:
    """What is to be done about a damaged lake."""
    return f"to see what is lost and have it computed again: stompcap repair --lake {lake}"


def demand_whole(lake: str) -> None:
    """Raise Damaged where the files that the tables' logs name are not all there with their size; one listing for each table."""
    if found := examined(lake, thorough=False):
        raise Damaged(lake, found[0], len(found) - 1)


def demand_repaired(lake: str) -> None:
    """Raise Damaged where a repair was begun and has not ended."""
    system, path = filesystem(location(lake, MARK))
    if system.get_file_info(path).type != fs.FileType.NotFound:
        raise Damaged(lake, "a repair of it has not ended")


def demand_tables(lake: str) -> None:
    """Raise Damaged where a table is gone that the lake had; a lake that is not there has lost nothing."""
    if lost := gone(lake):
        raise Damaged(lake, Damage(lost[0], "", "is gone"), len(lost) - 1)


def gone(lake: str) -> list[str]:
    """The tables that the lake had and that have no log any more."""
    if not open_tables.is_there(location(lake, "runs")):
        return ["runs"] if any(map(_used, _at(lake, ("batches", "captures", "streams")))) else []
    made = open_tables.table(location(lake, "runs")).metadata().configuration.get(MADE)
    if not made:
        return []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        names = [name for name in made.split(",") if name in TABLES]
        return [name for name, there in zip(names, pool.map(open_tables.is_there, _at(lake, names)), strict=True) if not there]


def _at(lake: str, names: Sequence[str]) -> list[str]:
    return [location(lake, name) for name in names]


def _used(where: str) -> bool:
    """Whether a table has more than the commit that made it, as far as its log says."""
    system, path = filesystem(f"{where}/_delta_log")
    return len(listing(system, path)) > 1


def examined(lake: str, *, thorough: bool = True) -> list[Damage]:
    """All that is wrong, table by table.

    `thorough`: each commit and the end of each data file is read too, else names and sizes are compared, which costs a listing or two.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        lost = frozenset(_lost(lake))
        return [one for found in pool.map(lambda name: list(_of_table(lake, name, name in lost, thorough)), TABLES) for one in found]


def _lost(lake: str) -> list[str]:
    try:
        return gone(lake)
    except DeltaError:  # the log of runs cannot be read, which its own examination says
        return []


def _of_table(lake: str, table: str, lost: bool, thorough: bool) -> Iterator[Damage]:
    where = location(lake, table)
    system, path = filesystem(where)
    log = listing(system, f"{path}/_delta_log")
    if not log:
        held = bool(listing(system, path))
        if lost or held:
            yield Damage(table, "_delta_log" if held else "", "is gone")
        return
    broken = culprit(system, f"{path}/_delta_log", log, thorough=thorough)
    try:
        delta = None if broken else open_tables.at(where) if thorough else open_tables.table(where)
    except DeltaError as error:
        broken = culprit(system, f"{path}/_delta_log", log) or ("", f"cannot be read ({' '.join(str(error).split())[:LONGEST]})")
        delta = None
    if broken:
        yield Damage(table, f"_delta_log/{broken[0]}".rstrip("/"), broken[1])
    if delta is None:
        return
    for file, what in unreadable(delta, thorough=thorough):
        yield Damage(table, file.name, what, file.rows)


def listing(system: fs.FileSystem, path: str) -> dict[str, Entry]:
    """The files of a folder by their names; none where there is no folder."""
    if isinstance(system, fs.LocalFileSystem):
        with suppress(FileNotFoundError), os.scandir(path) as entries:
            return {one.name: Entry(one.path) for one in entries if one.is_file()}
        return {}
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return {one.base_name: Entry(one.path, one.size) for one in found if one.type == fs.FileType.File}


def culprit(
    system: fs.FileSystem, folder: str, log: Mapping[str, Entry], *, thorough: bool = True
) -> tuple[str, str] | None:
    """The first entry of a log that keeps its latest version from being read, and what is wrong with it.

    Only what a reader needs counts: the last checkpoint, and the commits since; by names and sizes alone if not `thorough`.
    """
    if thorough and "_last_checkpoint" in log:
        says = _json(system, f"{folder}/_last_checkpoint")
        if says is None or not any(name.startswith(f"{says[0].get('version', -1):020d}.checkpoint") for name in log):
            return "_last_checkpoint", "names no checkpoint that is there"
    entries = sorted((int(found[1]), name, found) for name in log if (found := ENTRY.fullmatch(name)))
    checkpoints = [(version, name) for version, name, found in entries if found[3]]
    for _, name in checkpoints[-1:]:
        if thorough and (problem := footer(system, f"{folder}/{name}")):
            return name, problem
    commits = {version: name for version, name, found in entries if found[2]}
    begin = checkpoints[-1][0] + 1 if checkpoints else 0
    for version in range(begin, max(commits, default=begin - 1) + 1):
        name = commits.get(version, f"{version:020d}.json")
        if version not in commits:
            return name, "is missing"
        if not log[name].size:
            return name, "is empty"
        if thorough and _json(system, f"{folder}/{name}") is None:
            return name, "is cut"
    return None


def _json(system: fs.FileSystem, path: str) -> list[dict[str, object]] | None:
    """The lines of a file of JSON objects; None where one is none."""
    with system.open_input_stream(path) as stream:
        lines = stream.read().splitlines()
    try:
        found = [json.loads(line) for line in lines if line.strip()]
    except ValueError:
        return None
    return found if found and all(isinstance(one, dict) for one in found) else None


def footer(system: fs.FileSystem, path: str) -> str | None:
    """Why a Parquet file cannot be read, by its end, where its columns are described; None where it can."""
    try:
        with pq.ParquetFile(path, filesystem=system):
            return None
    except (pa.ArrowException, OSError):
        return "cannot be read"


def unreadable(delta: DeltaTable, columns: Sequence[str] = (), *, thorough: bool = True) -> Iterator[tuple[File, str]]:
    """The data files of a table that cannot be read, with the bounds of some columns, and why."""
    held = data_files.of(delta, columns)
    if not held:
        return
    system, path = filesystem(delta.table_uri if data_files.is_remote(delta) else held[0].uri.rpartition("/")[0])
    there = listing(system, path)
    for file in held:
        info = there.get(file.uri.rpartition("/")[2])
        if info is None and system.get_file_info(filesystem(file.uri)[1]).type != fs.FileType.File:
            yield file, "is missing"
        elif info is not None and info.size != file.size and footer(system, info.path):
            yield file, f"has {info.size} bytes of {file.size}"
        elif thorough and (problem := footer(*filesystem(file.uri))):
            yield file, problem


def explained(lake: str, error: Exception) -> Exception:
    """An error that nobody foresaw, as Damaged where the lake is; else as it is."""
    try:
        with stores.explained(lake):
            demand_tables(lake)
            found = examined(lake, thorough=False) or examined(lake)
    except EnvironmentProblem as known:
        return known
    except Exception:  # noqa: BLE001 - what is examined for an error must not hide it
        return error
    return Damaged(lake, found[0], len(found) - 1) if found else error
