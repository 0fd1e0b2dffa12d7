"""Data files of open streams that later runs have replaced: deleted before `maintain` would, as every run leaves some.

A run writes the rows of open streams again. With a run a minute, what is kept for a week for readers of old versions would be many
times the lake.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.lake import open_tables
from stompcap.lake.data_files import is_remote
from stompcap.lake.paths import OPEN, filesystem, location

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT_HOURS = 1
"""How long a replaced file is kept for readers of the versions that name it."""

EVERY = 50
"""Versions of a table from one time that files are deleted to the next."""


def drop(lake: str, table: str, before: int) -> int:
    """Delete files of open streams that were replaced `KEPT_HOURS` ago, at every `EVERY`th version; how many.

    `before` is the version that the table had when it was looked at last.
    """
    where = location(lake, table)
    delta = open_tables.table(where)
    if before // EVERY == delta.version() // EVERY:
        return 0
    replaced = {path.rsplit("/", 1)[-1] for path in delta.vacuum(KEPT_HOURS, dry_run=True, enforce_retention_duration=False)}
    system, folder = filesystem(where)
    names = _remote(system, folder) if is_remote(delta) else os.listdir(folder)
    gone = [name for name in names if name.startswith(OPEN) and name in replaced]
    for name in gone:
        system.delete_file(f"{folder}/{name}")
    return len(gone)


def _remote(system: fs.FileSystem, folder: str) -> Iterable[str]:
    """The names of the files in a folder of an object store."""
    return [info.base_name for info in system.get_file_info(fs.FileSelector(folder))]
