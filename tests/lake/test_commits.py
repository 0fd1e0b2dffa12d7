"""Small files of a table are merged by the commit that makes them too many, as far as their rows fit memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.lake import commits, data_files
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from stompcap.tables import TABLES
from tests.report.sample import table

FILES = commits.MOST_SMALL + 1


@pytest.mark.parametrize(("fit", "left"), [(FILES, 1), (10, FILES - 9), (2, FILES - 1)])
def test_as_many_small_files_are_merged_as_fit_memory(fit: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commits.COMPACTED_OCTETS == 32 << 20
    where = location(str(tmp_path), "stalls")
    DeltaTable.create(where, schema=TABLES["stalls"].arrow)
    rows = table("stalls", [{"stream_id": "s", "direction": "c2s"}])
    size = commits.written(str(tmp_path), "stalls", rows)[0].size
    monkeypatch.setattr(commits, "COMPACTED_OCTETS", fit * size)
    for number in range(FILES):
        lakes.append(str(tmp_path), "stalls", rows, [f"batch {number}"], "run")
    assert len(data_files.of(DeltaTable(where))) == left
    assert DeltaTable(where).to_pyarrow_table().num_rows == FILES
