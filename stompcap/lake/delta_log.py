"""A table's Delta log, for what deltalake has no call: all transaction identifiers, and the files that changed since a version.

A log is read from its last checkpoint on, so the cost does not grow with the number of commits. Checkpoints and commits never change,
and are read once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyarrow import fs

from stompcap.lake.data_files import is_remote
from stompcap.lake.places import filesystem

if TYPE_CHECKING:
    from deltalake import DeltaTable

KEPT = 4096  # commits that are kept in memory: those of twenty tables
CHECKPOINTS = 64
"""Checkpoints that are kept in memory, a few for each table: each has all transaction identifiers that the table ever noted."""


@dataclass(frozen=True)
class Change:
    """A data file that a commit added or removed with its rows; `uri` is where it lies, or lay."""

    uri: str
    added: bool


@dataclass(frozen=True)
class _Commit:
    """What a commit, or a checkpoint of all before it, says."""

    transactions: tuple[tuple[str, int], ...]
    changes: tuple[tuple[str, bool], ...] = ()


def transactions(table: DeltaTable) -> dict[str, int]:
    """The version that each application noted last in a table (Delta protocol, Transaction Identifiers)."""
    table_id, folder, version = table.metadata().id, _folder(table), table.version()
    found: dict[str, int] = {}
    begin = 0
    checkpoint = _last_checkpoint(folder)
    if checkpoint is not None:
        begin = checkpoint["version"] + 1
        for name in _names(checkpoint):
            found |= dict(_checkpoint(table_id, f"{folder}/{name}").transactions)
    for number in range(begin, version + 1):
        found |= dict(_commit(table_id, f"{folder}/{number:020d}.json").transactions)
    return found


def changes(table: DeltaTable, since: int) -> list[Change] | None:
    """The files that brought rows or took them away after version `since`; None where the log has forgotten.

    Without files that came and went, and without those of a compaction.
    """
    table_id, folder, root = table.metadata().id, _folder(table), _root(table)
    if since > table.version():
        return None
    try:
        commits = [_commit(table_id, f"{folder}/{number:020d}.json") for number in range(since + 1, table.version() + 1)]
    except FileNotFoundError:
        return None
    came, went = ({path for commit in commits for path, added in commit.changes if added is way} for way in (True, False))
    return [Change(f"{root}/{unquote(path)}", path in came) for path in sorted(came ^ went)]


def _root(table: DeltaTable) -> str:
    """The folder of a table: a path where it is local, else a URI."""
    uri = table.table_uri.rstrip("/")
    return uri if is_remote(table) else unquote(uri.removeprefix("file://"))


def _folder(table: DeltaTable) -> str:
    return f"{_root(table)}/_delta_log"


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


@lru_cache(CHECKPOINTS)
def _checkpoint(table_id: str, uri: str) -> _Commit:
    """The transaction identifiers of a checkpoint; the table's id keeps apart tables that were made at one place, one after the other."""
    del table_id
    system, path = filesystem(uri)
    with pq.ParquetFile(path, filesystem=system) as file:
        rows = file.read(columns=["txn.appId", "txn.version"]).column("txn").drop_null().to_pylist()
    return _Commit(tuple((row["appId"], row["version"]) for row in rows if row["appId"] is not None))


@lru_cache(KEPT)
def _commit(table_id: str, uri: str) -> _Commit:
    """One commit; FileNotFoundError where it was cleaned up."""
    del table_id
    actions = [json.loads(line) for line in _read(uri).splitlines() if line.strip()]
    noted = tuple((one["txn"]["appId"], one["txn"]["version"]) for one in actions if "txn" in one)
    files = [(one.get("add") or one.get("remove"), "add" in one) for one in actions if "add" in one or "remove" in one]
    return _Commit(noted, tuple((action["path"], added) for action, added in files if action["dataChange"]))
