"""Checks what a run needs of this machine; each failure comes with its remedy.

No check raises: an error in a check is its result. Spark is not started where Java or
Delta's JARs are missing.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from stompcap import extras, kernels_of_wheel
from stompcap.capture.uris import is_uri
from stompcap.cli.commands import check_executors, check_places
from stompcap.cli.commands.check import Check, first_line, guarded
from stompcap.spark import jars, java

PYTHON = (3, 11)
"""The one that is tried, and that the package asks for."""

LEAST_FREE_OCTETS = 2 * 1024**3


def checks(
    lake: str | None = None, master: str | None = None, captures: Sequence[str] = (), *, conf: list[str] | None = None,
    start_spark: bool = True,
) -> Iterator[Check]:
    """Every check in order, each as soon as its result is known.

    `lake` is the lake whose disk is checked (the working folder where None), `master` the Spark master to try,
    `conf` settings for it, `captures` what a run would be given.
    `start_spark` says whether to start a session and its executors, which takes some seconds. Without the extra [spark], neither Java nor
    Spark is looked at.
    """
    yield guarded("Python", _python)
    yield guarded("packages", _packages)
    needs = [guarded("Java", _java), guarded("Delta's JARs", _delta)] if extras.has(extras.SPARK) else []
    yield from needs
    if lake is None or not is_uri(lake):
        yield guarded("disk", lambda: _disk(lake))
        reached = True
    else:
        store = guarded("store of the lake", lambda: check_places.store(lake))
        yield store
        reached = store.ok
    if captures:
        yield guarded("captures", lambda: check_places.captures(captures))
    if lake is not None and reached:
        yield guarded("files of the lake", lambda: _files(lake))
        yield guarded("rows of the lake", lambda: _rows(lake))
        yield guarded("clocks of the lake", lambda: _clocks(lake))
    yield guarded("temporary folder", _temporary)
    yield guarded("compiled kernels", _kernels)
    if not start_spark or not needs:
        return
    if missing := [one.name for one in needs if not one.ok]:
        yield Check("Spark", False, f"not started without {missing[0]}", f"fix {missing[0]} first")
    else:
        yield from _spark(master, conf)


def _python() -> Check:
    found = f"{platform.python_version()} at {sys.executable}"
    return Check("Python", sys.version_info[:2] == PYTHON, found, f"use Python {'.'.join(map(str, PYTHON))}")


def _packages() -> Check:
    """Which extras are installed, and whether the installed delta-spark fits the installed pyspark: its JAR names both."""
    if not extras.has(extras.SPARK):
        lake = extras.has(extras.LAKE)
        missing = "" if lake else f"; to read a lake (show, sql, report), {extras.command(extras.LAKE)}"
        found = f"pyarrow {version('pyarrow')}{missing}; to write one (run, watch), {extras.command(extras.SPARK)}"
        return Check("packages", True, found)
    try:
        found = f"pyspark {version('pyspark')}, delta-spark {version('delta-spark')}, pyarrow {version('pyarrow')}"
    except PackageNotFoundError as error:
        return Check("packages", False, f"{error.name} is not installed", extras.command(extras.SPARK))
    spark = tuple(int(part) for part in version("pyspark").split(".")[:2])
    delta = tuple(int(part) for part in version("delta-spark").split(".")[:2])
    # Delta 4.1 came with Spark 4.1; Spark 4.2 needs 4.4.
    fits = spark >= (4, 1) and delta >= ((4, 1) if spark == (4, 1) else (4, 4))
    return Check("packages", fits, found, "run pip install 'pyspark<=4.2.0' 'delta-spark<=4.4.0', versions that fit together")


def _java() -> Check:
    wanted = " or ".join(map(str, java.VERSIONS))
    remedy = f"install Java {wanted} (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one"
    runtime = java.use() or java.selected()
    if runtime is None:
        named = os.environ.get("JAVA_HOME")
        return Check("Java", False, f"none in JAVA_HOME={named}" if named else "none in PATH", remedy)
    found = f"{runtime.version} at {runtime.home}"
    if (other := java.passed_over()) is not None:
        found += f", as JAVA_HOME={other} is no Java {wanted} with the module {java.MODULE}"
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
    ready, state = _maven()
    return Check(
        "Delta's JARs",
        ready,
        f"not fetched yet; {state}",
        f"let this machine reach Maven Central once, or set {jars.VARIABLE} to a folder with {jars.coordinates()}",
    )


def _maven() -> tuple[bool, str]:
    """Whether the repository that Spark resolves from answers; Java's proxy settings are not used here."""
    import urllib.error
    import urllib.request

    group, artifact, release = jars.coordinates().split(":")
    address = f"https://repo1.maven.org/maven2/{group.replace('.', '/')}/{artifact}/{release}/{artifact}-{release}.pom"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10):
            return True, "Maven Central can be reached, and the first run fetches them"
    except (urllib.error.URLError, OSError) as error:
        return False, f"Maven Central cannot be reached ({first_line(error)})"


def _disk(lake: str | None) -> Check:
    folder = Path((lake or ".").removeprefix("file://")).absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    found = f"{free / 1024**3:.1f} GiB free at {folder}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("disk", False, f"{folder} cannot be written", "use a --lake in a folder that this user may write")
    return Check("disk", free >= LEAST_FREE_OCTETS, found, "free some space, or use a --lake on another disk")


def _files(lake: str) -> Check:
    """Whether all tables can be read, and the ends of all their files."""
    from stompcap.lake import damage
    from stompcap.lake import tables as lakes

    if found := damage.examined(lake):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return Check("files of the lake", False, f"{found[0]}{more}", damage.remedy(lake))
    return Check("files of the lake", True, "all can be read" if lakes.exists(lake) else "no lake there yet")


def _rows(lake: str) -> Check:
    """Whether an older version wrote rows that mean something else now: no failure, but worth a line."""
    from stompcap.lake import tables as lakes
    from stompcap.lake.older_rows import older_rows

    if not lakes.exists(lake):
        return Check("rows of the lake", True, "no lake there yet")
    return Check("rows of the lake", True, older_rows(lake) or "all as this version writes them")


def _clocks(lake: str) -> Check:
    """Whether times contradict the order of packets, which no run can mend."""
    from stompcap.lake.clocks import disagreeing

    return Check("clocks of the lake", True, disagreeing(lake) or "nothing contradicts them")


def _temporary() -> Check:
    folder = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    free = shutil.disk_usage(folder.split(",")[0]).free
    found = f"{free / 1024**3:.1f} GiB free at {folder}"
    return Check("temporary folder", free >= LEAST_FREE_OCTETS, found, "set SPARK_LOCAL_DIRS to a larger folder")


def _kernels() -> Check:
    """Whether the kernels are compiled, and where they are cached: without a cache, each process compiles them again."""
    if not extras.has(extras.JIT):
        return Check("compiled kernels", kernels_of_wheel.shipped(), "those of the wheel", extras.command(extras.JIT))
    import numba

    from stompcap import kernel_cache
    from stompcap.prepare import compiled

    shipped, folder = kernel_cache.shipped_folder(), kernel_cache.own_folder()
    if compiled():
        return Check("compiled kernels", True, f"numba {numba.__version__}, all in {shipped or folder}")
    nearest = folder
    while not nearest.exists():
        nearest = nearest.parent
    if not os.access(nearest, os.W_OK | os.X_OK):
        remedy = "set NUMBA_CACHE_DIR or XDG_CACHE_HOME to a folder that this user may write"
        return Check("compiled kernels", False, f"{folder} cannot be written", remedy)
    return Check("compiled kernels", True, "not yet, so the first run takes a minute longer; compile them now with: stompcap prepare")


def _spark(master: str | None, conf: list[str] | None) -> Iterator[Check]:
    """Start a session; check its time zone, and the Python, packages and kernels of workers."""
    from stompcap.cli.common import session

    try:
        spark = session(master, conf)()  # in another thread: in the main thread Spark would handle Ctrl-C itself
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        yield Check("Spark", False, first_line(error), "see the message; spark-submit shows the whole log")
        return
    yield Check("Spark", True, f"{spark.version}, master {spark.conf.get('spark.master', 'remote')}")
    yield guarded("time zone", lambda: _zone(str(spark.conf.get("spark.sql.session.timeZone"))))
    yield from check_executors.executors(spark)


def _zone(name: str) -> Check:
    """Timestamps of the tables are UTC; another zone shows them shifted."""
    fits = name in {"UTC", "Etc/UTC", "Z", "GMT"}
    return Check("time zone", fits, f"Spark works in {name}", "add --conf spark.sql.session.timeZone=UTC")
