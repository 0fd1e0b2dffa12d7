"""`export`: the packets of one stream, copied from its captures to a capture file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.cli import common, streams
from stompcap.cli.progress import shown
from stompcap.errors import CaptureError, EnvironmentProblem, UsageError
from stompcap.lake import tables as lakes
from stompcap.units import LAST_S
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.assembly.packets import Kept, Packets
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
END_NS = LAST_S * 1_000_000_000


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
    common.demand_place(output)
    lakes.demand(lake)
    stream, captures = known(lake, stream_id)
    stream_id = stream["stream_id"]
    _spare(output, [row["path"] for row in captures])
    with shown(quiet or as_json) as progress:
        progress.begin("searching for the packets")
        chosen, found = find(stream, captures)
        progress.begin(f"writing {output}")
        kind = write(output, chosen, found, stream, None if original or stream["protocol"] in CLOSED else recorded(lake, stream))
    used = [chosen[rank].path for rank in found.numbers]
    count = sum(map(len, found.numbers.values()))
    if as_json:
        print(json.dumps({"stream_id": stream_id, "output": output, "format": kind, "packets": count, "captures": used}))
    elif not quiet:
        print(visible(f"{output}: {count} packet{'s' if count != 1 else ''} from {', '.join(used)} ({kind})"))


def known(lake: str, stream_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a stream, by its id or the beginning of it, and those of the captures of its source; raises as `streams.stream`."""
    row = streams.stream(lake, stream_id)
    captures: list[dict[str, Any]] = lakes.small(lake, "captures", filters=[("source", "=", row["source"])]).to_pylist()
    return row, captures


def kept(rows: Sequence[dict[str, Any]], wanted: Sequence[dict[str, Any]]) -> list[Kept]:
    """Some rows of table captures as files to read, in wire order; `rows` are all, as one capture may continue another."""
    from pipelines.ingest.ledger import timed
    from stompcap.assembly.packets import Kept
    from stompcap.capture.rotation import ranked

    by_id = {row["capture_id"]: row for row in rows}

    def before(row: Mapping[str, Any]) -> int:
        earlier = by_id.get(row["continues"])
        return earlier["packets"] + before(earlier) if earlier else 0

    found, ids = ranked(timed(row) for row in rows), {row["capture_id"] for row in wanted}
    return [
        Kept(row["path"], row["used_octets"], row["used_sha256"], row["compression"] is not None, before(row), clock)
        for row, clock in zip(found.rows, found.clocks, strict=True) if row["capture_id"] in ids
    ]


def recorded(lake: str, stream: dict[str, Any]) -> Options:
    """The options by which the secrets of a stream are known: the defaults, and the settings of the batch that it came with."""
    from pipelines.ingest.unfinished import from_json
    from stompcap.options import Options

    rows = lakes.small(lake, "batches", ["batch_id", "options"], filters=[("batch_id", "=", stream["batch_id"])]).to_pylist()
    return Options(settings=from_json(rows[0]["options"]).settings) if rows else Options()


def find(stream: dict[str, Any], rows: Sequence[dict[str, Any]]) -> tuple[list[Kept], Packets]:
    """The captures that contain a stream, and its packets there.

    The captures of its batch and its time are read first. Raises CaptureError where a file is gone or changed, or none has the stream.
    """
    from stompcap.assembly.packets import packets_of

    some = [row for row in rows if row["packets"]]
    batch = [row for row in some if row["batch_id"] == stream["batch_id"]]
    first, last = stream["first_ns"] or 0, stream["last_ns"] or 0
    near = [row for row in batch if (row["first_ns"] or 0) <= last and (row["last_ns"] or 0) >= first]
    tried: list[list[Kept]] = []
    checked: set[Kept] = set()
    for wanted in (near, batch, some):
        files = kept(rows, wanted)
        if files in tried:
            continue
        tried.append(files)
        for file in files:
            if file not in checked:
                file.check()
                checked.add(file)
        for tunnels in (True, False):
            found = packets_of(stream, files, tunnels=tunnels)
            if found is not None:
                return files, found
    names = ", ".join(sorted({file.path for files in tried for file in files})) or "none"
    remedy = f"was not found in the captures of its source ({names}); run them into a new lake"
    raise CaptureError(stream["stream_id"], remedy)


def _spare(output: str, paths: Sequence[str]) -> None:
    """Raise UsageError where the output would overwrite one of the captures."""
    for path in paths:
        with contextlib.suppress(OSError):
            if os.path.samefile(output, path):
                raise UsageError(f"{output}is a capture of this lake; name another file with -o")


def write(output: str, captures: Sequence[Kept], found: Packets, stream: dict[str, Any], options: Options | None = None) -> str:
    """Write the packets, their secrets masked by these options if any; returns the format.

    The file appears when it is complete. Raises EnvironmentProblem where it cannot be written.
    """
    from stompcap.assembly.masked_packets import mask_packets
    from stompcap.assembly.packets import records_of
    from stompcap.capture.writing import Writer

    fits = (stream["first_ns"] or 0) >= 0 and (stream["last_ns"] or 0) < END_NS
    pcap = fits and len(found.links) == 1 and not output.lower().endswith(".pcapng")
    part = f"{output}.part"
    with _writable(output, part):
        with open(part, "wb") as file:
            writer = Writer(file, min(found.links) if pcap else None)
            for rank, numbers in found.numbers.items():
                for records, rows in records_of(captures[rank], numbers):
                    writer.write(records, rows, os.path.basename(captures[rank].path))
        if options is not None:
            mask_packets(part, stream["source"], options, tunnels=found.tunnels)
        os.replace(part, output)
    return "pcap" if pcap else "pcapng"


@contextlib.contextmanager
def _writable(output: str, part: str) -> Iterator[None]:
    """Removes an incomplete file, and turns the system's error into one line."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(f"{output}: cannot be written ({error.strerror}); make room or name another file with -o") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
