"""The one place a Spark session is made, with every setting the tables depend on set by name.

A session that already runs, or that spark-submit has prepared, keeps its master, memory and JARs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from stompcap.errors import EnvironmentProblem
from stompcap.spark import jars, java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

REQUIRED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.databricks.delta.snapshotPartitions": "2",
}
PARTITIONS = "spark.sql.shuffle.partitions"
LOCAL = {
    "spark.ui.enabled": "false",
    PARTITIONS: "4",
    "spark.driver.memory": "3g",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": "spark-warehouse",
    "spark.sql.catalogImplementation": "in-memory",
    # Half of a cold start is the JVM compiling itself: the first compiler alone is quicker for jobs of seconds and no slower for
    # long ones, whose time is spent in Python and native code.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -Xshare:auto",
}


def get_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session to work in: the active one, the one spark-submit prepared, or a new local one.

    `master` and `conf` are the user's own wishes and win over every default. Raises EnvironmentProblem where Java is
    missing, Spark cannot start or Delta's JARs cannot be had.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        _demand_delta(active)
        return active
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = dict(REQUIRED)
    if not submitted:
        chosen = master or os.environ.get("MASTER") or "local[*]"
        settings["spark.master"] = chosen
        settings.update(jars.configuration())
        if chosen.startswith("local"):
            settings.update(LOCAL)
            settings["spark.pyspark.python"] = sys.executable
            os.environ["PYSPARK_PYTHON"] = sys.executable
        if java.use() is None:
            raise EnvironmentProblem("no Java 17 or 21 found; install one (Debian: apt-get install openjdk-17-jre-headless)")
    elif master:
        settings["spark.master"] = master
    settings.update(conf or {})
    builder = SparkSession.builder.appName("stompcap")
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with nullcontext() if submitted or "spark.log.level" in settings else _hushed():
            spark = builder.getOrCreate()
    except Exception as error:
        raise EnvironmentProblem(_why(error)) from error
    if "spark.log.level" not in settings:
        spark.sparkContext.setLogLevel("ERROR")
    if submitted and (spark.sparkContext.master or "").startswith("local") and not spark.sparkContext.getConf().contains(PARTITIONS):
        spark.conf.set(PARTITIONS, LOCAL[PARTITIONS])
    _demand_delta(spark)
    return spark


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep what a starting JVM says of itself from the terminal; it is shown where the start fails.

    The JVM inherits standard error, so its later chatter goes nowhere too: a failing task's story comes back as an exception.
    `--conf spark.log.level=INFO` brings all of it to the terminal.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            os.write(terminal, said.read()[-8192:])
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _demand_delta(spark: SparkSession) -> None:
    """Fail now, with a remedy, where Delta's classes are missing: Spark itself only fails at the first query."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:  # Spark Connect: the server's class path is the server's business
        return
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass("io.delta.sql.DeltaSparkSessionExtension")
    except Exception as error:
        raise EnvironmentProblem(
            f"Delta's JARs are not on Spark's class path; add --packages {jars.coordinates()} "
            f"or set {jars.VARIABLE} to a folder that holds them"
        ) from error


def _why(error: Exception) -> str:
    """One line for what keeps Spark from starting."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "JAVA_GATEWAY_EXITED" in str(error) or "java" in first.lower():
        return f"Spark cannot start ({first}); is Java 17 or 21 installed, and can Delta's JARs be fetched? Run stompcap doctor"
    return f"Spark cannot start ({first}); run stompcap doctor"
