"""Silver: raw frames to frames, frames to sessions, subscriptions, deliveries, transactions and receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from stompcap.lake.manifest import MANIFEST, collected
from stompcap.lake.tables import read
from stompcap.spark import tasks
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from stompcap.lake.places import DataFile
    from stompcap.options import Options

SESSION_TABLES = ("sessions", "subscriptions", "deliveries", "transactions", "receipts")


def of_batches(spark: SparkSession, lake: str, table: str, batches: Sequence[str], *without: str) -> DataFrame:
    """The rows of a table that certain batches brought, as one struct column named like the table, beside their stream."""
    columns = [c.name for c in TABLES[table].columns if c.name not in without]
    rows = read(spark, lake, table).where(f.col("batch_id").isin(list(batches)))
    return rows.select("stream_id", f.struct(*columns).alias(table))


def by_stream(parts: Sequence[DataFrame], partitions: int) -> DataFrame:
    """Rows of several tables as one DataFrame, those of a stream together."""
    united = parts[0]
    for part in parts[1:]:
        united = united.unionByName(part, allowMissingColumns=True)
    return united.repartition(partitions, "stream_id").sortWithinPartitions("stream_id")


def decode(spark: SparkSession, lake: str, batches: Sequence[str], prefix: str, options: Options) -> list[DataFile]:
    """Write the frames of batches from their raw frames; names of files with rows of open streams begin with `prefix`."""
    parts = [of_batches(spark, lake, "streams", batches), of_batches(spark, lake, "raw_frames", batches)]
    work = tasks.Decode(lake, prefix, options)
    return collected(by_stream(parts, _partitions(spark)).mapInArrow(work, MANIFEST).collect())


def correlate(
    spark: SparkSession,
    lake: str,
    batches: Sequence[str],
    order: dict[str, int],
    prefix: str,
    options: Options,
    outputs: Sequence[str] = SESSION_TABLES,
) -> list[DataFile]:
    """Write what the frames of batches mean, or the per-session metrics, by `outputs`.

    `order` ranks captures in wire order; names of files with rows of open streams begin with `prefix`.
    """
    parts = [
        of_batches(spark, lake, "streams", batches),
        of_batches(spark, lake, "raw_frames", batches, "raw"),
        of_batches(spark, lake, "frames", batches),
        of_batches(spark, lake, "segments", batches),
        of_batches(spark, lake, "stalls", batches),
    ]
    work = tasks.Correlate(lake, order, prefix, options, tuple(outputs))
    return collected(by_stream(parts, _partitions(spark)).mapInArrow(work, MANIFEST).collect())


def _partitions(spark: SparkSession) -> int:
    """Tasks for a stage that reads the lake."""
    return max(2, spark.sparkContext.defaultParallelism)
