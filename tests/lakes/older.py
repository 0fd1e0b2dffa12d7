"""Lakes that older versions made, and the captures that they were made of (tests/lakes/make.py)."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from stompcap.lake import commits, data_files
from stompcap.lake import tables as lakes
from stompcap.lake.table_writer import PART, TableWriter
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


def spoil(lake: Path) -> None:
    """Have the states of machines be octets that nothing can read."""
    where = str(lake / "stream_state")
    delta = DeltaTable(where)
    files = data_files.of(delta)
    rows = commits.read("stream_state", files)
    payload = pc.if_else(pc.is_valid(rows.column("pieces")), pa.scalar(b"spoilt", pa.binary()), rows.column("payload"))
    lengths = pc.if_else(pc.is_valid(rows.column("pieces")), 6, rows.column("captured_octets"))
    for name, values in (("payload", payload), ("captured_octets", lengths)):
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), values)
    writer = TableWriter(str(lake), "stream_state", files[0].name.partition(PART)[0])
    writer.write(rows)
    made = writer.close()
    assert made is not None
    commits.replace_files(delta, [made], files, commits.CommitInfo("spoilt"))
