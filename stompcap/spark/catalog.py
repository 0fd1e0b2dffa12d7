"""Tables and views of a lake made known to a metastore, so that whoever uses it finds them by catalog, schema and name.

The data stay where they are: each table is external, its location that of the lake. Delta's own log has columns and comments, so a
registered table never needs to be registered again because of them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from stompcap.errors import UsageError
from stompcap.tables import TABLES
from stompcap.views import VIEWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG, SCHEMA = "spark_catalog", "stompcap"
NAME = re.compile(r"\w+")
LONGEST_COMMENT = 256
"""Characters of a column's comment in Hive's metastore (COLUMNS_V2.COMMENT). Of a view with a longer one it refuses the columns, after ten
attempts that are two seconds apart."""


class Registered(NamedTuple):
    """What a metastore was told: tables that it did not know, those that it knew, and views."""

    new: int
    known: int
    views: int


def register(spark: SparkSession, lake: str, catalog: str = CATALOG, schema: str = SCHEMA) -> Registered:
    """Make the tables and views of a lake known as `catalog.schema.name`; repeated, it changes nothing but the views' SQL.

    Raises UsageError for names that are none, for a schema that has a table of another lake by one of these names, and for a store that
    the session has no client for.
    """
    for option, name in (("--catalog", catalog), ("--schema", schema)):
        if not NAME.fullmatch(name):
            raise UsageError(f"{option} {name}: must be letters, digits and underscores")
    named = f"`{catalog}`.`{schema}`"
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {named}")
    uris = {table: _uri(spark, lake, table) for table in TABLES}
    known = {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {named}").collect() if not row["isTemporary"]}
    for table, uri in uris.items():
        if table in known and (other := _location(spark, f"{named}.`{table}`")) != uri:
            raise UsageError(f"{catalog}.{schema} has a table {table} at {other or 'no location'}; name another --schema")
    for table in [table for table in uris if table not in known]:
        spark.sql(f"CREATE TABLE {named}.`{table}` USING delta LOCATION '{_quoted(uris[table])}'")
    for view in VIEWS.values():
        comment = _quoted(view.comment)
        sql = view.of({table: f"{named}.`{table}`" for table in view.tables})
        spark.sql(f"CREATE OR REPLACE VIEW {named}.`{view.name}` {_columns(spark, sql)} COMMENT '{comment}' AS {sql}")
    new = len(TABLES.keys() - known)
    return Registered(new, len(TABLES) - new, len(VIEWS))


def _uri(spark: SparkSession, lake: str, table: str) -> str:
    """The location of a table as a URI that Spark takes."""
    from stompcap.lake import remote
    from stompcap.lake.paths import location
    from stompcap.lake.tables import is_local

    where = location(lake, table)
    if is_local(lake):
        return f"file:{os.path.abspath(where)}"
    found = remote.named(spark, where)
    if found is None:
        raise UsageError(f"{lake}: the session has no client for this store, which a metastore's users need; add hadoop-aws or the like")
    return found


def _location(spark: SparkSession, table: str) -> str | None:
    """Where a metastore says that a table lies, in the words of `_uri`."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    found = next((str(row["data_type"]) for row in rows if row["col_name"] == "Location"), None)
    return None if found is None else re.sub(r"^file:/+", "file:/", found)


def _columns(spark: SparkSession, sql: str) -> str:
    """The columns of a view in parentheses. Each has the comment that its table gives it; one that is too long for a metastore is cut."""
    told = []
    for field in spark.sql(sql).schema:
        comment = str(field.metadata.get("comment", ""))
        told.append(f"`{field.name}`" + (f" COMMENT '{_quoted(shortened(comment))}'" if len(comment) > LONGEST_COMMENT else ""))
    return f"({', '.join(told)})"


def shortened(comment: str) -> str:
    """A comment as far as a metastore takes it, cut behind a word."""
    return comment if len(comment) <= LONGEST_COMMENT else f"{comment[: LONGEST_COMMENT - 3].rpartition(' ')[0]}..."


def _quoted(text: str) -> str:
    """Text between single quotes of Spark SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
