"""The one place a Spark session is made, with every setting the tables depend on set by name.

A session that already runs, or that spark-submit has prepared, keeps its master, memory and JARs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import Future
from threading import Thread
from typing import IO, TYPE_CHECKING

from stompcap.errors import EnvironmentProblem
from stompcap.spark import archive, jars, java

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCAL = {
    "spark.ui.enabled": "false",
    PARTITIONS: "4",
    "spark.driver.memory": "3g",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": "spark-warehouse",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.daemon.module": "stompcap.spark.daemon",
    # Half of a cold start is the JVM compiling itself: the first compiler alone is quicker for jobs of seconds and no slower for
    # long ones, whose time is spent in Python and native code.
    JAVA_OPTIONS: "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -Xshare:auto",
}
# The same for the short-lived JVM in which Spark's launcher puts the real one's command line together.
LAUNCHER = ("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -Xshare:auto")
SAID_OCTETS = 8192
"""Of what a JVM says that does not start, the end that is shown."""


class LazySession:
    """A session made beside other work: begun when it is known to be needed, waited for where it is used.

    `master` is the one it will have, where that is known before.
    """

    def __init__(self, make: Callable[[], SparkSession], master: str | None = None) -> None:
        self._make = make
        self._master = master
        self._made: Future[SparkSession] | None = None

    def begin(self) -> None:
        """Start making the session, once; errors come where it is used."""
        if self._made is None:
            self._made = Future()
            Thread(target=_fulfil, args=(self._made, self._make), daemon=True).start()

    def __call__(self) -> SparkSession:
        """The session; raises what making it raised."""
        self.begin()
        if self._made is None:
            raise AssertionError
        return self._made.result()


    def local(self) -> bool:
        """Whether its tasks run in the driver's own JVM; waits for the session only where no master was named."""
        return is_local(self._master or self().conf.get("spark.master", "") or "")


def _fulfil(made: Future[SparkSession], make: Callable[[], SparkSession]) -> None:
    try:
        made.set_result(make())
    except BaseException as error:  # noqa: BLE001 - it is raised where the session is used
        made.set_exception(error)


def active() -> SparkSession | None:
    """The session that this thread works in; None where there is none, which is known without loading Spark."""
    loaded = sys.modules.get("pyspark.sql")
    session: SparkSession | None = loaded.SparkSession.getActiveSession() if loaded else None
    return session


def get_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session to work in: the active one, the one spark-submit prepared, or a new local one.

    `master` and `conf` are the user's own wishes and win over every default. Raises EnvironmentProblem where Java is
    missing, Spark cannot start or Delta's JARs cannot be had.
    """
    running = active()
    if running is not None:
        _demand_delta(running)
        return running
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = dict(REQUIRED)
    if submitted:
        settings.update({"spark.master": master} if master else {})
    else:
        settings.update(_own(named_master(master) or "local[*]"))
    settings.update(conf or {})
    spark = _started(settings, submitted=submitted)
    if "spark.log.level" not in settings:
        spark.sparkContext.setLogLevel("ERROR")
    if submitted and (spark.sparkContext.master or "").startswith("local") and not spark.sparkContext.getConf().contains(PARTITIONS):
        spark.conf.set(PARTITIONS, LOCAL[PARTITIONS])
    _demand_delta(spark)
    return spark


def named_master(master: str | None) -> str | None:
    """The master of a session made with this wish; None where spark-submit decides it or another session runs."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or active() is not None:
        return None
    return master or os.environ.get("MASTER") or "local[*]"


def is_local(master: str) -> bool:
    """Whether that master runs tasks in the driver's own JVM."""
    return master == "local" or master.startswith("local[")


def _own(master: str) -> dict[str, str]:
    """The settings of a session whose JVM this process starts; Java is found for it."""
    runtime = java.use()
    if runtime is None:
        raise EnvironmentProblem("no Java 17 or 21 found; install one (Debian: apt-get install openjdk-17-jre-headless)")
    settings = {"spark.master": master, **jars.configuration(local=is_local(master))}
    if master.startswith("local"):
        settings = LOCAL | settings
        settings["spark.pyspark.python"] = os.environ["PYSPARK_PYTHON"] = sys.executable
    if is_local(master):
        settings[JAVA_OPTIONS] += " " + archive.options(runtime, jars.class_path(jars.present()))
    return settings


def _started(settings: Mapping[str, str], *, submitted: bool) -> SparkSession:
    """A session of these settings.

    What a starting JVM says of itself stays from the terminal, and its later chatter too: a failing task's story comes back as an
    exception. It is shown where the start fails; `--conf spark.log.level=INFO` brings all of it to the terminal.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("stompcap")
    for key, value in settings.items():
        builder = builder.config(key, value)
    hushed = not (submitted or "spark.log.level" in settings or "spark.remote" in settings or settings.get("spark.master", "").startswith("sc://"))
    with tempfile.TemporaryFile() as said:
        try:
            if hushed:
                _begin_jvm(settings, said)
            return builder.getOrCreate()
        except Exception as error:
            said.seek(0)
            os.write(2, said.read()[-SAID_OCTETS:])
            raise EnvironmentProblem(_why(error)) from error


def _begin_jvm(settings: Mapping[str, str], said: IO[bytes]) -> None:
    """Start the JVM and its Spark context; one that runs already is left as it is.

    What it says goes to `said`: standard output too, or who reads that of this process would wait for the JVM to end.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001 - there is one JVM a process, and no other way to ask for it
        return
    conf = SparkConf().setAppName("stompcap").setAll(list(settings.items()))
    ours = LAUNCHER[0] not in os.environ
    os.environ.setdefault(*LAUNCHER)
    try:
        gateway = launch_gateway(conf, {"stdout": said, "stderr": said})
    finally:
        if ours:
            os.environ.pop(LAUNCHER[0], None)
    SparkContext(conf=conf, gateway=gateway)


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
