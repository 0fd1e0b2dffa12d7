"""Delta's JARs: from a folder the user names, from an earlier resolution, or from Maven Central through Spark.

Spark resolves packages at each start, which costs seconds; what it once put into the cache is handed over by path.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from stompcap.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

SCALA = "2.13"
# Delta's own dependency list names what Spark ships itself; fetching those again would only put them twice on the class path. Of some,
# another Maven has often left the description alone in ~/.m2, where Ivy then looks for the JAR too, and fails.
EXCLUDED = ",".join(
    (
        "org.apache.hadoop:hadoop-client-api",
        "org.apache.hadoop:hadoop-client-runtime",
        "org.apache.parquet:parquet-hadoop",
        "org.apache.parquet:parquet-column",
        "com.fasterxml.jackson.core:jackson-annotations",
        "com.fasterxml.jackson.core:jackson-core",
        "com.fasterxml.jackson.core:jackson-databind",
        "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
        "com.google.code.findbugs:jsr305",
        "org.apache.logging.log4j:log4j-api",
        "org.apache.logging.log4j:log4j-slf4j2-impl",
        "org.roaringbitmap:RoaringBitmap",
        "org.slf4j:slf4j-api",
    )
)
VARIABLE = "STOMPCAP_JARS"


def artifact() -> str:
    """The name of Delta's JAR for the installed Spark, without its version."""
    spark = ".".join(version("pyspark").split(".")[:2])
    return f"delta-spark_{spark}_{SCALA}"


def coordinates() -> str:
    """Maven coordinates of Delta for the installed pyspark and delta-spark."""
    return f"io.delta:{artifact()}:{version('delta-spark')}"


def cache() -> Path:
    """The Ivy folder that Spark resolves into and that later starts read from."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stompcap" / f"delta-{version('delta-spark')}-spark-{version('pyspark')}"


def in_folder(folder: Path) -> list[Path]:
    """The JARs of a folder that holds Delta for the installed Spark; raises EnvironmentProblem where it does not."""
    if not folder.is_dir():
        raise EnvironmentProblem(f"{VARIABLE} names {folder}, which is not a folder; put Delta's JARs there or unset it")
    found = sorted(folder.glob("*.jar"))
    if not any(artifact() in jar.name for jar in found):
        raise EnvironmentProblem(f"{folder} lacks {artifact()}-{version('delta-spark')}.jar; put Delta's JARs there or unset {VARIABLE}")
    return found


def resolved() -> list[Path]:
    """The JARs an earlier start left in the cache; empty if there are none."""
    found = sorted((cache() / "jars").glob("*.jar"))
    named = f"{artifact()}-{version('delta-spark')}"
    return found if any(named in jar.name for jar in found) else []


def present() -> list[Path]:
    """The JARs at hand, from the folder the user names or from the cache; empty where Spark has to fetch them first."""
    folder = os.environ.get(VARIABLE)
    return in_folder(Path(folder)) if folder else resolved()


def spark_home() -> Path:
    """The folder of the Spark that pyspark brings or SPARK_HOME names."""
    named = os.environ.get("SPARK_HOME")
    found = find_spec("pyspark")
    return Path(named) if named else Path(found.origin if found and found.origin else "").parent


def class_path(found: Iterable[Path]) -> list[Path]:
    """Those of the JARs that Spark itself does not bring: an older one of the same name before Spark's own would break it."""
    brought = {_artifact(jar) for jar in (spark_home() / "jars").glob("*.jar")}
    return [jar for jar in found if _artifact(jar) not in brought]


def _artifact(jar: Path) -> str:
    """The artifact of a JAR without its version, and without the group that Ivy writes before it."""
    group, sign, rest = jar.name.partition("_")
    name = rest if sign and "." in group and not re.search(r"-\d", group) else jar.name
    return re.sub(r"-\d.*", "", name)


def configuration(*, local: bool) -> dict[str, str]:
    """The Spark settings that bring Delta's JARs into a session this process starts.

    A `local` master has one JVM: there they are part of its class path, as the class-data archive needs them. Elsewhere Spark
    carries them to the executors.
    """
    found = present()
    if found and local:
        return {"spark.driver.extraClassPath": os.pathsep.join(map(str, class_path(found)))}
    if found:
        return {"spark.jars": ",".join(str(jar) for jar in found)}
    cache().mkdir(parents=True, exist_ok=True)
    return {"spark.jars.packages": coordinates(), "spark.jars.excludes": EXCLUDED, "spark.jars.ivy": str(cache())}
