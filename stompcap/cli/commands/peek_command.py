"""`peek`: the sessions of captures as dialogues, without a lake."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.capture_point_warnings import warnings
from stompcap.cli import common
from stompcap.cli.dialogue_options import Frames, Output, Sessions, Summary
from stompcap.cli.grouped import grouped
from stompcap.cli.inputs import demand_some
from stompcap.cli.packet_options import PACKETS, Packets
from stompcap.cli.printing import Enough, Printer, form_of
from stompcap.cli.stderr import to_stderr
from stompcap.errors import CaptureError, UsageError
from stompcap.units import size

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stompcap.cli.tracing import Trace
    from stompcap.options import Options

UNREADABLE = 4
MOST_KINDS = 10  # protocols, each on a port, that are told of
PIPE = "-"
PEEK_ALONE = "peek at one alone to see it as it was there"
Captures = Annotated[
    list[str], typer.Argument(metavar="CAPTURE...", help="Files, folders, globs or URIs; - reads a pipe as it comes.", show_default=False)
]
Traced = Annotated[
    str | None,
    typer.Option("--trace", metavar="ID", help="What each machine made of one connection, by its stream id, first digits of it, or an "
                 "endpoint ADDRESS:PORT; -c N rows of each, 100 by default.", show_default=False),
]  # fmt: skip
FRAMES, SESSIONS, OUTPUT = Frames(), Sessions(), Output()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(peek))


def peek(
    captures: Captures,
    trace: Traced = None,
    sessions: Sessions = SESSIONS,
    frames: Frames = FRAMES,
    summary: Summary = False,
    packets: Packets = PACKETS,
    settings: common.SettingsFile = None,
    output: Output = OUTPUT,
    verbose: common.Verbose = False,
) -> None:
    """Show the sessions of captures: frames, gaps, heart-beats and findings with times and packet numbers, then a summary of each.

    Nothing is written, and no Spark is needed. Several captures are one trace in order of time. For more than 64 MiB use run and show.
    """
    del verbose
    live = PIPE in captures
    if not live:
        demand_some(captures)
    from stompcap.cli.dialogue.selection import Selection, selection
    from stompcap.cli.dialogue.text import style_for

    form = form_of(output.form, as_json=output.as_json)
    in_zone = common.times_in(output.time_zone)
    options = common.options(common.Reading(**vars(packets)), settings=settings)
    wanted = selection(frames, sessions)
    if trace is not None:
        if live or wanted != Selection() or summary or form == "csv":
            raise UsageError("--trace shows one connection of files as text or JSON, and cannot be combined with - or what selects frames")
        with in_zone:
            refused = _traced(captures, trace, form, output, options, frames.count)
        raise SystemExit(UNREADABLE if refused else 0)
    if live and len(captures) > 1:
        raise UsageError("- reads a pipe and cannot be combined with other captures")
    style = style_for(absolute=output.absolute, every_header=output.headers, named=live, octets=output.octets)
    printer = Printer(form, style, wanted, frames.count, brief=summary)
    with in_zone:
        refused = _print_sessions(captures, printer, options, live=live)
    if refused:
        raise SystemExit(UNREADABLE)


def _print_sessions(captures: list[str], printer: Printer, options: Options, *, live: bool) -> int:
    """Print the sessions of a pipe or of files; how many of these could not be read."""
    try:
        if live:
            from stompcap.cli import following

            others = following.follow(sys.stdin.buffer, printer, options)
            printer.total()
            _tell_of_others(printer, others, options)
            return 0
        return _files(captures, printer, options)
    except Enough:  # of a pipe
        return 0


def _files(captures: list[str], printer: Printer, options: Options) -> int:
    """Print the sessions of files; how many of these could not be read."""
    if printer.form == "text":
        _announce(captures, printer)
    from stompcap.cli.dialogue.selection import Selection

    trace, refused = _read(captures, options)
    trace.with_raw = printer.writer.style.octets
    with suppress(Enough):
        for dialogue in trace.dialogues(options):
            printer.session(dialogue)
    printer.total()
    with suppress(Enough):
        _tell_of_others(printer, trace.others.values(), options)
    for line in (*trace.flaws, *(warnings(trace.points, PEEK_ALONE) if trace.shared else ())):
        to_stderr(line)
    if not printer.sessions and printer.selection != Selection():
        to_stderr("no session is selected")
    elif not printer.sessions and not refused:
        _tell_of_none(printer, trace)
    return refused


def _tell_of_none(printer: Printer, trace: Trace) -> None:
    """Say that no session was found, and what there is instead, as far as remarks have not said it."""
    from stompcap.unread import kinds

    instead = [] if printer.form == "text" else kinds(trace.others.values())[:MOST_KINDS]
    if trace.others and not instead:
        instead = ["the connections above speak other protocols"]
    to_stderr(": ".join(["no session of STOMP was found", *("; ".join(some) for some in [[*instead, *trace.lacking]] if some)]))


def _read(captures: list[str], options: Options) -> tuple[Trace, int]:
    """The packets of files, and how many of these could not be read."""
    from stompcap.capture.find import find
    from stompcap.cli import tracing

    refused: list[CaptureError] = []

    def refuse(error: CaptureError) -> None:
        refused.append(error)
        to_stderr(str(error))

    return tracing.read(find(captures, refuse), options, refuse), len(refused)


def _traced(captures: list[str], name: str, form: str, output: Output, options: Options, most: int | None) -> int:
    """Print what each machine made of a connection; how many of the files could not be read."""
    from stompcap.cli.dialogue.text import style_for
    from stompcap.cli.trace import connection, meaning, octets, writing

    trace, refused = _read(captures, options)
    found = connection.connection(trace, name, options)
    sections = [*octets.sections(found), *meaning.sections(found)]
    style = style_for(absolute=output.absolute, every_header=output.headers)
    writing.write(sections, form, style, most, found.row["first_ns"])
    return refused


def _tell_of_others(printer: Printer, streams: Collection[Mapping[str, Any]], options: Options) -> None:
    """Say what other protocols were spoken: on ports where STOMP is expected, and where there is no session, on any.

    Not where some sessions are selected.
    """
    from stompcap.cli.dialogue.selection import Selection
    from stompcap.unread import kinds

    if printer.selection != Selection():
        return
    for line in kinds(streams, options.ports if printer.sessions else None)[:MOST_KINDS]:
        printer.remark(line)


def _announce(captures: list[str], printer: Printer) -> None:
    """What is being read, before the machines are loaded."""
    for name in captures:
        if os.path.isfile(name):
            printer.remark(f"{name}: {size(os.path.getsize(name))}")
    printer.flush()
