"""Tables on an object store as DataFrames: by Delta where Spark itself has a client for the store, else read by tasks through pyarrow.

Spark brings no client for S3, Google Cloud Storage or Azure, and one that is added (hadoop-aws) has settings of its own. The other way
needs neither, but reads whole files: Spark passes no filter and no choice of columns to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from stompcap.lake.paths import filesystem
from stompcap.tables import TABLES
from stompcap.tasks.packing import FILE_OCTETS, packed, tasks_to_read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stompcap.lake.data_files import File

BATCH_ROWS = 1 << 14


def named(spark: SparkSession, uri: str) -> str | None:
    """The URI by which Spark reads what lies at a store; None where it has no client for it."""
    scheme, _, rest = uri.partition("://")
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:  # Spark Connect: its server knows
        return uri
    settings = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - pyspark has no public way to ask
    for known in ("s3a", "s3") if scheme == "s3" else (scheme,):
        try:
            jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(known, settings)
        except Exception:  # noqa: BLE001, S112 - py4j has several for a class that is not there
            continue
        return f"{known}://{rest}"
    return None


@dataclass(frozen=True)
class FileReader:
    """Reads the data files of a table: `packs` are a task's each, by URI; the task's number comes as its row."""

    table: str
    packs: Sequence[Sequence[str]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with all columns of the table; one that an older file lacks is null."""
        schema = TABLES[self.table].arrow
        for batch in batches:
            for uri in (uri for task in batch.column(0).to_pylist() for uri in self.packs[task]):
                system, path = filesystem(uri)
                with parquet.ParquetFile(path, filesystem=system) as file:
                    for rows in file.iter_batches(BATCH_ROWS):
                        whole = pa.concat_tables([schema.empty_table(), pa.Table.from_batches([rows])], promote_options="permissive")
                        yield from whole.select(schema.names).cast(schema).to_batches()


def read(spark: SparkSession, table: str, files: Sequence[File]) -> DataFrame:
    """The rows of the files of a table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    sizes = [file.size for file in files]
    tasks = packed(sizes, tasks_to_read(sum(sizes) + len(files) * FILE_OCTETS, spark.sparkContext.defaultParallelism))
    task = FileReader(table, [[files[index].uri for index in pack] for pack in tasks])
    schema = from_arrow_schema(TABLES[table].arrow)
    return spark.range(0, len(tasks), 1, max(1, len(tasks))).mapInArrow(task, schema)
