"""A table's Delta log, for what deltalake has no call: all transaction identifiers, and the files that changed since a version.

A log is read from its last checkpoint on, and a process that lives on reads what has come since. Commits never change, and are read once.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import ReferenceType, ref

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from stompcap.lake.data_files import is_remote
from stompcap.lake.paths import filesystem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from deltalake import DeltaTable

ENTRY = re.compile(r"(\d{20})\.(?:(json)|(checkpoint\..*parquet)|crc)")
"""The name of an entry of a log, with its version: a commit, (part of) a checkpoint, or a checksum of what a version has."""

KEPT = 4096  # commits that are kept in memory: those of twenty tables
TABLES = 64  # whose transaction identifiers are kept in memory

_LOCK = Lock()
_TRANSACTIONS: dict[str, tuple[str, int, dict[str, int]]] = {}
"""By where a table lies: its era, a version, and the transaction identifiers up to it."""

_ERAS: dict[str, tuple[str, int, tuple[int, int], ReferenceType[DeltaTable]]] = {}
"""By where a table lies: its era, a version of it with what tells the file of its commit, and the object by which that was found last."""


@dataclass(frozen=True)
class Change:
    """A data file that a commit added or removed with its rows; `uri` is where it lies, or lay."""

    uri: str
    added: bool


@dataclass(frozen=True)
class _Commit:
    """What a commit says."""

    transactions: tuple[tuple[str, int], ...]
    changes: tuple[tuple[str, bool], ...]
    removed: tuple[tuple[str, int], ...]
    added: tuple[str, ...]
    feed: bool | None
    at_ms: int
    ours: bool
    added_rows: int


def era(table: DeltaTable) -> str:
    """What a table's commits are known by in this process, with their versions: another word once the table was made or restored anew.

    A copy of a lake has the same ids of tables, and one that was restored has other commits under the same names. The file of the latest
    commit that was seen tells: once it is gone, or another one, nothing that was read of the log before counts.
    """
    where, table_id = root(table), str(table.metadata().id)
    with _LOCK:
        found = _ERAS.get(where)
    word, folder = f"{table_id} {uuid.uuid4()}", _folder(table)
    if found is not None:
        before, version, commit, kept = found
        if kept() is table:  # nobody restores a table while it is kept open
            if version == table.version():
                return before
            word = before
        elif before.startswith(table_id) and version <= table.version() and _identity(folder, version) == commit:
            word = before
    with _LOCK:
        _ERAS[where] = word, table.version(), _identity(folder, table.version()), ref(table)
        if len(_ERAS) > TABLES:
            del _ERAS[next(iter(_ERAS))]
    return word


def _identity(folder: str, version: int) -> tuple[int, int]:
    """What tells the file of a commit from another of its name: when it was written, and its octets; zeros where there is none."""
    system, path = filesystem(f"{folder}/{version:020d}.json")
    info = system.get_file_info(path)
    return (info.mtime_ns or 0, info.size) if info.type == fs.FileType.File else (0, 0)


def transactions(table: DeltaTable) -> Mapping[str, int]:
    """The latest version of each application id in a table (Delta protocol, Transaction Identifiers)."""
    where, word, version = root(table), era(table), table.version()
    with _LOCK:
        of_era, upto, found = _TRANSACTIONS.get(where, ("", -1, {}))
    if of_era != word:
        upto, found = -1, {}
    if upto == version:
        return found
    newer = _since(table, upto + 1, found) if 0 <= upto < version else None
    found = newer if newer is not None else _all(table)
    with _LOCK:
        _TRANSACTIONS[where] = word, version, found
        if len(_TRANSACTIONS) > TABLES:
            del _TRANSACTIONS[next(iter(_TRANSACTIONS))]
    return found


def _all(table: DeltaTable) -> dict[str, int]:
    """All transaction identifiers up to the table's version, by its last checkpoint and the commits since."""
    folder, found = _folder(table), dict[str, int]()
    checkpoint = _last_checkpoint(folder)
    for name in _names(checkpoint) if checkpoint else ():
        found |= _checkpoint(f"{folder}/{name}")
    begin = checkpoint["version"] + 1 if checkpoint else 0
    newer = _since(table, begin, found)
    if newer is None:
        raise FileNotFoundError(f"{folder}: commits since version {begin} are missing")
    return newer


def _since(table: DeltaTable, begin: int, before: dict[str, int]) -> dict[str, int] | None:
    """The identifiers from `before` and of the commits from `begin` to the table's version; None where one was cleaned up."""
    word, folder, found = era(table), _folder(table), before.copy()
    try:
        for number in range(begin, table.version() + 1):
            found |= _commit(word, f"{folder}/{number:020d}.json").transactions
    except FileNotFoundError:
        return None
    return found


def changes(table: DeltaTable, since: int) -> list[Change] | None:
    """The files that brought rows or took them away after version `since`; None where the log no longer has the commits since then.

    Files that were added and removed since, and those of a compaction, are not among them.
    """
    word, folder, where = era(table), _folder(table), root(table)
    if since > table.version():
        return None
    try:
        commits = [_commit(word, f"{folder}/{number:020d}.json") for number in range(since + 1, table.version() + 1)]
    except FileNotFoundError:
        return None
    came, went = ({path for commit in commits for path, added in commit.changes if added is way} for way in (True, False))
    return [Change(f"{where}/{unquote(path)}", path in came) for path in sorted(came ^ went)]


def by_others(table: DeltaTable, since: int) -> list[tuple[list[str], int]]:
    """Of each commit after version `since` that no run of ours made and that removed files: where these lie, or lay, and the rows it added.

    Commits that the log no longer has are left out.
    """
    where = root(table)
    return [
        ([f"{where}/{unquote(path)}" for path, _ in commit.removed], commit.added_rows)
        for _, commit in _backwards(table, since) if not commit.ours and commit.removed
    ]  # fmt: skip


def removed(table: DeltaTable) -> Iterator[tuple[str, int, int]]:
    """The files that commits have removed, the latest first: path, octets, and when, in milliseconds; as far back as the log goes."""
    for _, commit in _backwards(table):
        for path, octets in commit.removed:
            yield unquote(path), octets, commit.at_ms


def added_by(table: DeltaTable, app_ids: Collection[str]) -> set[str]:
    """The files that commits with these application ids added, as far back as the log goes."""
    left, found = {app_id for app_id in app_ids if table.transaction_version(app_id) is not None}, set[str]()
    for _, commit in _backwards(table) if left else ():
        if named := left & {name for name, _ in commit.transactions}:
            left -= named
            found |= {unquote(path) for path, added in commit.changes if added}
        if not left:
            break
    return found


def put_together(table: DeltaTable, ours: Callable[[str], object]) -> Iterator[str]:
    """Where the files lie, or lay, that commits removed which added one whose name is not `ours`; the latest commit first."""
    where = root(table)
    for _, commit in _backwards(table):
        if not all(ours(unquote(path)) for path in commit.added):
            yield from (f"{where}/{unquote(path)}" for path, _ in commit.removed)


def touched(table: DeltaTable) -> Iterator[tuple[int, set[str], bool | None]]:
    """The commits of a table, the latest first, as far back as the log goes.

    Of each its version, the files that it added with their rows or removed, and whether it set the table to have a change feed, or None
    where it says nothing of that.
    """
    for version, commit in _backwards(table):
        yield version, {unquote(path) for path, _ in (*commit.changes, *commit.removed)}, commit.feed


def _backwards(table: DeltaTable, since: int = -1) -> Iterator[tuple[int, _Commit]]:
    """The commits after a version with theirs, the latest first, as far back as the log goes."""
    word, folder = era(table), _folder(table)
    for number in range(table.version(), since, -1):
        try:
            commit = _commit(word, f"{folder}/{number:020d}.json")
        except FileNotFoundError:
            return
        yield number, commit


def root(table: DeltaTable) -> str:
    """The folder of a table: a path where it is local, else a URI."""
    uri = table.table_uri.rstrip("/")
    return uri if is_remote(table) else unquote(uri.removeprefix("file://"))


def _folder(table: DeltaTable) -> str:
    return f"{root(table)}/_delta_log"


def _read(uri: str) -> bytes:
    system, path = filesystem(uri)
    with system.open_input_stream(path) as stream:
        octets: bytes = stream.read()
    return octets


def _last_checkpoint(folder: str) -> dict[str, Any] | None:
    system, path = filesystem(f"{folder}/_last_checkpoint")
    if system.get_file_info(path).type == fs.FileType.NotFound:
        return None
    found: dict[str, Any] = json.loads(_read(f"{folder}/_last_checkpoint"))
    return found


def _names(checkpoint: dict[str, Any]) -> list[str]:
    """The files of a checkpoint, which has one unless it says how many parts."""
    version, parts = checkpoint["version"], checkpoint.get("parts")
    if not parts:
        return [f"{version:020d}.checkpoint.parquet"]
    return [f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet" for part in range(1, parts + 1)]


def _checkpoint(uri: str) -> dict[str, int]:
    """The transaction identifiers of a file of a checkpoint; those of several tables, which are alike, are held once."""
    system, path = filesystem(uri)
    with pq.ParquetFile(path, filesystem=system) as file:
        found = file.read(columns=["txn.appId", "txn.version"]).column("txn").combine_chunks()
    names, versions = (pc.struct_field(found, name) for name in ("appId", "version"))
    there = names.is_valid()
    return dict(zip(map(sys.intern, names.filter(there).to_pylist()), versions.filter(there).to_pylist(), strict=True))


@lru_cache(KEPT)
def _commit(of_era: str, uri: str) -> _Commit:
    """One commit; FileNotFoundError where it was cleaned up."""
    del of_era
    actions = [json.loads(line) for line in _read(uri).splitlines() if line.strip()]
    transactions = tuple((sys.intern(one["txn"]["appId"]), one["txn"]["version"]) for one in actions if "txn" in one)
    files = [(one.get("add") or one.get("remove"), "add" in one) for one in actions if "add" in one or "remove" in one]
    removed = tuple((action["path"], action.get("size") or 0) for action, added in files if not added)
    added = tuple(action["path"] for action, way in files if way)
    at_ms = max((one["commitInfo"].get("timestamp") or 0 for one in actions if "commitInfo" in one), default=0)
    ours = any("run_id" in (one["commitInfo"].get("userMetadata") or "") for one in actions if "commitInfo" in one)
    rows = sum(json.loads(action.get("stats") or "{}").get("numRecords", 0) for action, way in files if way)
    changes = tuple((action["path"], way) for action, way in files if action["dataChange"])
    settings = [one["metaData"].get("configuration", {}) for one in actions if "metaData" in one]
    feed = settings[-1].get("delta.enableChangeDataFeed") == "true" if settings else None
    return _Commit(transactions, changes, removed, added, feed, at_ms, ours, rows)
