"""Where in a lake things lie: its tables, files in them that no commit names yet, and the file system of any of them."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs

    from stompcap.options import Options

OPEN = "open-"
"""Prefix of the names of data files with rows of open streams, which the next run replaces."""


@dataclass(frozen=True)
class DataFile:
    """A Parquet file in a table's folder that no commit names yet."""

    table: str
    path: str
    size: int
    rows: int
    statistics: str


def location(lake: str, table: str) -> str:
    """Where a table of the lake lies."""
    return f"{lake.rstrip('/')}/{table}"


def open_files(options: Options) -> str:
    """Prefix of the names of data files with rows of streams that a run with these options may go on with.

    Streams are gone on with by runs that bring segments together alike: of one source, with the same rules for overlaps, VLANs and tunnels.
    """
    alike = json.dumps([options.source, options.overlap, options.vlan, options.tunnels])
    return f"{OPEN}{hashlib.sha256(alike.encode()).hexdigest()[:16]}-"


def filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """A path or URI as pyarrow's file systems take it; a path may contain any character."""
    from pyarrow import fs

    if "://" in uri:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
        return found
    return fs.LocalFileSystem(), os.path.abspath(uri)
