"""`watch`: what rotates into folders is taken in round by round, in one session, until a signal ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.cli import common, incident_command, incidents, signals
from stompcap.cli.grouped import grouped
from stompcap.cli.incident_command import words_of
from stompcap.cli.progress import on_stderr
from stompcap.cli.rounds import COUNTED, Rounds
from stompcap.cli.stderr import note, to_stderr
from stompcap.errors import CaptureError, UsageError
from stompcap.options import Options
from stompcap.visible import visible

if TYPE_CHECKING:
    from pipelines.result import Result

Folders = Annotated[list[str], typer.Argument(metavar="FOLDER...", help="Folders, globs, URIs, or growing files.", show_default=False)]
Every = Annotated[str, typer.Option("--every", help="How far apart rounds begin (10s, 5min), and how long a file stands still to be read.")]
Metrics = Annotated[
    str | None,
    typer.Option("--metrics", metavar="[HOST:]PORT", help="Answer Prometheus there, at /metrics. HOST: this machine alone."),
]
Exec = Annotated[
    str | None,
    typer.Option("--exec", metavar="COMMAND", show_default=False,
                 help="Run this program for each incident that begins or ends, with the incident as JSON on its standard input."),
]  # fmt: skip
READING, WHERE, VERBOSITY = common.Reading(), common.Where(), common.Verbosity()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(watch))


def watch(
    folders: Folders,
    lake: common.Lake,
    every: Every = "60s",
    metrics: Metrics = None,
    run: Exec = None,
    reading: common.Reading = READING,
    body_preview: common.BodyPreview = Options.body_preview,
    keep_credentials: common.KeepCredentials = Options.keep_credentials,
    ack_scope: common.AckScope = Options.ack_scope,
    settings: common.SettingsFile = None,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Run all stages on what rotates into folders, round by round, until Ctrl-C or SIGTERM; the lake is free between rounds."""
    options = common.options(
        reading, body_preview=body_preview, keep_credentials=keep_credentials, ack_scope=ack_scope, settings=settings
    )
    every_s = common.seconds("--every", every)
    _demand(folders)
    tells = words_of(run) if run is not None else None
    _endless(folders, lake, options, every_s, _place(metrics), where, verbosity, tells)


def _place(metrics: str | None) -> tuple[str, int] | None:
    """Host and port of --metrics; raises UsageError."""
    if metrics is None:
        return None
    host, _, port = metrics.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--metrics {visible(metrics, 40)}: must be a port from 1 to 65535, or HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _demand(folders: Sequence[str]) -> None:
    """Raise CaptureError for a name that nothing has: a folder may be empty, but a mistyped one would be watched in vain."""
    from stompcap.capture import uris
    from stompcap.capture.find import WILD

    for name in folders:
        if not uris.is_uri(name) and not os.path.lexists(uris.local(name)) and not any(mark in name for mark in WILD):
            raise CaptureError(name, "no such folder or file; check the name")


def _endless(
    folders: Sequence[str], lake: str, options: Options, every_s: int, metrics: tuple[str, int] | None, where: common.Where,
    verbosity: common.Verbosity, tells: list[str] | None,
) -> None:
    """Start the session, then do round after round; `tells` is the program that is told of incidents."""
    from stompcap.lake import tables as lakes

    common.keep_replaced(where)
    from pipelines.watching.exporter import Exporter, serve

    exporter = Exporter(lake) if metrics else None
    if exporter and metrics:
        serve(exporter, *metrics)
    session = common.session(where.master, where.conf)
    session.begin()  # in parallel with the imports that follow
    from pipelines.incidents.pace import Pace
    from pipelines.job import Job
    from pipelines.run import execute
    from pipelines.watching.incident_news import IncidentNews
    from pipelines.watching.rotating import Rotating
    from pipelines.watching.watch import Watch
    from stompcap.prepare import compiled
    from stompcap.spark.session import lost

    lakes.create(lake)
    if exporter:
        exporter.update()
    if not verbosity.quiet and not compiled():
        note("compiling the kernels first, which takes a minute; stompcap prepare does it ahead")
    spark, tell, news = session(), Rounds(verbosity), IncidentNews(incidents.every(lake))
    pace = Pace()

    def work(paths: Sequence[str], stages: Sequence[str]) -> Result:
        tell.begin()
        with on_stderr(_steps_are_hidden(verbosity)) as progress:
            job = Job(session, lake, options, progress, uninterrupted=signals.put_off, pace=pace)
            try:
                before = counted(lake)
                result = execute(job, stages, paths, wait_s=where.wait or every_s)
                if exporter:
                    exporter.update()
                tell.new = {table: max(0, rows - before[table]) for table, rows in counted(lake).items()}
                tell.happened += news.of(incidents.every(lake))
                if tells is not None:
                    for wrong in filter(None, (incident_command.tell(tells, state, row) for state, row in tell.happened)):
                        to_stderr(wrong)
                return result
            except Exception:
                signals.raise_if_interrupted()
                raise

    watched = Watch(Rotating(folders, every_s), work, tell, every_s, lost=lambda: lost(spark), waiting=signals.expected)
    try:
        watched.forever()
    finally:
        tell.end()


def counted(lake: str) -> dict[str, int]:
    """How many rows the tables have that a round's line counts, by their logs."""
    from stompcap.lake.query import all_files

    return {table: all_files(lake, table).rows for table in COUNTED}


def _steps_are_hidden(verbosity: common.Verbosity) -> bool:
    """Whether the steps of a round are not shown: off a terminal they would fill a journal, and are printed with --verbose only."""
    terminal = sys.stderr.isatty()
    return verbosity.quiet or (not terminal and (verbosity.as_json or not verbosity.verbose))
