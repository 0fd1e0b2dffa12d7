"""Data files that runs have replaced: deleted before `maintain` would, as every run leaves some.

A run writes rows of open streams again, and puts small files together. With a run a minute, what is kept for a week for readers of old
versions would be many times the lake.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.lake import data_files, delta_log, open_tables
from stompcap.lake.commits import SMALL_OCTETS
from stompcap.lake.paths import OPEN, filesystem, location

if TYPE_CHECKING:
    from deltalake import DeltaTable

KEPT_S = 3600
"""How long a replaced file is kept for readers of the versions that name it, unless there are more octets of them than of the table."""

LEAST_S = 600
"""How long it is kept in any case."""

EVERY = 20
"""Versions of a table from one time that files are deleted to the next."""


def due(before: int) -> bool:
    """Whether files are to be deleted after a commit, before which the table had a version; a compaction makes it one more."""
    return before % EVERY >= EVERY - 2


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
    return len(gone)


def _kept(delta: DeltaTable) -> set[str]:
    """The names of replaced files that readers may need still."""
    found, octets, now_ms = set[str](), sum(file.size for file in data_files.of(delta)), time.time() * 1000
    for name, size, at_ms in delta_log.removed(delta):
        octets -= size
        if now_ms - at_ms >= (KEPT_S if octets >= 0 else LEAST_S) * 1000:
            return found
        found.add(name)
    return found
