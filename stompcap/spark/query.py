"""SQL over the tables of a lake: answered in this process where they are small, by Spark where they are not.

DuckDB reads the files that the tables' own logs name and answers in a tenth of a second what takes Spark seconds to plan. Beyond
`DRIVER_ROWS` rows a question is Spark's, so that nothing in the driver grows with the lake. The SQL is plain enough for both, and
the answers are the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable

from stompcap.spark import lake as lakes
from stompcap.spark.places import location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

DRIVER_ROWS = 10_000_000
"""Rows of all tables asked, beyond which Spark answers."""

MEMORY = "2GB"
"""What DuckDB holds before it spills intermediate results to disk."""

NOT_PLAIN = ("://", "*", "?", "[")
"""What DuckDB takes for a URI or a pattern in a path; such files are handed over as a dataset, which costs more."""

AT_ONCE = 4  # one Spark session takes several small jobs better than one after the other


@dataclass(frozen=True)
class Query:
    """One question: its name, the tables it reads and its SQL, in which they go by their names."""

    name: str
    tables: tuple[str, ...]
    sql: str


def rows(lake: str, tables: Sequence[str]) -> int:
    """The rows of some tables of a lake, by their logs alone."""
    return sum(DeltaTable(location(lake, name)).count() for name in tables)


def ask(lake: str, queries: Sequence[Query], spark: Callable[[], SparkSession]) -> dict[str, pa.Table]:
    """The answers by name; each must be small, an aggregate or a LIMIT.

    `spark` gives the session that answers where the tables have more than `DRIVER_ROWS` rows together; it gets a temporary view of
    each table then. KeyError for a table that no lake has.
    """
    tables = sorted({TABLES[table].name for query in queries for table in query.tables})
    if rows(lake, tables) > DRIVER_ROWS:
        return _by_spark(lake, queries, tables, spark())
    return in_process({name: DeltaTable(location(lake, name)) for name in tables}, queries)


def in_process(tables: Mapping[str, DeltaTable | pa.Table], queries: Sequence[Query]) -> dict[str, pa.Table]:
    """The answers of DuckDB, over tables of a lake or tables in memory."""
    import duckdb

    with duckdb.connect(config={"memory_limit": MEMORY}) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")  # as Spark has it
        for name, table in tables.items():
            if isinstance(table, pa.Table):
                database.register(name, table)
            elif not (files := lakes.files(table)):
                database.register(name, TABLES[name].arrow.empty_table())
            elif any(mark in path for path in files for mark in NOT_PLAIN):
                database.register(name, table.to_pyarrow_dataset())
            else:
                database.read_parquet(files).create_view(name)
        return {query.name: _whole_numbers(database.sql(query.sql).to_arrow_table()) for query in queries}


def _whole_numbers(answer: pa.Table) -> pa.Table:
    """Sums of BIGINT as BIGINT, as Spark has them: DuckDB makes them wider."""
    types = (pa.int64() if pa.types.is_decimal(field.type) and field.type.scale == 0 else field.type for field in answer.schema)
    return answer.cast(pa.schema([field.with_type(kind) for field, kind in zip(answer.schema, types, strict=True)]))


def _by_spark(lake: str, queries: Sequence[Query], tables: Sequence[str], spark: SparkSession) -> dict[str, pa.Table]:
    def view(table: str) -> None:
        lakes.read(spark, lake, table).createOrReplaceTempView(table)

    def answer(query: Query) -> pa.Table:
        return spark.sql(query.sql).toArrow()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(view, tables))
        return dict(zip((query.name for query in queries), pool.map(answer, queries), strict=True))
