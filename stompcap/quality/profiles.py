"""Profiles: what each table holds, counted by Spark tasks over the Parquet files themselves.

Two hundred expectations as Spark jobs cost minutes; as two hundred aggregates of one query, seconds of planning. Columns of Parquet
are dictionaries already, so tasks count them where they are, as Arrow, and only counts come back. Never reads a column of octets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from stompcap.tables import TABLES, Column, Table

SHOWN = 40
"""Characters of an unknown word that are shown: it may be anything."""

UNKNOWN = 3
"""Unknown words that are shown per file and column."""

PRESENT = "present"
"""Stands for every value of a column that is only asked not to be null."""

TASK_OCTETS = 32 * 2**20
"""Octets of Parquet files a task takes."""

COUNTS = pa.schema([
    ("table_name", pa.string()), ("column_name", pa.string()), ("value", pa.string()), ("key", pa.int64()), ("rows", pa.int64()),
])
"""What tasks give: per column and value its rows (value null: nulls); with no column the table's rows, by key where keys are counted."""


@dataclass(frozen=True)
class Profile:
    """What one table holds: rows, distinct keys (None if not counted), and per checked column its values with their rows."""

    table: Table
    rows: int
    keys: int | None
    values: dict[str, dict[str | None, int]]


def checked(table: Table) -> tuple[Column, ...]:
    """The columns that have a rule: enumerations and those that may not be null."""
    return tuple(c for c in table.columns if c.words or not c.nullable)


def profiles(spark: SparkSession, locations: dict[str, str], counted: Sequence[str]) -> dict[str, Profile]:
    """The profiles of the tables at `locations`, by name, in one Spark job; keys are counted in those named in `counted`."""
    files, octets = [], 0
    for name, location in locations.items():
        delta = DeltaTable(location)
        files += [(name, uri) for uri in delta.file_uris()]
        octets += sum(pa.table(delta.get_add_actions()).column("size_bytes").to_pylist())
    found = {name: Profile(TABLES[name], 0, 0 if name in counted else None, {c.name: {} for c in checked(TABLES[name])})
             for name in locations}
    if not files:
        return found
    tasks = min(len(files), 2 + octets // TASK_OCTETS)
    counts = spark.createDataFrame(files, "table_name STRING, uri STRING").repartition(tasks).mapInArrow(
        _counter(frozenset(counted)), "table_name STRING, column_name STRING, value STRING, key BIGINT, rows BIGINT"
    )
    totals: DataFrame = counts.groupBy("table_name", "column_name", "value").agg(
        F.sum("rows").alias("rows"), F.count_distinct("key").alias("keys")
    )
    for row in totals.collect():
        before = found[row.table_name]
        if row.column_name is None:
            found[row.table_name] = Profile(before.table, row.rows, None if before.keys is None else row["keys"], before.values)
        else:
            before.values[row.column_name][row.value] = row.rows
    return found


def _counter(counted: frozenset[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that tasks run over rows of (table_name, uri)."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, uri in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                yield from _file(TABLES[name], uri, name in counted)

    return count


def _file(table: Table, uri: str, keys: bool) -> Iterator[pa.RecordBatch]:
    """The counts of one Parquet file, by row group."""
    filesystem, path = fs.FileSystem.from_uri(uri) if "://" in uri else (fs.LocalFileSystem(), uri)
    columns = checked(table)
    with pq.ParquetFile(path, filesystem=filesystem, read_dictionary=[c.name for c in columns if pa.types.is_string(c.type)]) as file:
        required = {file.schema.column(i).name for i in range(len(file.schema)) if file.schema.column(i).max_definition_level == 0}
        wanted = [c.name for c in columns if c.words or c.name not in required]
        rows = file.metadata.num_rows
        if keys:
            frame = file.read(columns=list(table.key)).to_pandas()
            hashes = pd.util.hash_pandas_object(frame, index=False).to_numpy().view("int64")
            yield _batch(table, None, [None] * rows, [1] * rows, pa.array(hashes))
        else:
            yield _batch(table, None, [None], [rows])
        for column in columns:
            if column.name not in wanted and rows:
                yield _batch(table, column, [PRESENT], [rows])
        for group in range(file.num_row_groups):
            part = file.read_row_group(group, columns=wanted)
            for column in columns:
                if column.name in wanted and part.num_rows:
                    yield _batch(table, column, *_values(part.column(column.name), column))


def _values(values: pa.ChunkedArray, column: Column) -> tuple[list[str | None], list[int]]:
    """The values of a column and their rows; unknown words cut short and few, their rows being counted all."""
    if not column.words:
        some: list[tuple[str | None, int]] = [(PRESENT, len(values) - values.null_count), (None, values.null_count)]
        return [v for v, n in some if n], [n for _, n in some if n]
    found = pc.value_counts(values.cast(pa.string()))
    counts = dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))
    known = {v: n for v, n in counts.items() if v is None or v in column.words}
    unknown = [v for v in counts if v not in known]
    for index, value in enumerate(unknown):
        shown = unknown[min(index, UNKNOWN - 1)][:SHOWN]
        known[shown] = known.get(shown, 0) + counts[value]
    return list(known), list(known.values())


def _batch(
    table: Table, column: Column | None, values: list[str | None], rows: list[int], keys: pa.Array | None = None
) -> pa.RecordBatch:
    size = len(rows)
    return pa.record_batch([
        pa.array([table.name] * size, pa.string()), pa.array([column.name if column else None] * size, pa.string()),
        pa.array(values, pa.string()), pa.nulls(size, pa.int64()) if keys is None else keys, pa.array(rows, pa.int64()),
    ], schema=COUNTS)
