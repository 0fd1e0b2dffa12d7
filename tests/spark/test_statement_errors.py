"""Mistakes in SQL are told in a line with what may have been meant, whichever engine found them; the engines' own faults are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from stompcap.lake.statement import read
from stompcap.lake.statement_errors import describe
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The statement, what is told where Spark finds the mistake, and where DuckDB does; None where it has the words of its own.
CASES = [
    ("SELECT destnation FROM ack_latency", "no column destnation; did you mean destination?", "no column destnation; did you mean destin"),
    ("SELECT a.destnation FROM ack_latency a", "no column a.destnation; did you mean a.destin", "no column destnation"),
    ("SELECT `a b` FROM ack_latency", "no column a b; there are ", None),
    ("SELECT * FROM sesions", "no table sesions; did you mean sessions?", "no table sesions; did you mean sessions?"),
    ("SELECT * FROM q", "no table q; SHOW TABLES lists them", "no table q; SHOW TABLES lists them"),
    ("SELECT cont(*) FROM ack_latency", "no function cont; SHOW FUNCTIONS lists them", "no function cont; SHOW FUNCTIONS"),
    ("SELECT * FRM ack_latency", "Syntax error at or near 'ack_latency'", 'syntax error at or near "ack_latency"'),
    ("SELECT max(hour_ts), destination FROM ack_latency", "The query does not include a GROUP BY", 'column "destination" must'),
    ("SELECT CAST(d AS INT) FROM (VALUES ('x')) v(d)", "The value 'x' of the type", "Could not convert string 'x'"),
    ("SELECT 1/0 FROM (VALUES (1)) v(d)", "Division by zero.", None),
]  # fmt: skip


def told(said: str | None) -> str:
    assert said is not None
    assert "\n" not in said
    assert "SQLSTATE" not in said
    assert not said.startswith("[")
    return said


@pytest.mark.parametrize(("statement", "says"), [(case[0], case[2]) for case in CASES if case[2]])
def test_mistakes_that_duckdb_finds(statement: str, says: str) -> None:
    with duckdb.connect() as database:
        database.register("ack_latency", TABLES["ack_latency"].arrow.empty_table())
        with pytest.raises(duckdb.Error) as raised:
            database.sql(statement).fetchall()
    assert told(describe(raised.value)).startswith(says)


def test_faults_of_an_engine_are_no_mistakes() -> None:
    assert describe(duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block")) is None
    assert describe(duckdb.IOException("IO Error: No space left on device")) is None
    assert describe(RuntimeError("SQLSTATE: XX000")) is None
    assert describe(OSError(28, "No space left on device")) is None


@pytest.mark.spark
@pytest.mark.parametrize(("statement", "says"), [case[:2] for case in CASES])
def test_mistakes_that_spark_finds(spark: SparkSession, statement: str, says: str) -> None:
    spark.createDataFrame(TABLES["ack_latency"].arrow.empty_table()).createOrReplaceTempView("ack_latency")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Spark has a class for each, py4j one more
        list(read(spark, statement).toLocalIterator())
    assert told(describe(raised.value)).startswith(says)
