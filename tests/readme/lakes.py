"""Lakes side by side: every table that is made of captures, row by row."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from stompcap.tables import TABLES

OF_THE_RUN = {"runs", "quality_results"}


def differing(one: Path, other: Path) -> list[str]:
    """The tables that hold other rows, whichever run wrote them; empty where the lakes agree."""
    return [name for name in TABLES if name not in OF_THE_RUN and rows(one, name) != rows(other, name)]


def rows(lake: Path, name: str) -> list[str]:
    """The rows of a table in an order of their own, without the column that names the run."""
    table = DeltaTable(str(lake / name)).to_pyarrow_table()
    return sorted(map(repr, table.select([column for column in table.column_names if column != "run_id"]).to_pylist()))
