"""Checks of `doctor` on executors: their Python and packages, and the kernels that are compiled there."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stompcap.cli.commands.check import Check, first_line, guarded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = ("numpy", "pandas", "pyarrow", "numba", "scapy", "stompcap")
MOST_TASKS = 64
SHIP = "ship the environment with --archives stompcap-env.tar.gz#environment (make dist)"


def executors(spark: SparkSession) -> Iterator[Check]:
    """Run a task for each core in Python workers: whether they have the driver's Python, the packages, and the driver's kernels.

    Spark refuses a worker of another minor version, because it cannot unpickle what the driver sends.
    """
    here = sysconfig.get_python_version()
    try:
        workers = asked(spark)
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        lines = [line.strip() for line in str(error).splitlines() if "PYTHON_VERSION_MISMATCH" in line]
        found = lines[0] if lines else first_line(error)
        yield Check("executors", False, found, f"set PYSPARK_PYTHON to Python {here} on every executor, the driver's version")
        return
    lacking = next((one for one in workers if one["lacking"]), None)
    if lacking is not None:
        yield Check("executors", False, f"{lacking['python']} lacks {lacking['lacking']}", f"install them there, or {SHIP}")
        return
    yield Check("executors", True, ", ".join(sorted({one["python"] for one in workers})))
    yield guarded("executors' kernels", lambda: kernels(workers))


def kernels(workers: Sequence[dict[str, Any]]) -> Check:
    """Whether the workers have the kernels that the driver's sources compile to."""
    from stompcap import kernel_cache
    from stompcap.version import version

    name, wanted = "executors' kernels", kernel_cache.name()
    for one in workers:
        if one["sources"] != wanted:
            other = f"stompcap {one['stompcap']} with numba {one['numba']}"
            found = f"{other} on {one['host']} is not what the driver has, stompcap {version()} with other kernels"
            return Check(name, False, found, f"install the same version there, or {SHIP}")
    missing = sorted({one["host"] for one in workers if not one["compiled"]})
    if missing:
        found = f"not compiled on {', '.join(missing)}, where each task compiles for a minute; there: stompcap prepare; or {SHIP}"
        return Check(name, True, found)
    hosts = sorted({one["host"] for one in workers})
    return Check(name, True, f"those of the driver, compiled on {', '.join(hosts)}")


def asked(spark: SparkSession) -> list[dict[str, Any]]:
    """What workers say of themselves, one for each host: Python, packages that are lacking, versions, whether kernels are compiled.

    The function sent is local: local functions are pickled whole, so it runs where stompcap is not installed.
    """
    needed = NEEDED

    def answer(batches: Any) -> Any:
        import importlib.util
        import platform
        import socket
        import sys

        import pyarrow as pa

        for _ in batches:
            said = {
                "host": socket.gethostname(), "python": f"Python {platform.python_version()} at {sys.executable}",
                "lacking": ", ".join(name for name in needed if importlib.util.find_spec(name) is None),
                "stompcap": "", "numba": "", "sources": "", "compiled": False,
            }  # fmt: skip
            if not said["lacking"]:
                import numba

                try:
                    from stompcap import kernel_cache
                    from stompcap.prepare import compiled
                    from stompcap.version import version

                    said |= {"sources": kernel_cache.name(), "compiled": compiled(), "stompcap": version(), "numba": numba.__version__}
                except ImportError:  # a version that has other modules
                    said["stompcap"] = "of another version"
            yield pa.RecordBatch.from_pylist([said])

    fields = "host STRING, python STRING, lacking STRING, stompcap STRING, numba STRING, sources STRING, compiled BOOLEAN"
    tasks = 1 if getattr(spark, "_jvm", None) is None else min(spark.sparkContext.defaultParallelism, MOST_TASKS)
    found = [row.asDict() for row in spark.range(0, tasks, 1, tasks).mapInArrow(answer, fields).collect()]
    return list({(one["host"], one["python"]): one for one in found}.values())
