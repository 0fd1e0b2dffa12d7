"""Files of open streams that were replaced do not pile up, and no file that a reader may need goes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.lake import replaced
from stompcap.lake import tables as lakes
from stompcap.lake.open_rows import OpenRows
from stompcap.lake.paths import DataFile
from stompcap.lake.table_writer import TableWriter
from tests.report.sample import table

PREFIX = "open-0-"


def written(lake: Path, number: int, prefix: str) -> DataFile:
    writer = TableWriter(str(lake), "stalls", prefix)
    writer.write(table("stalls", [{"stream_id": f"{number}", "begin_ns": number, "end_ns": number}]))
    file = writer.close()
    assert file is not None
    return file


@pytest.mark.parametrize(("kept_hours", "left"), [(0, 1), (1, 12)])
def test_replaced_files(kept_hours: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced, "KEPT_HOURS", kept_hours)
    monkeypatch.setattr(replaced, "EVERY", 4)
    lakes.create(str(tmp_path))
    for number in range(12):
        files = [written(tmp_path, number, prefix) for prefix in ("", PREFIX)]
        again = OpenRows(PREFIX, pa.array([f"{number - 1}"]))
        lakes.commit(str(tmp_path), "stalls", files, [f"{number}"], "r", again)
    files = list((tmp_path / "stalls").glob("*.parquet"))
    assert len([file for file in files if file.name.startswith("part-")]) == 12
    assert len([file for file in files if file.name.startswith(PREFIX)]) == left
    assert DeltaTable(str(tmp_path / "stalls")).to_pyarrow_table().num_rows == 13
