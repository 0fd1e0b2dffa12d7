"""The captures of a lake that contain a stream, and its packets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stompcap.capture.ranking import ranked
from stompcap.errors import CaptureError
from stompcap.export.packets import CaptureFile, Packets, packets_of
from stompcap.tables.unknown_times import capture_with_zero

Row = Mapping[str, Any]


def find(stream: Row, captures: Sequence[Row]) -> tuple[list[CaptureFile], Packets]:
    """The files that contain a stream, a row of table streams, and its packets there, by the index of the file.

    `captures` are the rows of table captures of its source. Those of the stream's batch and time are read first. Raises CaptureError where
    a file is gone or changed, or none has the stream.
    """
    filled = [row for row in captures if row["packets"]]
    of_batch = [row for row in filled if row["batch_id"] == stream["batch_id"]]
    first, last = stream["first_ns"] or 0, stream["last_ns"] or 0
    near = [row for row in of_batch if (row["first_ns"] or 0) <= last and (row["last_ns"] or 0) >= first]
    tried: list[list[CaptureFile]] = []
    checked: set[CaptureFile] = set()
    for wanted in (near, of_batch, filled):
        files = capture_files(captures, wanted)
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


def capture_files(captures: Sequence[Row], wanted: Sequence[Row]) -> list[CaptureFile]:
    """The wanted ones of captures, rows of table captures, as files to read, in wire order.

    `captures` are all of the source, as one may continue another, and their clocks are told apart by all of them.
    """
    by_id = {row["capture_id"]: row for row in captures}

    def packets_before(row: Row) -> int:
        earlier = by_id.get(row["continues"])
        return earlier["packets"] + packets_before(earlier) if earlier else 0

    found, ids = ranked(capture_with_zero(row) for row in captures), {row["capture_id"] for row in wanted}
    return [
        CaptureFile(row["path"], row["used_octets"], row["used_sha256"], row["compression"] is not None, packets_before(row), clock)
        for row, clock in zip(found.rows, found.clocks, strict=True) if row["capture_id"] in ids
    ]
