"""Where in a lake things lie: its tables, and files in them that no commit names yet."""

from __future__ import annotations

from dataclasses import dataclass


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
