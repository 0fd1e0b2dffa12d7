"""A user's own suite on a table that is too large for pandas is judged by Spark, with the same results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stompcap.lake import tables as lakes
from stompcap.quality import user_suites
from tests.quality import lakes as made
from tests.quality.test_own import SUITE, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_spark_judges_as_pandas_does(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = str(tmp_path / "lake")
    lakes.create(lake)
    lakes.append(lake, "deliveries", made.tables()["deliveries"], ["x"], "run")
    write(tmp_path, [SUITE[0], SUITE[4]])
    suites = (("deliveries", str(tmp_path / "mine.json")),)

    def judged() -> list[Any]:
        rows = user_suites.results(lake, "run", suites, lambda: spark)
        return [{name: value for name, value in row.items() if name != "checked_ts"} for row in rows]

    here = judged()
    monkeypatch.setattr(user_suites, "DRIVER_ROWS", 0)
    assert judged() == here
    assert [row["success"] for row in here] == [False, False]
