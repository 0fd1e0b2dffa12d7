"""Values that tasks ask for arrive in Spark's workers; a large one is not part of what each task is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from stompcap.spark.shared import shared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUE = {number: str(number) for number in range(5000)}


@dataclass(frozen=True)
class Asks:
    """Yields what a value says of each number that comes."""

    value: Callable[[], dict[int, str]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch([pa.array([self.value()[number] for number in batch.column(0).to_pylist()])], ["said"])


@pytest.mark.parametrize("large", [False, True])
def test_tasks_ask_for_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *, large: bool) -> None:
    monkeypatch.setattr("stompcap.spark.shared.FEW", len(VALUE) - large)
    with shared(spark, VALUE) as value:
        rows = spark.range(0, 6, 1, 3).mapInArrow(Asks(value), "said STRING").collect()
        assert (len(cloudpickle.dumps(Asks(value))) < 10_000) == large
    assert sorted(row["said"] for row in rows) == list("012345")


def test_it_is_gone_behind_the_context(spark: SparkSession) -> None:
    with shared(spark, VALUE) as value:
        pass
    with pytest.raises(Exception, match=r"(?i)destroyed"):
        spark.range(1).mapInArrow(Asks(value), "said STRING").collect()


def test_what_went_wrong_within_is_raised(spark: SparkSession) -> None:
    with pytest.raises(KeyError), shared(spark, VALUE):
        raise KeyError
