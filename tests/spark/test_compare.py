"""Brokers side by side out of a lake: what another engine says of the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from stompcap.errors import UsageError
from stompcap.report.compare import TABLES, compare
from tests.e2e.documents import COMPARED, comparison

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_lake_gives_the_page_that_another_engine_gives(spark: SparkSession, lake: Path) -> None:
    tables = {name: DeltaTable(str(lake / name)).to_pyarrow_table() for name in TABLES}
    assert compare(str(lake), COMPARED, lambda: spark) == comparison(tables)


def test_a_broker_that_never_spoke_is_said_in_words(spark: SparkSession, lake: Path) -> None:
    with pytest.raises(UsageError, match="Artemis"):
        compare(str(lake), ["NoSuchMQ"], lambda: spark)
