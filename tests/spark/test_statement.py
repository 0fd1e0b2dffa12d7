"""What `sql` takes and what it refuses; the last word is the parser's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stompcap.cli import cells
from stompcap.errors import UsageError
from stompcap.lake.statement import demand_reading, first_word, names, read
from stompcap.spark import row_times
from stompcap.tables import TABLES
from stompcap.views import VIEWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("select 1", "SELECT"), ("  ((VALUES (1)))", "VALUES"), ("-- a remark\nSELECT 1", "SELECT"),
        ("/* a\nb */ /**/ delete from x", "DELETE"), ("--only", ""), ("", ""), ("SHOW TABLES", "SHOW"), ("/*+ odd", ""),
    ],
)  # fmt: skip
def test_the_word_a_statement_begins_with(statement: str, word: str) -> None:
    assert first_word(statement) == word


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("SELECT * FROM Sessions s JOIN `STREAMS` USING (stream_id)", {"sessions", "streams"}), ("SELECT 1", set()),
        ("WITH a AS (SELECT * FROM frame_details) SELECT * FROM a", {"frame_details"}), ("DESCRIBE rules", {"rules"}),
        ("SHOW VIEWS", {*TABLES, *VIEWS}), ("SELECT * FROM sesions", set()),
    ],
)  # fmt: skip
def test_the_tables_and_views_that_a_statement_may_name(statement: str, found: set[str]) -> None:
    assert names(statement) == found


COMMANDS = [
    "DELETE FROM t", "insert into t values (1)", "/* SELECT */ DROP TABLE t", "", "CREATE TABLE t(a INT)", "TRUNCATE TABLE t",
    "MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE", "CALL f()", "CACHE TABLE t",
]  # fmt: skip


@pytest.mark.parametrize("statement", COMMANDS)
def test_what_begins_as_a_command_is_refused(statement: str) -> None:
    with pytest.raises(UsageError, match="reads a lake and never writes"):
        demand_reading(statement)


def test_a_setting_is_refused_with_what_there_is_instead() -> None:
    with pytest.raises(UsageError, match=r"keeps no settings; .* --time-zone"):
        demand_reading("SET TIME ZONE 'Asia/Tokyo'")


@pytest.mark.spark
def test_what_spark_reads_is_answered_and_its_times_have_the_zones_that_they_have(spark: SparkSession) -> None:
    spark.createDataFrame([("a", 1), ("b", 2)], "k STRING, n INT").createOrReplaceTempView("pairs")
    assert read(spark, "SELECT * FROM pairs PIVOT (sum(n) FOR k IN ('a', 'b'))").collect() == [(1, 2)]
    assert read(spark, "SELECT * FROM (SELECT 1 AS a, 2 AS b) UNPIVOT (n FOR k IN (a, b))").count() == 2
    for statement in ("SHOW VIEWS", "DESCRIBE pairs", "DESC pairs", "EXPLAIN SELECT * FROM pairs"):
        assert read(spark, statement).count()
    kinds = "TIMESTAMP '2026-07-01 12:00:00Z'", "TIMESTAMP_NTZ '2026-07-01 12:00:00'"
    columns = ", ".join(form.format(kind) for kind in kinds for form in ("{}", "array({0}, NULL)", "map('k', {})", "struct({} AS f)"))
    [row] = row_times.rows(read(spark, f"SELECT {columns}"))
    moment, clock = "2026-07-01T12:00:00Z", "2026-07-01T12:00:00"
    expected = [form for one in (moment, clock) for form in (one, [one, None], {"k": one}, {"f": one})]
    assert [cells.plain(value) for value in row] == expected


@pytest.mark.spark
def test_what_turns_into_a_command_is_refused(spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    mixed = "WITH a AS (SELECT 1 AS id) INSERT INTO numbers SELECT * FROM a", "FROM numbers INSERT OVERWRITE TABLE numbers SELECT *"
    for statement in mixed:
        with pytest.raises(UsageError):
            read(spark, statement)
    for statement in (
        "SELECT TRANSFORM(id) USING 'cat' AS (id) FROM numbers", "WITH a AS (SELECT TRANSFORM(1) USING 'cat' AS (b)) SELECT * FROM a",
        "FROM numbers MAP id USING 'cat' AS (id)", "SELECT (SELECT max(a) FROM (SELECT TRANSFORM(1) USING 'cat' AS (a)))",
        "SELECT `reflect` ('java.lang.System', 'lineSeparator')", "SELECT IDENTIFIER('java_' || 'method')('java.lang.System', 'gc')",
    ):  # fmt: skip
        with pytest.raises(UsageError, match="runs no programs"):
            read(spark, statement)
    assert read(spark, "WITH a AS (SELECT id FROM numbers) SELECT max(id) AS most FROM a ORDER BY 1;").collect()[0].most == 2
    assert read(spark, "(SELECT count(*) AS n FROM numbers) -- all").collect()[0].n == 3
    assert read(spark, "SHOW VIEWS").count() >= 1
    assert spark.table("numbers").count() == 3
