"""Maintenance of a table: small files become one, and the work fits what there is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines import ledger
from stompcap.spark import lake as lakes
from stompcap.spark.places import location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MOST_TASKS = 200  # of one stage; what lists the files of a table takes 10,000 unless it is told otherwise


@pytest.mark.slow
def test_small_files_become_one_in_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "a lake [1]")
    lakes.create(lake)
    for number in range(3):
        ledger.record(lake, f"run {number}", "extract", ledger.now(), [], {}, {})
    before = DeltaTable(location(lake, "runs"))
    rows = before.to_pyarrow_table().to_pylist()
    spark.sparkContext.setJobGroup("maintenance", "")
    lakes.maintain(spark, lake, "runs", 168)
    after = DeltaTable(location(lake, "runs"))
    assert (len(before.file_uris()), len(after.file_uris())) == (3, 1)
    assert sorted(map(repr, after.to_pyarrow_table().to_pylist())) == sorted(map(repr, rows))
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("maintenance")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert stages
    assert max(stage.numTasks for stage in stages if stage) < MOST_TASKS
