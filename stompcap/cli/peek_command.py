"""`peek`: the sessions of captures as dialogues, without a lake."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from stompcap.cli import common
from stompcap.cli.printing import Enough, Printer, form_of
from stompcap.cli.stderr import to_stderr
from stompcap.errors import CaptureError, UsageError
from stompcap.units import size

UNREADABLE = 4
PIPE = "-"
Captures = Annotated[
    list[str], typer.Argument(metavar="CAPTURE...", help="Files, folders, globs or URIs; - reads a pipe as it comes.", show_default=False)
]
Commands = Annotated[
    list[str] | None, typer.Option("--command", metavar="NAME", help="Only frames of this command; repeatable.", show_default=False)
]
Destinations = Annotated[
    list[str] | None, typer.Option("--destination", metavar="NAME", help="Only frames with this destination; repeatable.", show_default=False)
]
Streams = Annotated[
    list[str] | None, typer.Option("--stream", metavar="ID", help="Only the stream with this id or its first digits; repeatable.", show_default=False)
]
Rules = Annotated[
    list[str] | None, typer.Option("--rule", metavar="ID", help="Only frames with a finding of this rule; repeatable.", show_default=False)
]
Most = Annotated[int | None, typer.Option("-c", "--count", min=1, metavar="N", help="Stop after N frames.", show_default=False)]
Absolute = Annotated[bool, typer.Option("--absolute", help="UTC times instead of seconds since the session's first packet.")]
Headers = Annotated[bool, typer.Option("--headers", help="All headers of each frame; lines are not cut.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Form = Annotated[str, typer.Option("--format", help="Output format: text, csv, json.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(peek)


def peek(
    captures: Captures,
    command: Commands = None,
    destination: Destinations = None,
    stream: Streams = None,
    rule: Rules = None,
    count: Most = None,
    absolute: Absolute = False,
    headers: Headers = False,
    ports: common.Ports = "",
    all_ports: common.AllPorts = False,
    vlan: common.Vlan = False,
    tunnels: common.Tunnels = True,
    settings: common.SettingsFile = None,
    form: Form = "text",
    as_json: Json = False,
    verbose: common.Verbose = False,
) -> None:
    """Show the sessions of captures: frames, gaps, heart-beats and findings with times and packet numbers, then a summary of each.

    Nothing is written, and no Spark is needed. Several captures are one trace in order of time. For more than 64 MiB use run and show.
    """
    del verbose
    from stompcap.cli.dialogue.selection import selection
    from stompcap.cli.dialogue.text import style_for

    form = form_of(form, as_json=as_json)
    reading = common.Reading(ports=ports, all_ports=all_ports, vlan=vlan, tunnels=tunnels)
    options = common.options(reading, settings=settings)
    wanted = selection(command, destination, stream, rule)
    live = PIPE in captures
    if live and len(captures) > 1:
        raise UsageError("- reads a pipe and cannot be combined with other captures")
    printer = Printer(form, style_for(absolute=absolute, every_header=headers, named=live), wanted, count)
    try:
        if live:
            from stompcap.cli import following

            following.follow(sys.stdin.buffer, printer, options)
            return
        refused = _files(captures, printer, options)
    except Enough:
        return
    if refused:
        raise SystemExit(UNREADABLE)


def _files(captures: list[str], printer: Printer, options: common.Options) -> int:
    """Print the sessions of files; how many of these could not be read."""
    if printer.form == "text":
        _announce(captures, printer)
    from stompcap.capture.find import find
    from stompcap.cli import tracing

    refused: list[CaptureError] = []

    def refuse(error: CaptureError) -> None:
        refused.append(error)
        to_stderr(str(error))

    trace = tracing.read(find(captures, refuse), options, refuse)
    for dialogue in trace.dialogues(options):
        printer.session(dialogue)
    if not printer.sessions and not refused:
        to_stderr(f"no session {'is selected' if printer.selection != type(printer.selection)() else 'of STOMP was found'}")
    return len(refused)


def _announce(captures: list[str], printer: Printer) -> None:
    """What is being read, before the machines are loaded."""
    for name in captures:
        if os.path.isfile(name):
            printer.remark(f"{name}: {size(os.path.getsize(name))}")
    printer.flush()
