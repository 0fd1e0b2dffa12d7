"""Data files that runs have replaced: deleted before `maintain` would, as every run leaves some.

A run writes rows of open streams again, and puts small files together. With a run a minute, what is kept for a week for readers of old
versions would be many times the lake.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.lake import delta_log, followers, open_tables
from stompcap.lake.commits import SMALL_OCTETS
from stompcap.lake.paths import OPEN, filesystem, location

if TYPE_CHECKING:
    from deltalake import DeltaTable

KEPT_S = [3600]
"""For how long this process keeps replaced files: for readers of the versions that name them, and those that follow the change feed."""

EVERY = 20
"""Versions of a table from one time that files are deleted to the next."""


def keep(seconds: int) -> None:
    """Have this process keep replaced files for so long."""
    KEPT_S[:] = [seconds]


def due(before: int) -> bool:
    """Whether files are to be deleted behind a batch before which the table had a version: it made two more, a compaction a third."""
    return before % EVERY >= EVERY - 3


def drop(lake: str, table: str) -> int:
    """Delete small files, and those of open streams, that runs have replaced and nobody should need; how many."""
    where = location(lake, table)
    delta = open_tables.table(where)
    replaced = {path.rsplit("/", 1)[-1] for path in delta.vacuum(0, dry_run=True, enforce_retention_duration=False)} - _kept(delta)
    system, folder = filesystem(where)
    found = system.get_file_info(fs.FileSelector(folder))
    gone = [one for one in found if one.base_name in replaced and (one.base_name.startswith(OPEN) or one.size < SMALL_OCTETS)]
    for one in gone:
        system.delete_file(one.path)
    if gone:
        followers.tell(delta)
    return len(gone)


def _kept(delta: DeltaTable) -> set[str]:
    """The names of replaced files that readers may need still."""
    found, least_ms = set[str](), (time.time() - KEPT_S[0]) * 1000
    for name, _, at_ms in delta_log.removed(delta):
        if at_ms <= least_ms:
            return found
        found.add(name)
    return found
