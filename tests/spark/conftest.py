"""One Spark session for all tests of this folder, and one lake made of every recorded capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.truth import captures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two cores."""
    from stompcap.spark.session import get_session

    session = get_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def whole_run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What a run over every recorded capture did."""
    lake = str(tmp_path_factory.mktemp("lake"))
    return execute(Job(lambda: spark, lake, Options()), STAGES, captures())


@pytest.fixture(scope="session")
def lake(whole_run: Result) -> Path:
    """The lake of that run."""
    return Path(whole_run.lake)


@pytest.fixture(scope="module")
def viewed(spark: SparkSession, lake: Path) -> Iterator[SparkSession]:
    """The session with views of that lake, of which Spark keeps what it has read: most of a query of small tables is to look for files."""
    lakes.views(spark, str(lake))
    for name in TABLES:
        spark.catalog.cacheTable(name)
    yield spark
    spark.catalog.clearCache()
