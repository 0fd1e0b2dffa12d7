"""What a task wrote, as rows that travel back to the driver: the files by table, and what it could not read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.lake.paths import DataFile
from stompcap.tasks.failures import FAILURES, Failures

if TYPE_CHECKING:
    from collections import Counter

    from pyspark.sql import Row

SHARED = "shared"  # the column that reports packets of two capture points
AGAIN = "again"  # that of open streams that were computed again
MANIFEST = f"table STRING, path STRING, size BIGINT, rows BIGINT, statistics STRING, {FAILURES} STRING, {SHARED} STRING, {AGAIN} STRING"
_FILE = [("table", pa.string()), ("path", pa.string()), ("size", pa.int64()), ("rows", pa.int64()), ("statistics", pa.string())]
_ARROW = pa.schema([*_FILE, (FAILURES, pa.string()), (SHARED, pa.string()), (AGAIN, pa.string())])


def as_manifest(
    files: Iterable[DataFile], failures: Failures | None = None, shared: Counter[tuple[int, int]] | None = None, again: Iterable[str] = ()
) -> pa.RecordBatch:
    """What a task wrote as rows of MANIFEST, the captures that it could not read, and how many packets captures of two points share.

    `again` are the ids of open streams that it computed again.
    """
    reports = [{FAILURES: failures.to_json()}] if failures else []
    reports += [{SHARED: json.dumps([[*ranks, packets] for ranks, packets in shared.items()])}] if shared else []
    reports += [{AGAIN: stream} for stream in again]
    return pa.RecordBatch.from_pylist([*(vars(file) for file in files), *reports], schema=_ARROW)


def collected(manifest: Iterable[Row]) -> list[DataFile]:
    """The driver's view of what tasks wrote: rows of MANIFEST as data files."""
    return [DataFile(row["table"], row["path"], row["size"], row["rows"], row["statistics"]) for row in manifest if row["path"]]


def shared(manifest: Iterable[Row]) -> dict[tuple[int, int], int]:
    """How many packets captures of two points share, by their ranks, first that of the capture that gives the rows."""
    found: dict[tuple[int, int], int] = {}
    for row in manifest:
        for before, behind, packets in json.loads(row[SHARED] or "[]"):
            found[before, behind] = found.get((before, behind), 0) + packets
    return found


def computed_again(manifest: Iterable[Row]) -> pa.Array:
    """The ids of open streams that were computed again."""
    return pa.array([row[AGAIN] for row in manifest if row[AGAIN]], pa.string())


def failed(manifest: Iterable[Row]) -> Failures:
    """The captures that tasks could not read."""
    failures = Failures()
    failures.add_json(row[FAILURES] for row in manifest)
    return failures
