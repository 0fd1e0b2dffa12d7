"""Batch analytics for captured STOMP traffic.

    import stompcap
    stompcap.run(["captures/"], "lake")
    frames = stompcap.read(spark, "lake", "frames")

`stompcap.stomp` parses octets, `stompcap.tcp` reassembles any protocol's streams; both without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from pipelines.result import Result
    from stompcap.options import Options

    __version__: str


def __getattr__(name: str) -> str:
    """`__version__` (PEP 562), looked up on access."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stompcap.version import version

    return version()


def run(captures: Sequence[str], lake: str, *, options: Options | None = None, spark: SparkSession | None = None) -> Result:
    """All stages of `stompcap run`: captures (files, folders, globs) to all tables of a lake; what the lake has is not done again.

    Uses the given session, the active one or a new one. Raises StompcapError; unreadable inputs are named in the result.
    """
    from pipelines.run import STAGES, Run, execute
    from stompcap.options import Options
    from stompcap.spark.session import LazySession, active, get_session

    given = spark or active()  # the thread in which a new session is made has no active one
    session = LazySession(lambda: given) if given else LazySession(get_session)
    return execute(Run(session, lake, options or Options()), STAGES, captures)


def read(spark: SparkSession, lake: str, table: str) -> DataFrame:
    """A table or view of a lake as a DataFrame; KeyError for an unknown one."""
    from stompcap.spark.lake import read

    return read(spark, lake, table)


__all__ = ["__version__", "read", "run"]
