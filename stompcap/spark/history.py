"""Old entries of a table's log removed: they have the bounds of rows that are gone, such as the least and greatest client address.

Delta keeps entries for 30 days (`delta.logRetentionDuration`), which is longer than the data files of old versions are kept; without these
an entry is of no use, and it may name people whose rows were deleted.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.spark import delta_log, open_tables
from stompcap.spark.commits import SOURCE, CommitInfo, replace_files
from stompcap.spark.places import filesystem, location

if TYPE_CHECKING:
    from deltalake import DeltaTable

ENTRY = re.compile(r"(\d{20})\.(json|crc|checkpoint\..*parquet)")
HOUR_S = 3600


def expire(lake: str, table: str, retain_hours: int, run_id: str, made_of_it: tuple[str, ...]) -> None:
    """Make a checkpoint of a table, and remove what its log has of versions before it that is older than `retain_hours`.

    Entries that a table of `made_of_it` has not seen stay, as it is brought up to date by them.
    """
    delta = open_tables.table(location(lake, table))
    folder = f"{location(lake, table)}/_delta_log"
    until = time.time() - retain_hours * HOUR_S
    if _says_bounds(folder, delta.version(), until):
        replace_files(delta, [], [], CommitInfo(run_id))  # the checkpoint's own version stays: now one that says nothing of rows
        delta.update_incremental()
    delta.create_checkpoint()
    seen = [version for other in made_of_it if (version := _seen(lake, other, table)) is not None]
    first = min([delta.version(), *(version + 1 for version in seen)])
    system, place = filesystem(folder)
    for info in system.get_file_info(fs.FileSelector(place)):
        entry = ENTRY.fullmatch(info.base_name)
        if entry and int(entry[1]) < first and info.mtime_ns <= until * 10**9:
            system.delete_file(info.path)


def _says_bounds(folder: str, version: int, until: float) -> bool:
    """Whether the commit of a version is old enough to go and adds files."""
    system, path = filesystem(f"{folder}/{version:020d}.json")
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound or info.mtime_ns > until * 10**9:
        return False
    with system.open_input_stream(path) as stream:
        return b'"add":' in stream.read()


def _seen(lake: str, aggregate: str, table: str) -> int | None:
    """The version of a table that an aggregate was last made from."""
    delta: DeltaTable = open_tables.table(location(lake, aggregate))
    return delta_log.transactions(delta).get(SOURCE + table)
