"""Table journeys where much is new: Spark gathers SENDs and MESSAGEs and brings those of one body together; in each task DuckDB joins them.

Spark's own plan of the steps behind that has hundreds of shuffles, of which it shares none; a task needs one.
"""

# ruff: noqa: S608  the SQL consists of our own constants

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.metrics.journeys_sql import gather, join
from stompcap.columns import I64
from stompcap.lake import query
from stompcap.lake.paths import DataFile
from stompcap.lake.table_writer import GROUP_ROWS
from stompcap.tables import TABLES
from stompcap.tables.schema import sql_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

SORTED = ("ts", "message_stream_id", "message_offset")
MEMORY = "512MB"
"""What DuckDB holds in a task before it spills."""

SCHEMA = TABLES["journeys"].arrow
NAMES = ", ".join(SCHEMA.names)
FILE = "table STRING, path STRING, size BIGINT, rows BIGINT, statistics STRING"
FILE_SCHEMA = pa.schema([(name, pa.int64() if kind == "BIGINT" else pa.string()) for name, kind in map(str.split, FILE.split(","))])


def made(spark: SparkSession, sends: str, deliveries: str, taken: str, tasks: int) -> DataFrame:
    """The rows that pass the condition `taken`, of the SENDs `x` and the MESSAGEs `d` that pass theirs; `part` numbers equal parts of time.

    The tables are views of the session. A task has the SENDs and MESSAGEs of some bodies, all that a capture point has of each.
    """
    from pyspark.sql.functions import lit

    spark.sql(gather("lives")).persist().createOrReplaceTempView("lives")
    holes = spark.sql(gather("holes")).toArrow()
    bounds = _bounds(spark, sends, deliveries, tasks)
    sent, named = (spark.sql(gather(name, sends, deliveries)).withColumn("is_sent", lit(name == "sent")) for name in ("sent", "named"))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        with query.isolated({"holes": holes}) as database:
            database.execute(f"SET memory_limit = '{MEMORY}'; SET threads = 1")
            database.register("gathered", pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)))
            database.execute("CREATE TABLE held AS SELECT * FROM gathered")
            for view, which in (("sent", "is_sent"), ("named", "NOT is_sent")):
                database.execute(f"CREATE VIEW {view} AS SELECT * FROM held WHERE {which}")
            found = database.sql(f"SELECT {NAMES} FROM ({join(database)}) made WHERE {taken}")
            for batch in found.to_arrow_reader(GROUP_ROWS):
                rows = pa.Table.from_batches([batch]).cast(SCHEMA)
                part = np.searchsorted(bounds, pc.fill_null(rows.column("ts").cast(pa.int64()), 0).to_numpy())
                yield from rows.append_column("part", pa.array(part, pa.int32())).to_batches()

    together = sent.unionByName(named, allowMissingColumns=True).repartition(tasks, "source", "body_hash")
    return together.mapInArrow(task, ", ".join(f"{field.name} {sql_type(field.type)}" for field in SCHEMA) + ", part INT")


def _bounds(spark: SparkSession, sends: str, deliveries: str, parts: int) -> I64:
    """The times, in microseconds, that divide SENDs and MESSAGEs into so many parts of about as many rows."""
    times = f"SELECT unix_micros(x.sent_ts) AS us FROM sends x WHERE {sends} " \
            f"UNION ALL SELECT unix_micros(d.delivered_ts) FROM deliveries d WHERE {deliveries}"  # fmt: skip
    return np.array(spark.sql(times).approxQuantile("us", [number / parts for number in range(1, parts)], 0.2 / parts), np.int64)


def written(rows: DataFrame, write: Callable[[Iterable[pa.RecordBatch]], Iterable[DataFile]], parts: int) -> list[DataFile]:
    """Files of the rows, made by `write` in Spark's tasks, each with those of a time: the next run finds what it looks at by its time."""
    from pyspark.sql.functions import col

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file in write(batches):
            yield pa.RecordBatch.from_pylist([vars(file)], schema=FILE_SCHEMA)

    in_order = rows.repartitionById(parts, col("part")).drop("part").sortWithinPartitions(*SORTED)
    return [DataFile(**row.asDict()) for row in in_order.mapInArrow(task, FILE).collect()]
