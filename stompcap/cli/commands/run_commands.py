"""`run`, its stages as commands of their own, and the gates of `--fail-on`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap import logs
from stompcap.cli import common, incidents, render, streams
from stompcap.cli.entered import entered
from stompcap.cli.grouped import grouped
from stompcap.cli.inputs import demand_some
from stompcap.cli.moments import nanoseconds
from stompcap.cli.progress import on_stderr
from stompcap.cli.stderr import note, to_stderr
from stompcap.cli.summary import summary
from stompcap.errors import UsageError
from stompcap.options import Options, one_of
from stompcap.tables import words
from stompcap.tables.levels import SPELLED
from stompcap.units import count
from stompcap.visible import visible

if TYPE_CHECKING:
    from pipelines.job import Job
    from pipelines.recompute.reprocess import Wanted

Captures = Annotated[list[str], typer.Argument(metavar="CAPTURE...", help="Files, folders, globs or URIs.", show_default=False)]
Some = Annotated[
    list[str] | None,
    typer.Argument(metavar="CAPTURE...", help="Files, folders, globs or URIs; optional with --reprocess.", show_default=False),
]
RunFailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on", show_default=False,
        help="Exit with code 1 if checks of the lake fail, now or when last made (quality); if a connection that this run wrote broke a "
        "MUST rule (must), or a MUST or SHOULD rule (should); repeatable. Choices: quality, must, should.",
    ),
]  # fmt: skip
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help="Exit with code 1 if its checks fail, now or when last made. Choices: quality.", show_default=False),
]
Only = Annotated[
    list[str] | None, typer.Option("--only", help="One metric: ack_latency, heartbeats or compliance; repeatable.", show_default=False)
]
New = Annotated[bool, typer.Option("--new", help="Only if something is new, as run does; earlier failures still count.")]
METRICS = {
    "ack_latency": ("ack_latency",),
    "journeys": ("journeys", "destination_minutes"),
    "heartbeats": ("heartbeats", "heartbeat_violations"),
    "compliance": ("compliance", "compliance_findings", "compliance_summary", "rules"),
    "incidents": ("incidents",),
}
UNREADABLE, TRIPPED = 4, 1
GATES = ("quality",)
RUN_GATES = (*GATES, "must", "should")
READING, WHERE, VERBOSITY, AGAIN = common.Reading(), common.Where(), common.Verbosity(), common.Again()


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (run, extract, decode, correlate, metrics, validate):
        app.command()(grouped(command))


def run(
    lake: common.Lake,
    captures: Some = None,
    again: common.Again = AGAIN,
    reading: common.Reading = READING,
    body_preview: common.BodyPreview = Options.body_preview,
    keep_credentials: common.KeepCredentials = Options.keep_credentials,
    ack_scope: common.AckScope = Options.ack_scope,
    settings: common.SettingsFile = None,
    where: common.Where = WHERE,
    fail_on: RunFailOn = None,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Run all stages (extract, decode, correlate, metrics, validate) on what is new to the lake.

    With --reprocess, then compute connections that the lake has anew from their captures, and replace their rows.
    """
    if not captures and not again.reprocess:
        raise UsageError("Missing argument 'CAPTURE...' (see stompcap run --help)")
    options = common.options(
        reading, body_preview=body_preview, keep_credentials=keep_credentials, ack_scope=ack_scope, settings=settings
    )
    wanted = connections(again, lake, options.source)
    stages = ("extract", "decode", "correlate", "metrics", "validate")
    perform(stages, captures or (), lake, options, where, verbosity, fail_on, wanted=wanted)


def connections(again: common.Again, lake: str, source: str) -> Wanted | None:
    """Which connections are to be computed again; raises UsageError where the options do not say that, or name none of the source."""
    if not again.reprocess:
        for option, value in (("--stream", again.stream), ("--from", again.since), ("--to", again.until)):
            if value:
                raise UsageError(f"{option}: says which connections --reprocess computes again; add that")
        return None
    from stompcap.lake import tables as lakes

    lakes.demand(lake)
    from pipelines.recompute.reprocess import Wanted

    found = [streams.stream(lake, text) for text in again.stream or ()]
    for row in found:
        if row["source"] != source:
            raise UsageError(f"--stream {row['stream_id']}: is of source {visible(row['source'])}; add --source")
    since = None if again.since is None else nanoseconds("--from", again.since)
    until = None if again.until is None else nanoseconds("--to", again.until)
    return Wanted(tuple(row["stream_id"] for row in found), since, until)


def extract(
    captures: Captures,
    lake: common.Lake,
    reading: common.Reading = READING,
    keep_credentials: common.KeepCredentials = Options.keep_credentials,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Extract streams and raw frames from captures (bronze)."""
    perform(("extract",), captures, lake, common.options(reading, keep_credentials=keep_credentials), where, verbosity)


def decode(
    lake: common.Lake,
    body_preview: common.BodyPreview = Options.body_preview,
    keep_credentials: common.KeepCredentials = Options.keep_credentials,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Decode raw frames to frames; only what is new."""
    options = common.options(body_preview=body_preview, keep_credentials=keep_credentials)
    perform(("decode",), [], lake, options, where, verbosity)


def correlate(
    lake: common.Lake,
    ack_scope: common.AckScope = Options.ack_scope,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Correlate frames to sessions, subscriptions, deliveries, transactions and receipts; only what is new."""
    perform(("correlate",), [], lake, common.options(ack_scope=ack_scope), where, verbosity)


def metrics(
    lake: common.Lake,
    only: Only = None,
    ack_scope: common.AckScope = Options.ack_scope,
    settings: common.SettingsFile = None,
    where: common.Where = WHERE,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Compute ack latencies, heart-beats and compliance; only what is new."""
    for name in only or ():
        if name not in METRICS:
            raise UsageError(f"--only {name}: must be one of {', '.join(METRICS)}")
    tables = tuple(table for name in only or METRICS for table in METRICS[name])
    options = common.options(ack_scope=ack_scope, settings=settings)
    perform(("metrics",), [], lake, options, where, verbosity, metric_tables=tables)


def validate(
    lake: common.Lake,
    new: New = False,
    settings: common.SettingsFile = None,
    where: common.Where = WHERE,
    fail_on: FailOn = None,
    verbosity: common.Verbosity = VERBOSITY,
) -> None:
    """Check the whole lake against the expectations; results are in quality_results and in _data_docs/index.html of the lake."""
    perform(("validate",), [], lake, common.options(settings=settings), where, verbosity, fail_on, whole=not new)


def perform(
    stages: Sequence[str],
    captures: Sequence[str],
    lake: str,
    options: Options,
    where: common.Where,
    verbosity: common.Verbosity,
    fail_on: Sequence[str] | None = None,
    metric_tables: Sequence[str] | None = None,
    *,
    whole: bool = False,
    wanted: Wanted | None = None,
) -> None:
    """Run stages, print their results and end with the right code."""
    gates = RUN_GATES if len(stages) > 1 else GATES
    for gate in fail_on or ():
        if gate not in gates:
            raise UsageError(f"--fail-on {gate}: must be {one_of(gates)}")
    demand_some(captures)
    from stompcap.lake import open_tables
    from stompcap.lake import tables as lakes

    as_json, quiet = verbosity.as_json, verbosity.quiet
    summed = not (as_json or quiet or logs.structured())
    common.keep_replaced(where)
    session, began = common.session(where.master, where.conf), entered()
    if "extract" in stages and not lakes.exists(lake) and any(map(os.path.exists, captures)):
        session.begin()  # in parallel with the imports that follow: everything is new to a lake that does not exist yet
    from pipelines.job import Job
    from pipelines.run import execute
    from stompcap.prepare import compiled

    if "extract" in stages and not quiet and not as_json and not compiled():
        note("compiling the kernels first, which takes a minute; stompcap prepare does it ahead")
    # spark-submit mixes standard error into standard output, where --json promises a single object
    with on_stderr(quiet or (as_json and not sys.stderr.isatty())) as progress, open_tables.keep_open(lake):
        job = Job(session, lake, options, progress, began)
        result = execute(job, stages, captures, metric_tables, whole=whole, wait_s=where.wait, wanted=wanted)
        broken, listed = _findings(job, fail_on or ())
        readable = any(capture["status"] != words.UNREADABLE for capture in result.captures)
        found, happened = None, None
        if readable and summed and "metrics" in stages:
            from stompcap.report import overview

            progress.begin("summing up")
            found = overview(lake, session)
            happened = incidents.read(lake, session, incidents.READ)
            job.result.lap("summary")
    outcome = result.public()
    if broken is not None:
        outcome |= {"finding_counts": broken, "findings": listed}
    if as_json:
        print(json.dumps(outcome))
    elif summed:
        render.show(summary(outcome | {"overview": found, "incidents": happened} if found is not None else outcome))
    for line in dict.fromkeys([*result.refused, *result.warnings]) if logs.structured() else result.refused:
        to_stderr(line)
    if broken and not as_json:
        counts = ", ".join(f"{SPELLED[level]} {count(number)}" for level, number in broken.items())
        to_stderr(f"connections that this run wrote broke rules: {counts}; --json lists the findings, as does table compliance_findings")
    if result.refused:
        raise SystemExit(UNREADABLE)
    if broken or ("quality" in (fail_on or ()) and result.failed_expectations):
        raise SystemExit(TRIPPED)


def _findings(job: Job, fail_on: Sequence[str]) -> tuple[dict[str, int] | None, list[dict[str, Any]]]:
    """The findings by which the gates must and should go: their numbers by level, and the first; None where neither is asked for."""
    from pipelines.run_findings import GATES as LEVELS_OF
    from pipelines.run_findings import findings

    levels = sorted({level for gate in fail_on for level in LEVELS_OF.get(gate, ())})
    return findings(job.lake, set(job.result.batches), levels, job.spark) if levels else (None, [])
