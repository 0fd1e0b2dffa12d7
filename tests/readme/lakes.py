"""Lakes side by side: every table that is made of captures, row by row."""

from __future__ import annotations

from pathlib import Path

from stompcap.lake import open_tables
from stompcap.lake.paths import location
from stompcap.tables import TABLES

OF_THE_RUN = {"runs", "batches", "quality_results"}
WAY_IN = {"run_id", "path"}
"""Columns that say which run wrote a row and by which path, absolute or not, it was told of the capture."""


def differing(one: Path | str, other: Path | str) -> list[str]:
    """The tables that hold other rows, whichever run wrote them; empty where the lakes agree."""
    return [name for name in TABLES if name not in OF_THE_RUN and rows(one, name) != rows(other, name)]


def rows(lake: Path | str, name: str) -> list[str]:
    """The rows of a table in an order of their own, without what names the run and the way to the capture."""
    table = open_tables.at(location(str(lake), name)).to_pyarrow_table()
    return sorted(map(repr, table.select([column for column in table.column_names if column not in WAY_IN]).to_pylist()))
