"""Old entries of a table's log removed: they have the bounds of rows that are gone, such as the least and greatest client address.

Delta keeps entries for 30 days (`delta.logRetentionDuration`), which is longer than the data files of old versions are kept; without these
an entry is of no use, and it may name people whose rows were deleted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.lake import delta_log, open_tables
from stompcap.lake.commits import SOURCE, CommitInfo, replace_files
from stompcap.lake.delta_log import ENTRY
from stompcap.lake.paths import filesystem, location

if TYPE_CHECKING:
    from deltalake import DeltaTable

HOUR_S = 3600


def expire(lake: str, table: str, retain_hours: int, run_id: str, made_of_it: tuple[str, ...]) -> None:
    """Make a checkpoint of a table, and remove what its log has of versions that are older than `retain_hours`; 0: all but the last.

    The checkpoint that younger versions are read from stays, as do entries that a table of `made_of_it` has not seen: it is brought up to
    date by them.
    """
    delta = open_tables.table(location(lake, table))
    folder = f"{location(lake, table)}/_delta_log"
    until_ns = (time.time() - retain_hours * HOUR_S) * 10**9

    def is_old(info: fs.FileInfo) -> bool:
        return retain_hours == 0 or info.mtime_ns <= until_ns

    system, path = filesystem(folder)
    last = system.get_file_info(f"{path}/{delta.version():020d}.json")
    if last.type == fs.FileType.File and is_old(last) and _says_bounds(system, last.path):
        replace_files(delta, [], [], CommitInfo(run_id))  # the checkpoint's own version stays: now one that says nothing of rows
        delta.update_incremental()
    delta.create_checkpoint()
    entries = [(info, entry) for info in system.get_file_info(fs.FileSelector(path)) if (entry := ENTRY.fullmatch(info.base_name))]
    first = max((int(entry[1]) for info, entry in entries if entry[3] and is_old(info)), default=0)
    seen = [version + 1 for other in made_of_it if (version := _seen(lake, other, table)) is not None]
    for info, entry in entries:
        if int(entry[1]) < min(first, *seen, delta.version()):
            system.delete_file(info.path)


def _says_bounds(system: fs.FileSystem, path: str) -> bool:
    """Whether a commit adds files."""
    with system.open_input_stream(path) as stream:
        return b'"add":' in stream.read()


def _seen(lake: str, aggregate: str, table: str) -> int | None:
    """The version of a table that an aggregate was last made from."""
    delta: DeltaTable = open_tables.table(location(lake, aggregate))
    return delta_log.transactions(delta).get(SOURCE + table)
