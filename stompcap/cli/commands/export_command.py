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
Inner = Annotated[
    bool,
    typer.Option("--inner", help="Write what the stream carries as plain TCP, as the tables have it: a packet a frame, secrets masked."),
]
CLOSED = ("tls", "http")
"""Protocols whose octets say nothing of STOMP's secrets."""

IN_CLEAR = ("websocket", "sockjs")
"""Carriers of STOMP whose octets can be read by anyone, and cannot be masked where they are."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    stream_id: StreamId,
    lake: common.Lake,
    output: Out,
    original: Original = False,
    inner: Inner = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write the packets of one stream to a capture file that Wireshark opens; secrets are masked, and checksums stay right.

    With --inner, what it carries inside WebSocket or TLS as plain TCP.
    """
    del verbose
    from stompcap.export import find, write

    if original and inner:
        raise UsageError("--original and --inner exclude each other: say one of them")
    common.demand_place(output)
    lakes.demand(lake)

    stream, captures = known(lake, stream_id)
    stream_id = stream["stream_id"]
    _demand_no_capture(output, [row["path"] for row in captures])
    if inner:
        count = _write_inner(lake, stream, output)
        if as_json:
            print(json.dumps({"stream_id": stream_id, "output": output, "format": "pcap", "packets": count, "captures": []}))
        elif not quiet:
            print(visible(f"{output}: {counted(count, 'packet')} made of the rows of raw_frames (pcap)"))
        return
    if stream["transport"] in IN_CLEAR and not original:
        raise UsageError(
            f"{stream_id}: its bytes are inside {stream['transport']}, where secrets cannot be masked; "
            "add --inner to have what it carries as plain TCP, masked, or --original to have its packets, secrets and all"
        )
    with on_stderr(quiet or as_json) as progress:
        progress.begin("searching for the packets")
        files, found = find(stream, captures)
        progress.begin(f"writing {output}")
        kind = write(output, files, found, stream, None if original or _sealed(stream) else secrets_of(lake, stream))
    used = [files[rank].path for rank in found.numbers]
    count = sum(map(len, found.numbers.values()))
    if as_json:
        print(json.dumps({"stream_id": stream_id, "output": output, "format": kind, "packets": count, "captures": used}))
    elif not quiet:
        print(visible(f"{output}: {counted(count, 'packet')} from {', '.join(used)} ({kind})"))


def _sealed(stream: dict[str, Any]) -> bool:
    """Whether its packets show no secret of STOMP in clear: it speaks another protocol, or all that it says is encrypted."""
    return stream["protocol"] in CLOSED or stream["transport"] in ("tls", "wss")


def _write_inner(lake: str, stream: dict[str, Any], output: str) -> int:
    """Write what the tables have of a stream that speaks STOMP; gives how many packets."""
    from stompcap.export import write_inner
    from stompcap.export.inner import ROWS
    from stompcap.lake import query

    if stream["protocol"] != "stomp":
        raise UsageError(f"{stream['stream_id']}: shows no STOMP, so that no table has its bytes; --inner is for streams that do")
    with query.opened({"raw_frames": query.whole(lake, "raw_frames")}) as database:
        found = database.execute(
            f"SELECT {', '.join(ROWS)} FROM raw_frames WHERE stream_id = ? ORDER BY wire_order NULLS LAST, direction, stream_offset",  # noqa: S608
            [stream["stream_id"]],
        )
        return write_inner(output, stream, found.to_arrow_reader(10_000))


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
