"""The only module in which a Spark session is made, with every setting the tables depend on set by name.

A session that already runs, or that spark-submit has prepared, keeps its master, memory and JARs.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import IO, TYPE_CHECKING

from stompcap.errors import EnvironmentProblem
from stompcap.spark import archive, gateway, jars, java, preloaded
from stompcap.spark.master import demand, is_local

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
    gateway.DAEMON: preloaded.MODULE,
    # Half of a cold start is the JVM compiling itself: the first compiler alone is quicker for jobs of seconds and no slower for
    # long ones, whose time is spent in Python and native code.
    # One tier has a code cache of 48 MB by default, which the code that Spark generates for some hundred queries fills.
    # Rows that tasks pass through the JVM are garbage at once: a young generation without this bound grows to a gigabyte of it.
    JAVA_OPTIONS: "-XX:+UseParallelGC -XX:MaxNewSize=128m -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -Xshare:auto",
}
OUTPUT_CHARACTERS = 8192
"""Of what a JVM says that does not start, the end that is kept."""
ERROR_LINE = re.compile(r"Exception in thread |[\w.$]+\.\w*(?:Exception|Error): |Error: |Unrecognized |Could not |There is insufficient ")


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
            with suppress(ModuleNotFoundError):  # it is raised where the session is used
                gateway.load_pyspark()

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
    sessions = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)  # another thread may be importing it
    session: SparkSession | None = None if sessions is None else sessions.getActiveSession()
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
    if submitted:
        _demand_client_mode(spark)
    if "spark.log.level" not in settings:
        spark.sparkContext.setLogLevel("ERROR")
    if submitted and (spark.sparkContext.master or "").startswith("local") and not spark.sparkContext.getConf().contains(PARTITIONS):
        spark.conf.set(PARTITIONS, LOCAL[PARTITIONS])
    _demand_delta(spark)
    return spark


def lost(spark: SparkSession) -> bool:
    """Whether a session is of no use any more: its context was stopped, or its JVM has ended."""
    if getattr(spark, "_jvm", None) is None:  # Spark Connect: its server may come back
        return False
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - pyspark has no public way to ask
    except Exception:  # noqa: BLE001 - py4j has several for a JVM that does not answer
        return True


def hush() -> None:
    """Keep Spark's Python side from writing each exception that it raises to standard error as well, with Java's stack.

    Nor is the end of the JVM written there, which py4j does with the root logger.
    """
    import logging

    from pyspark.logger import PySparkLogger

    gateway.hush()
    logging.getLogger().addHandler(logging.NullHandler())  # without any handler, logging would make one that writes

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def named_master(master: str | None) -> str | None:
    """The master of a session made with this wish; None where spark-submit decides it or another session runs."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or active() is not None:
        return None
    return master or os.environ.get("MASTER") or "local[*]"


def _own(master: str) -> dict[str, str]:
    """The settings of a session whose JVM this process starts; Java is found for it."""
    runtime = java.use()
    if runtime is None:
        raise EnvironmentProblem("no Java 17 or 21 found; install one (Debian: apt-get install openjdk-17-jre-headless)")
    settings = {"spark.master": master, **jars.configuration(local=is_local(master))}
    if master.startswith("local"):
        settings = LOCAL | settings
        settings[gateway.INTERPRETER] = os.environ["PYSPARK_PYTHON"] = sys.executable
    if is_local(master):
        settings[JAVA_OPTIONS] += " " + archive.options(runtime, jars.class_path(jars.present()))
    return settings


def _started(settings: Mapping[str, str], *, submitted: bool) -> SparkSession:
    """A session of these settings.

    What a starting JVM says of itself stays from the terminal, and its later chatter too: a failing task's story comes back as an
    exception. Where the start fails it is a note of the error; `--conf spark.log.level=INFO` brings all of it to the terminal.
    """
    connect = "spark.remote" in settings or settings.get("spark.master", "").startswith("sc://")
    with tempfile.TemporaryFile() as output:
        try:
            demand(settings.get("spark.master", "") or (_submitted_master() if submitted else ""))
            if not (submitted or connect):
                _begin_jvm(settings, None if "spark.log.level" in settings else output)
            gateway.load_pyspark()
            from pyspark.sql import SparkSession

            return SparkSession.builder.appName("stompcap").config(map=dict(settings)).getOrCreate()
        except ModuleNotFoundError:  # pyspark
            raise
        except EnvironmentProblem as error:
            raise _with(error, output) from error.__cause__
        except Exception as error:
            raise _with(EnvironmentProblem(f"Spark cannot start ({_why(error)}); run stompcap doctor"), output) from error


def _submitted_master() -> str:
    """The master that spark-submit was given; it connects to none itself."""
    gateway.load_pyspark()
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - the settings of spark-submit are in its JVM
    return SparkConf().get("spark.master", "") or ""


def _begin_jvm(settings: Mapping[str, str], output: IO[bytes] | None) -> None:
    """Start the JVM and its Spark context; one that runs already is left as it is.

    What it says goes to `output`: standard output too, or who reads that of this process would wait for the JVM to end.
    """
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is not None and context._gateway is not None:  # noqa: SLF001 - there is one JVM a process, and no other way to ask for it
        return
    named = {"spark.app.name": "stompcap", **settings}
    started = gateway.start(named, output)
    from pyspark import SparkConf, SparkContext

    SparkContext(conf=SparkConf().setAll(list(named.items())), gateway=started)


def _demand_client_mode(spark: SparkSession) -> None:
    """Fail now where the driver runs in the cluster: nobody would get its exit code, its last line or its lock of a local lake."""
    if spark.conf.get("spark.submit.deployMode", "client") == "cluster":
        raise EnvironmentProblem(
            "the deploy mode cluster is not supported, as it loses exit codes; use --deploy-mode client, in a container there if need be"
        )


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


def _with(problem: EnvironmentProblem, output: IO[bytes]) -> EnvironmentProblem:
    """The problem with what the JVM said as a note, and in words where all that is known is that it ended."""
    output.seek(0)
    text = output.read().decode("utf-8", "replace")
    if text:
        problem.add_note(text[-OUTPUT_CHARACTERS:])
    if problem.args[0] == gateway.ENDED:
        problem.args = (f"Spark cannot start ({_error_line(text)}); run stompcap doctor",)
    return problem


def _error_line(text: str) -> str:
    """The line of a JVM's last words that says what is wrong: of an exception, of the launcher, else the last one."""
    lines = [line.strip("# \t") for line in text.splitlines() if line.strip("# \t")]
    found = next((line for line in lines if ERROR_LINE.match(line)), lines[-1] if lines else "its JVM ended without a word")
    return re.sub(r"^(?:Exception in thread \S+ )?(?:[\w.$]+\.\w+: |Error: )?", "", found)


def _why(error: Exception) -> str:
    """One line for what keeps Spark from starting: of an exception from the JVM its own words, not py4j's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    java = [re.sub(r"^: [\w.$]+: ", "", line) for line in lines if re.match(r": [\w.$]+: ", line)]
    return (java or lines or [type(error).__name__])[0]
