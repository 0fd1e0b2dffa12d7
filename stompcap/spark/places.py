"""Where in a lake things lie: its tables, files in them that no commit names yet, and the file system of any of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs


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


def filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """A path or URI as pyarrow's file systems take it; a path may contain any character."""
    from pyarrow import fs

    if "://" in uri:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
        return found
    return fs.LocalFileSystem(), os.path.abspath(uri)
