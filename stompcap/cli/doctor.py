"""What a run needs of this machine, checked one by one; each failure comes with its remedy.

No check raises: whatever goes wrong in one is what that check found. Spark is not tried where Java or
Delta's JARs are missing.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stompcap.spark import jars, java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_PYTHON = (3, 11)
LEAST_FREE_OCTETS = 2 * 1024**3
NEEDED_ON_EXECUTORS = ("numpy", "pandas", "pyarrow", "numba", "scapy", "stompcap")


@dataclass(frozen=True)
class Check:
    """One check: what was looked at, whether it will do, what was found, and what to do where it will not."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def checks(lake: str | None = None, master: str | None = None, *, start_spark: bool = True) -> Iterator[Check]:
    """Every check in order, each as soon as it is known.

    `lake` is the lake whose disk is looked at (the working folder where None), `master` the Spark master to try.
    `start_spark` says whether to try a session and its executors, which takes some seconds.
    """
    yield _guarded("Python", _python)
    yield _guarded("packages", _packages)
    runtime = _guarded("Java", _java)
    yield runtime
    delta = _guarded("Delta's JARs", _delta)
    yield delta
    yield _guarded("disk", lambda: _disk(lake))
    yield _guarded("temporary folder", _temporary)
    yield _guarded("compiled kernels", _kernels)
    if not start_spark:
        return
    if runtime.ok and delta.ok:
        yield from _spark(master)
    else:
        missing = "Java" if not runtime.ok else "Delta's JARs"
        yield Check("Spark", False, f"not tried without {missing}", f"put {missing} right first")


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    """The outcome of one check, also where the check itself fails."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        return Check(name, False, _first_line(error), "see the message; stompcap needs this to work")


def _first_line(error: Exception) -> str:
    """The first line of an error's text, else its class."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _python() -> Check:
    found = f"{platform.python_version()} at {sys.executable}"
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Check("Python", sys.version_info[:2] >= OLDEST_PYTHON, found, f"use Python {oldest} or later")


def _packages() -> Check:
    """Whether the installed delta-spark is made for the installed pyspark: their JAR names both."""
    try:
        found = f"pyspark {version('pyspark')}, delta-spark {version('delta-spark')}, pyarrow {version('pyarrow')}"
    except PackageNotFoundError as error:
        return Check("packages", False, f"{error.name} is not installed", "pip install stompcap, or make setup")
    spark = tuple(int(part) for part in version("pyspark").split(".")[:2])
    delta = tuple(int(part) for part in version("delta-spark").split(".")[:2])
    # Delta 4.1 came with Spark 4.1; Spark 4.2 needs 4.4.
    fits = spark >= (4, 1) and delta >= ((4, 1) if spark == (4, 1) else (4, 4))
    return Check("packages", fits, found, "pip install 'pyspark<=4.2.0' 'delta-spark<=4.4.0', which fit together")


def _java() -> Check:
    wanted = " or ".join(map(str, java.VERSIONS))
    remedy = f"install Java {wanted} (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one"
    runtime = java.use() or java.chosen()
    if runtime is None:
        named = os.environ.get("JAVA_HOME")
        return Check("Java", False, f"none in JAVA_HOME={named}" if named else "none in PATH", remedy)
    found = f"{runtime.version} at {runtime.home}"
    if not runtime.vector:
        found += f", without the module {java.MODULE}"
    return Check("Java", runtime.fits, found, remedy)


def _delta() -> Check:
    folder = os.environ.get(jars.VARIABLE)
    if folder:
        found = jars.in_folder(Path(folder))
        return Check("Delta's JARs", True, f"{len(found)} in {folder}")
    resolved = jars.resolved()
    if resolved:
        return Check("Delta's JARs", True, f"{len(resolved)} in {resolved[0].parent}")
    ready, said = _maven()
    return Check(
        "Delta's JARs",
        ready,
        f"not fetched yet; {said}",
        f"let this machine reach Maven Central once, or set {jars.VARIABLE} to a folder with {jars.coordinates()}",
    )


def _maven() -> tuple[bool, str]:
    """Whether the repository that Spark resolves from answers; no proxy settings of Java's are known here."""
    import urllib.error
    import urllib.request

    group, artifact, release = jars.coordinates().split(":")
    address = f"https://repo1.maven.org/maven2/{group.replace('.', '/')}/{artifact}/{release}/{artifact}-{release}.pom"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10):
            return True, "Maven Central can be reached, the first run fetches them"
    except (urllib.error.URLError, OSError) as error:
        return False, f"Maven Central cannot be reached ({_first_line(error)})"


def _disk(lake: str | None) -> Check:
    if lake is not None and "://" in lake and not lake.startswith("file:"):
        return Check("disk", True, f"{lake} is not on a disk of this machine")
    place = Path((lake or ".").removeprefix("file://")).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{free / 1024**3:.1f} GiB free at {place}"
    if not os.access(place, os.W_OK | os.X_OK):
        return Check("disk", False, f"{place} cannot be written", "name a --lake in a folder this user may write")
    return Check("disk", free >= LEAST_FREE_OCTETS, found, "free some space, or name a --lake on another disk")


def _temporary() -> Check:
    place = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    free = shutil.disk_usage(place.split(",")[0]).free
    found = f"{free / 1024**3:.1f} GiB free at {place}"
    return Check("temporary folder", free >= LEAST_FREE_OCTETS, found, "set SPARK_LOCAL_DIRS to a larger folder")


def _kernels() -> Check:
    """Whether the kernels are compiled, and where they are kept: without such a place each process compiles them anew."""
    import numba

    from stompcap import kernel_cache
    from stompcap.prepare import compiled

    shipped, place = kernel_cache.shipped_folder(), kernel_cache.own_folder()
    if compiled():
        return Check("compiled kernels", True, f"numba {numba.__version__}, all in {shipped or place}")
    nearest = place
    while not nearest.exists():
        nearest = nearest.parent
    if not os.access(nearest, os.W_OK | os.X_OK):
        remedy = "set NUMBA_CACHE_DIR or XDG_CACHE_HOME to a folder this user may write"
        return Check("compiled kernels", False, f"{place} cannot be written", remedy)
    return Check("compiled kernels", True, "not yet, the first run waits a minute for them; compile them now with: stompcap prepare")


def _spark(master: str | None) -> Iterator[Check]:
    """Start a session; ask it its time zone, and a Python worker of an executor what it is and can import."""
    from stompcap.cli.common import session

    try:
        spark = session(master, None)()  # in a thread of its own: in the main one Spark would take over Ctrl-C
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        yield Check("Spark", False, _first_line(error), "see the message; spark-submit shows the whole log")
        return
    yield Check("Spark", True, f"{spark.version}, master {spark.conf.get('spark.master', 'remote')}")
    yield _guarded("time zone", lambda: _zone(str(spark.conf.get("spark.sql.session.timeZone"))))
    yield _guarded("executors", lambda: _executors(spark))


def _zone(name: str) -> Check:
    """Timestamps of the tables are UTC; another zone shows them shifted."""
    fits = name in {"UTC", "Etc/UTC", "Z", "GMT"}
    return Check("time zone", fits, f"Spark works in {name}", "--conf spark.sql.session.timeZone=UTC")


def _executors(spark: SparkSession) -> Check:
    """Run one task in a Python worker: is it the driver's Python, and has it the packages?

    Spark refuses a worker of another minor version, for it cannot unpickle what the driver sends.
    """
    here = sysconfig.get_python_version()
    same_python = f"set PYSPARK_PYTHON to a Python {here} on every executor, as the driver's is"
    try:
        told, lacking = _ask_worker(spark)
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        lines = [line.strip() for line in str(error).splitlines() if "PYTHON_VERSION_MISMATCH" in line]
        said = lines[0] if lines else _first_line(error)
        return Check("executors", False, said, same_python)
    if lacking:
        remedy = "install them there, or ship the environment: --archives stompcap-env.tar.gz#environment (make dist)"
        return Check("executors", False, f"{told} lacks {lacking}", remedy)
    return Check("executors", True, told)


def _ask_worker(spark: SparkSession) -> tuple[str, str]:
    """What a Python worker says of itself, and which of the needed packages it lacks, comma-separated.

    The function sent is a local one: those are pickled whole, so it runs where stompcap is not installed.
    """
    needed = NEEDED_ON_EXECUTORS

    def answer(batches: Any) -> Any:
        import importlib.util
        import platform
        import sys

        import pyarrow as pa

        for _ in batches:
            told = f"Python {platform.python_version()} at {sys.executable}"
            lacking = ", ".join(name for name in needed if importlib.util.find_spec(name) is None)
            yield pa.RecordBatch.from_pydict({"told": [told], "lacking": [lacking]})

    row = spark.range(0, 1, 1, 1).mapInArrow(answer, "told STRING, lacking STRING").collect()[0]
    return str(row["told"]), str(row["lacking"])
