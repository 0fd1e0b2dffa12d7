"""Silver: raw frames to frames, frames to sessions, subscriptions, deliveries, transactions, receipts and sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from stompcap.lake.manifest import MANIFEST, collected
from stompcap.lake.tables import read
from stompcap.spark.shared import shared
from stompcap.spark.workers.by_stream import Correlate, Decode
from stompcap.tables import TABLES as DECLARED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from pipelines.job import Job
    from stompcap.lake.paths import DataFile

SESSION_TABLES = ("sessions", "subscriptions", "deliveries", "transactions", "receipts", "sends")
TABLES = ("frames", *SESSION_TABLES)


def of_batches(job: Job, table: str, batches: Sequence[str], *without: str) -> DataFrame:
    """The rows of a table that certain batches brought, as one struct column named like the table, beside their stream."""
    columns = [c.name for c in DECLARED[table].columns if c.name not in without]
    rows = read(job.spark(), job.lake, table).where(f.col("batch_id").isin(list(batches)))
    return rows.select("stream_id", f.struct(*columns).alias(table))


def by_stream(parts: Sequence[DataFrame], partitions: int) -> DataFrame:
    """Rows of several tables as one DataFrame, those of a stream together."""
    united = parts[0]
    for part in parts[1:]:
        united = united.unionByName(part, allowMissingColumns=True)
    return united.repartition(partitions, "stream_id").sortWithinPartitions("stream_id")


def decode(job: Job, batches: Sequence[str], prefix: str) -> list[DataFile]:
    """Write the frames of batches from their raw frames; names of files with rows of open streams begin with `prefix`."""
    parts = [of_batches(job, "streams", batches), of_batches(job, "raw_frames", batches)]
    return _written(job, parts, Decode(job.lake, prefix, job.keyed))


def correlate(
    job: Job, batches: Sequence[str], order: Mapping[str, int], prefix: str, outputs: Sequence[str] = SESSION_TABLES
) -> list[DataFile]:
    """Write what the frames of batches mean, or the per-session metrics, by `outputs`.

    `order` ranks captures in wire order; names of files with rows of open streams begin with `prefix`.
    """
    parts = [
        of_batches(job, "streams", batches),
        of_batches(job, "raw_frames", batches, "raw"),
        of_batches(job, "frames", batches),
        of_batches(job, "segments", batches),
        of_batches(job, "stalls", batches),
        of_batches(job, "transports", batches),
    ]
    with shared(job.spark(), order) as ranks:
        return _written(job, parts, Correlate(job.lake, ranks, prefix, job.options, tuple(outputs)))


def _written(job: Job, parts: Sequence[DataFrame], task: Decode | Correlate) -> list[DataFile]:
    """The files that a task writes of the rows of several tables."""
    partitions = max(2, job.spark().sparkContext.defaultParallelism)
    return collected(by_stream(parts, partitions).mapInArrow(task, MANIFEST).collect())
