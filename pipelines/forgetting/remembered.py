"""Connections that were open when they were forgotten: known by a keyed hash of their endpoints until they end, to forget what comes later.

What comes is a connection that was joined midway, without a login: no criterion would find it. The hashes and the key, which is of this
lake alone, are in a file beside the tables; whoever has both can try addresses, so the file goes as soon as all have ended.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from stompcap.lake import tables as lakes
from stompcap.lake.paths import filesystem, location
from stompcap.lake.query import all_files, opened
from stompcap.lake.removal import Streams

if TYPE_CHECKING:
    from stompcap.options import Options

FILE = "_forgotten.json"
ENDS = ("client_ip", "client_port", "server_ip", "server_port")
COLUMNS = ("stream_id", "source", *ENDS, "first_ns", "last_ns", "syn_seen", "clock_steps_back", "final")
NEW = ".new"


@dataclass
class Remembered:
    """The key of the hashes, and by hash the time of the last packet that is known of the connection."""

    key: bytes
    held: dict[str, int]

    def name(self, row: Mapping[str, Any]) -> str:
        """The hash of a connection's endpoints, whoever is the client, at its capture point."""
        ends = sorted([(row["client_ip"], row["client_port"]), (row["server_ip"], row["server_port"])], key=repr)
        return hmac.new(self.key, json.dumps([row["source"], ends]).encode(), "sha256").hexdigest()


def load(lake: str) -> Remembered:
    """What a lake remembers; with a new key where that is nothing."""
    system, path = filesystem(location(lake, FILE))
    if system.get_file_info(path).type != fs.FileType.File:
        return Remembered(secrets.token_bytes(32), {})
    with system.open_input_stream(path) as stream:
        says = json.loads(stream.read())
    return Remembered(bytes.fromhex(says["key"]), says["held"])


def save(lake: str, what: Remembered) -> None:
    """Write what a lake remembers, in the place of what it did; nothing is left where all have ended."""
    system, path = filesystem(location(lake, FILE))
    if not what.held:
        if system.get_file_info(path).type == fs.FileType.File:
            system.delete_file(path)
        return
    with system.open_output_stream(path + NEW) as stream:
        stream.write(json.dumps({"key": what.key.hex(), "held": what.held}).encode())
    system.move(path + NEW, path)


def remember(lake: str, streams: Streams) -> None:
    """Remember those of some streams that are open."""
    sql = f"SELECT {', '.join(COLUMNS)} FROM streams WHERE final IS NOT TRUE AND stream_id IN (SELECT stream_id FROM named)"  # noqa: S608
    rows = _rows(lake, sql, pa.table({"stream_id": streams.ids}))
    if rows:
        what = load(lake)
        what.held |= {what.name(row): row["last_ns"] or 0 for row in rows}
        save(lake, what)


def come_later(lake: str, options: Options) -> tuple[Streams | None, Remembered | None]:
    """The streams that go on with forgotten connections, if any, and what is to be remembered once they are gone; None: what it is.

    A connection has ended with a SYN that begins another one between its endpoints, when nothing came for the idle timeout, or when
    what came of it is final.
    """
    what = load(lake)
    if not what.held:
        return None, None
    sql = f"SELECT {', '.join(COLUMNS)} FROM streams WHERE coalesce(last_ns, 0) >= {min(what.held.values())} ORDER BY first_ns"  # noqa: S608
    later, left = [], dict(what.held)
    for row in _rows(lake, sql):
        name, first_ns, last_ns = what.name(row), row["first_ns"] or 0, row["last_ns"] or 0
        if name not in left or first_ns < left[name]:
            continue
        if row["syn_seen"] or first_ns - left[name] > options.idle_ns:
            del left[name]
            continue
        later.append(row)
        left[name] = last_ns
        if row["final"]:
            del left[name]
    latest = pc.max(lakes.small(lake, "captures", ["last_ns"]).column("last_ns")).as_py() or 0
    left = {name: last_ns for name, last_ns in left.items() if latest - last_ns <= options.idle_ns}
    return _streams(later), Remembered(what.key, left) if left != what.held else None


def _streams(rows: Iterable[Mapping[str, Any]]) -> Streams | None:
    """Streams by their rows; None where there are none."""
    ids = sorted(row["stream_id"] for row in rows)
    return Streams(pa.array(ids, pa.string()), None) if ids else None


def _rows(lake: str, sql: str, named: pa.Table | None = None) -> list[dict[str, Any]]:
    more = {} if named is None else {"named": named}
    with opened({"streams": all_files(lake, "streams"), **more}) as database:
        rows: list[dict[str, Any]] = database.sql(sql).to_arrow_table().to_pylist()
    return rows
