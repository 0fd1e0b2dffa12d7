"""A batch that a run had begun to commit when it was killed is told, as long as no run has finished it."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.validation.killed_batches import result
from stompcap.lake import tables as lakes
from stompcap.lake.batch_options import as_json
from stompcap.options import Options
from tests.quality import lakes as made


def test_a_batch_that_only_some_tables_have_is_told(tmp_path: Path) -> None:
    lake, rows = str(tmp_path / "lake"), made.tables()
    lakes.create(lake)
    begun = made.fill("batches", 2, {"batch_id": ["a" * 64, "b" * 64], "run_id": ["killed"] * 2, "options": [as_json(Options())] * 2,
                                     "begun_ts": [1, 2], "captures": [[], []]})  # fmt: skip
    lakes.append(lake, "batches", begun, ["a" * 64, "b" * 64], "killed")
    assert result(lake, "now").column("success").to_pylist() == [True], "what nobody can see disturbs nobody"
    lakes.append(lake, "raw_frames", rows["raw_frames"], ["b" * 64], "killed")
    (row,) = result(lake, "now").to_pylist()
    assert (row["success"], row["severity"], row["failed_rows"]) == (False, "error", 1)
    assert json.loads(row["observed"])["first"] == [{"batch_id": "b" * 64, "run_id": "killed", "tables": ["raw_frames"]}]
    assert row["message"] == (
        "batches: 1 of 2 batches was begun by a run that was killed, and its rows may stand twice: "
        "batch bbbbbbbbbbbb of run killed is only in raw_frames; put its captures back and run again"
    )
    lakes.append(lake, "captures", rows["captures"], ["b" * 64], "finished")
    assert result(lake, "now").column("success").to_pylist() == [True]
