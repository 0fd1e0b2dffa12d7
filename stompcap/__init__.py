r"""Batch analytics for captured STOMP traffic: packet captures to Delta tables, and answers from these.

Captures to a lake, as the command `stompcap run` does; again with new captures, it adds what is new:

    import stompcap
    result = stompcap.run(["captures/"], "lake")
    print(result.status, result.rows["sessions"])

Its tables, each a Delta table in a folder of the lake (docs/tables.md has all columns):

    captures, streams, raw_frames, segments      what was captured, every octet of it
    frames, sessions, subscriptions, sends,      what it meant
    deliveries, transactions, receipts
    journeys, destination_minutes, ack_latency,  how well it went
    heartbeats, compliance_findings, incidents

With Spark, and without:

    stompcap.read(spark, "lake", "delivery_details").where("not_settled").show()
    deltalake.DeltaTable("lake/sessions").to_pandas()["outcome"].value_counts()

Octets to frames, and captures to the streams of any protocol, without Spark and without a lake:

    for frame in stompcap.stomp.parse(b"SEND\ndestination:/queue/a\n\nhello\0"):
        print(frame.command, frame.header, frame.body)
    for connection in stompcap.tcp.reassemble("trace.pcap"):
        print(connection.client, connection.server, connection.c2s.length, connection.c2s.gaps)

A verdict on a client or a broker, from a capture or from octets with times, for tests:

    verdict = stompcap.check("trace.pcap", side="client")
    assert verdict.ok, verdict
    stompcap.Dialogue().client(b"CONNECT\n...", at=0.1).server(b"CONNECTED\n...", at=0.2).verdict().findings

How captures are read and judged is set by `Options`. What goes wrong is a `StompcapError`, whose text says what to do. `stompcap.spark` has
the Spark session, the data source "pcap" and column functions. On the command line, begin with `stompcap --help` and `stompcap doctor`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stompcap import kernels_of_wheel

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from pipelines.result import Result
    from stompcap import spark, stomp, tcp
    from stompcap.checking import Dialogue, Verdict
    from stompcap.errors import StompcapError
    from stompcap.options import Options

    __version__: str

kernels_of_wheel.choose()

_MODULES = ("spark", "stomp", "tcp")
_HOMES = {"Dialogue": "checking.dialogue", "Options": "options", "StompcapError": "errors"}


def __getattr__(name: str) -> Any:
    """What is looked up on access (PEP 562), so that `import stompcap` costs nothing."""
    if name in _MODULES:
        return import_module(f"stompcap.{name}")
    if name in _HOMES:
        return getattr(import_module(f"stompcap.{_HOMES[name]}"), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stompcap.version import version

    return version()


def run(captures: Sequence[str], lake: str, *, options: Options | None = None, spark: SparkSession | None = None) -> Result:
    """All stages of `stompcap run`: captures (files, folders, globs) to all tables of a lake; what the lake has is not done again.

    Uses the given session, the active one or a new one. Raises StompcapError; unreadable inputs are named in the result.
    """
    from stompcap import extras
    from stompcap.errors import EnvironmentProblem
    from stompcap.neighbour import hidden

    extras.demand(extras.SPARK, "stompcap.run")

    try:
        from pipelines.job import Job
        from pipelines.run import STAGES, execute
    except ImportError as error:
        raise EnvironmentProblem(why) if (why := hidden(error)) else error from error
    from stompcap.options import Options
    from stompcap.spark.session import LazySession, active, get_session

    existing = spark or active()  # the thread in which a new session is made has no active one
    session = LazySession(lambda: existing) if existing else LazySession(get_session)
    return execute(Job(session, lake, options or Options()), STAGES, captures)


def read(spark: SparkSession, lake: str, table: str) -> DataFrame:
    """A table or view of a lake as a DataFrame; StompcapError for an unknown one."""
    from stompcap.lake.tables import read

    return read(spark, lake, table)


def check(
    captures: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, side: str = "both", level: str = "MUST",
    known: str | None = None, options: Options | None = None, allow_empty: bool = False,
) -> Verdict:
    """The verdict of `stompcap check` on captures (files, folders, globs), without Spark: which rules they tried, passed and failed.

    `side` is client, server or both; `level` the mildest that counts: MUST, SHOULD or INFO; `known` the path of a baseline. Its `ok`
    is false where a finding counts, nothing was judged (unless `allow_empty`), or an input could not be read, which `refused` names.
    """
    from stompcap.checking import check

    return check(captures, side=side, level=level, known=known, options=options, allow_empty=allow_empty)


__all__ = ["Dialogue", "Options", "StompcapError", "__version__", "check", "read", "run", "spark", "stomp", "tcp"]
