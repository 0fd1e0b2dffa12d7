"""`check`: a verdict on captures, for the continuous integration of a client or a broker."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stompcap.cli import common
from stompcap.cli.grouped import grouped
from stompcap.cli.inputs import demand_some
from stompcap.cli.packet_options import PACKETS, Packets
from stompcap.cli.stderr import to_stderr
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.options import one_of

NEW, NOTHING = 1, 4
TEXT = "text"
Traces = Annotated[list[str], typer.Argument(metavar="TRACE...", help="Captures: files, folders, globs or URIs.", show_default=False)]
Side = Annotated[str, typer.Option("--side", help="Whose rules are judged: client, server or both.")]
Level = Annotated[str, typer.Option("--level", help="The mildest level at which a finding counts: MUST, SHOULD or INFO.")]
BaselineFile = Annotated[
    str | None,
    typer.Option("--baseline", metavar="FILE", help="An earlier check's JSON: findings that it has do not count.", show_default=False),
]
Format = Annotated[str, typer.Option("--format", help="text, json, junit, sarif, github (annotations) or md.")]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="OUT", help="Write to this file, and a line on standard output.", show_default=False)
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Exit with 0, not 4, where nothing could be judged.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(check))


def check(
    traces: Traces,
    side: Side = "both",
    level: Level = "MUST",
    baseline: BaselineFile = None,
    form: Format = TEXT,
    output: Output = None,
    allow_empty: AllowEmpty = False,
    packets: Packets = PACKETS,
    settings: common.SettingsFile = None,
    verbose: common.Verbose = False,
) -> None:
    """Judge a client or a broker by its traffic: which rules of the catalogue it passed, failed, or never tried; for a CI.

    Without a lake, a JVM or Spark. Exit code 1 where a finding counts; 4 where nothing was judged or an input could not be read. For
    more than 64 MiB use run and report.
    """
    del verbose
    if form == TEXT and output is None:  # another form, or a file, is for a program that expects it
        demand_some(traces)
    from stompcap.checking import check as judge
    from stompcap.checking.formats import FORMATS, written

    if form not in FORMATS:
        raise UsageError(f"--format {form}: must be {one_of(tuple(FORMATS))}")
    if output is not None:
        common.demand_place(output)
    options = common.options(common.Reading(**vars(packets)), settings=settings)
    verdict = judge(traces, side=side, level=level, known=baseline, options=options, allow_empty=allow_empty)
    for line in verdict.refused:
        to_stderr(line)
    if output is None:
        sys.stdout.write(written(verdict, form, colours=_coloured()))
    else:
        _write(output, written(verdict, form))
        print(f"check {verdict.conclusion}")
    if not verdict.ok:
        raise SystemExit(NEW if verdict.new else NOTHING)


def _coloured() -> bool:
    """Whether standard output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(output: str, text: str) -> None:
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{output}: cannot be written ({error.strerror}); name another file with -o") from error
