"""Lakes that older versions made, and the captures that they were made of (tests/lakes/make.py)."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from stompcap.lake import tables as lakes
from stompcap.lake.places import OPEN
from stompcap.tables import TABLES
from tests.lakes.make import GONE, HERE


def unpacked(commit: str, folder: Path) -> Path:
    """The lake of a commit, in a folder."""
    with tarfile.open(HERE / f"{commit}.tar.xz") as held:
        held.extractall(folder, filter="data")
    return folder / "lake"


def put_back(lake: Path, folder: Path) -> None:
    """Have a lake say that its captures lie in another folder."""

    def moved(row: Any) -> Any:
        return row | {"path": row["path"].replace(str(GONE), str(folder))} if "path" in row else row

    for name in ("captures", "batches"):
        rows = [moved(row) | ({"captures": list(map(moved, row["captures"]))} if name == "batches" else {}) for row in rows_of(lake, name)]
        lakes.replace(str(lake), name, pa.Table.from_pylist(rows, schema=TABLES[name].arrow), "moved")


def rows_of(lake: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, by a reader that knows nothing of ours."""
    rows: list[dict[str, Any]] = DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist()
    return rows


def of_open_streams(lake: Path, table: str) -> pa.Table:
    """The rows of open streams, as the table has them now."""
    files = [uri for uri in DeltaTable(str(lake / table)).file_uris() if Path(uri).name.startswith(OPEN)]
    return lakes.read_files(table, lakes.data_files.of(DeltaTable(str(lake / table)))) if files else TABLES[table].arrow.empty_table()
