"""`export`: the packets of streams, copied from their captures to a capture file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from stompcap.cli import common, streams
from stompcap.cli.export_options import Form, Which
from stompcap.cli.grouped import grouped
from stompcap.cli.progress import on_stderr
from stompcap.errors import UsageError
from stompcap.units import counted
from stompcap.visible import visible

StreamIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="STREAM_ID", help="The stream_id of any table, or enough first digits of it to be unique.",
                   show_default=False),
]  # fmt: skip
Out = Annotated[
    str, typer.Option("-o", "--output", help="The file to write or replace; its extension may select pcapng.", show_default=False)
]
WHICH, FORM = Which(), Form()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(export))


def export(
    lake: common.Lake,
    output: Out,
    stream_ids: StreamIds = None,
    which: Which = WHICH,
    form: Form = FORM,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write the packets of streams to a capture file that Wireshark opens; secrets are masked, and checksums stay right.

    With --inner, what they carry inside WebSocket or TLS as plain TCP; with --anonymise, what one may send on; with --comments, what
    stompcap found, beside the packets.
    """
    del verbose
    from stompcap.cli import exporting
    from stompcap.lake import tables as lakes

    if form.original and (form.inner or form.anonymise):
        raise UsageError(f"--original and {'--inner' if form.inner else '--anonymise'} exclude each other: say one of them")
    common.demand_place(output)
    lakes.demand(lake)
    wanted = [known(lake, one) for one in exporting.named(lake, stream_ids or (), which.incident, which.around)]
    if not wanted:
        raise UsageError("no stream is named: give a STREAM_ID, --around or --incident")
    within = exporting.around(lake, which.around, which.seconds) if which.around else None
    for _, captures in wanted:
        demand_no_capture(output, [row["path"] for row in captures])
    incident = exporting.of_incident(lake, which.incident) if which.incident and form.comments else None
    with on_stderr(quiet or as_json) as progress:
        done = exporting.Exporting(lake, output, form, progress).write(wanted, within, incident)
    ids = [stream["stream_id"] for stream, _ in wanted]
    if as_json:
        one = {"stream_id": ids[0]} if len(ids) == 1 else {"streams": ids}
        told = {"format": done.format, "packets": done.packets, "captures": done.captures}
        print(json.dumps({**one, "output": output, **told, **({} if done.comments is None else {"comments": done.comments})}))
    elif not quiet:
        origin = f" from {', '.join(done.captures)}" if done.captures else " made of the rows of raw_frames"
        origin = origin if len(ids) == 1 else f" of {len(ids)} streams{origin}"
        comments = "" if done.comments is None else f", {counted(done.comments, 'comment')}"
        print(visible(f"{output}: {counted(done.packets, 'packet')}{origin} ({done.format}{comments})"))
        if form.anonymise:
            print(visible(f"{output}.names.csv: which name stands for which; it is for you alone"))


def known(lake: str, stream_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a stream, by its id or the beginning of it, and those of the captures of its source; raises as `streams.stream`."""
    from stompcap.lake import tables as lakes

    row = streams.stream(lake, stream_id)
    captures: list[dict[str, Any]] = lakes.small(lake, "captures", filters=[("source", "=", row["source"])]).to_pylist()
    return row, captures


def demand_no_capture(output: str, paths: Sequence[str]) -> None:
    """Raise UsageError where the output would overwrite one of the captures."""
    for path in paths:
        with contextlib.suppress(OSError):
            if os.path.samefile(output, path):
                raise UsageError(f"{output}: is a capture of this lake; name another file with -o")
