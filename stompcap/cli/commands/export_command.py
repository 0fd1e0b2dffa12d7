"""`export`: the packets of one stream, copied from its captures to a capture file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.cli import common, streams
from stompcap.cli.progress import on_stderr
from stompcap.errors import UsageError
from stompcap.lake import tables as lakes
from stompcap.units import counted
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.options import Options

StreamId = Annotated[
    str,
    typer.Argument(metavar="STREAM_ID", help="The stream_id of any table, or enough first digits of it to be unique.", show_default=False),
]
Out = Annotated[
    str, typer.Option("-o", "--output", help="The file to write or replace; its extension may select pcapng.", show_default=False)
]
Original = Annotated[bool, typer.Option("--original", help="Write all bytes as they were captured, secrets and all.")]
CLOSED = ("tls", "http")
"""Protocols whose octets say nothing of STOMP's secrets."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    stream_id: StreamId,
    lake: common.Lake,
    output: Out,
    original: Original = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write the packets of one stream to a capture file that Wireshark opens; secrets are masked, and checksums stay right."""
    del verbose
    from stompcap.export import find, write

    common.demand_place(output)
    lakes.demand(lake)

    stream, captures = known(lake, stream_id)
    stream_id = stream["stream_id"]
    _demand_no_capture(output, [row["path"] for row in captures])
    with on_stderr(quiet or as_json) as progress:
        progress.begin("searching for the packets")
        files, found = find(stream, captures)
        progress.begin(f"writing {output}")
        kind = write(output, files, found, stream, None if original or stream["protocol"] in CLOSED else secrets_of(lake, stream))
    used = [files[rank].path for rank in found.numbers]
    count = sum(map(len, found.numbers.values()))
    if as_json:
        print(json.dumps({"stream_id": stream_id, "output": output, "format": kind, "packets": count, "captures": used}))
    elif not quiet:
        print(visible(f"{output}: {counted(count, 'packet')} from {', '.join(used)} ({kind})"))


def known(lake: str, stream_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a stream, by its id or the beginning of it, and those of the captures of its source; raises as `streams.stream`."""
    row = streams.stream(lake, stream_id)
    captures: list[dict[str, Any]] = lakes.small(lake, "captures", filters=[("source", "=", row["source"])]).to_pylist()
    return row, captures


def secrets_of(lake: str, stream: dict[str, Any]) -> Options:
    """The options by which the secrets of a stream are known: the defaults, and the settings of the batch that it came with."""
    from stompcap.lake.batch_options import from_json
    from stompcap.options import Options

    rows = lakes.small(lake, "batches", ["batch_id", "options"], filters=[("batch_id", "=", stream["batch_id"])]).to_pylist()
    return Options(settings=from_json(rows[0]["options"]).settings) if rows else Options()


def _demand_no_capture(output: str, paths: Sequence[str]) -> None:
    """Raise UsageError where the output would overwrite one of the captures."""
    for path in paths:
        with contextlib.suppress(OSError):
            if os.path.samefile(output, path):
                raise UsageError(f"{output}: is a capture of this lake; name another file with -o")
