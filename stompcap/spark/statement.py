"""Spark SQL that reads: a query, or a question about tables. The rest is refused before Spark sees it, for it does commands at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stompcap.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEFORE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
QUERIES = ("SELECT", "VALUES", "TABLE")
MIXED = ("WITH", "FROM", "MAP", "REDUCE")
"""A query, or an INSERT, UPDATE or DELETE behind it: by the parser."""
QUESTIONS = ("SHOW", "DESCRIBE", "DESC", "EXPLAIN")
REFUSED = "sql reads a lake and never writes: say SELECT, WITH, VALUES, SHOW, DESCRIBE or EXPLAIN"


def first_word(statement: str) -> str:
    """The word a statement begins with, in capitals, comments and brackets passed over."""
    passed = BEFORE.match(statement)
    word = re.match(r"\w*", statement[passed.end() if passed else 0 :])
    return word.group().upper() if word else ""


def demand_reading(statement: str) -> None:
    """Raise UsageError for a statement that begins as none that reads."""
    if first_word(statement) not in QUERIES + MIXED + QUESTIONS:
        raise UsageError(REFUSED)


def read(spark: SparkSession, statement: str) -> DataFrame:
    """The answer to a statement that reads.

    Raises UsageError for any other one, and what Spark raises for one that makes no sense.
    """
    from pyspark.errors import ParseException

    statement = statement.strip().removesuffix(";")
    demand_reading(statement)
    if first_word(statement) in MIXED:
        spark.sql(f"EXPLAIN {statement}")  # its own mistakes come first
        try:
            spark.sql(f"EXPLAIN SELECT * FROM (\n{statement}\n)")  # noqa: S608 - it is the user's own, and asked for
        except ParseException as error:
            raise UsageError(REFUSED) from error
    return spark.sql(statement)
