"""Batches that a run began and did not finish: table batches has each before its first commit, so that a later run can finish it.

Each table is committed by itself. A run that is killed between two commits leaves a batch that some tables have and others lack. The
next run finishes exactly that batch first: the same octets of the same files, with the options of the run that was killed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.ingest import ledger
from pipelines.ingest.survey import beginnings
from stompcap.capture import Survey, uris
from stompcap.errors import CaptureError
from stompcap.lake import tables as lakes
from stompcap.lake.batch_options import as_json, from_json
from stompcap.lake.commits import half_brought, take_back
from stompcap.lake.paths import open_files
from stompcap.spark.workers.survey import examined
from stompcap.tables import TABLES
from stompcap.version import version

if TYPE_CHECKING:
    from pipelines.ingest.baseline import Baseline
    from pipelines.job import Job
    from stompcap.options import Options

READERS = 8


@dataclass(frozen=True)
class Unfinished:
    """A row of table batches of which `captures` has none."""

    batch_id: str
    run_id: str
    captures: Sequence[Mapping[str, Any]]
    options: Options
    state_version: int | None
    """Of table stream_state, from which the batch goes on; None in lakes of older versions."""

    streams_version: int | None = None
    """Of table streams, in which the connections were found that the batch computes again; None in lakes of older versions."""

    reread: Sequence[Mapping[str, Any]] = ()
    """Captures of earlier batches that are read again for these connections."""

    slice: str | None = None
    """Which connections these are, of a batch that does nothing else."""

    raw_version: int | None = None
    """Of table raw_frames, which has octets of the connections that the batch goes on with; None in lakes of older versions."""

    anew: bool = True
    """Whether it computes all open connections again, as older versions did with each batch that they finished."""

    @property
    def files(self) -> list[str]:
        """The paths of all captures that it reads."""
        return [capture["path"] for capture in (*self.captures, *self.reread)]


def begin(
    job: Job, batch: str, captures: Sequence[Survey], baseline: Baseline, reread: Sequence[Survey] = (), connections: str | None = None
) -> None:
    """Enter a batch into table batches, unless it is there.

    `baseline` is what it goes on from. `reread` are captures of earlier batches that it reads again for connections that it computes
    again; where it does nothing else, `connections` says which these are.
    """
    row = {
        "batch_id": batch,
        "run_id": job.result.run_id,
        "begun_ts": ledger.now(),
        "captures": _named(captures),
        "options": as_json(job.options),
        "state_version": baseline.version,
        "tool_version": version(),
        "streams_version": baseline.streams_version,
        "again": _named(reread),
        "slice": connections,
        "raw_version": baseline.raw_version,
        "anew": baseline.anew,
    }
    lakes.append(job.lake, "batches", pa.Table.from_pylist([row], schema=TABLES["batches"].arrow), [batch], job.result.run_id)


def unfinished(lake: str) -> list[Unfinished]:
    """The batches that were begun and are not in table captures, in the order in which they were begun."""
    begun = lakes.small(lake, "batches", ["batch_id"]).column("batch_id").to_pylist()
    names = {name for name in lakes.lacking(lake, "captures", frozenset(begun)) if lakes.has_committed(lake, "batches", name)}
    return all_begun(lake, names) if names else []


def all_begun(lake: str, names: Collection[str] | None = None) -> list[Unfinished]:
    """All batches, or those with some names, in the order in which they were begun, whether or not they are in table captures."""
    rows = sorted(lakes.small(lake, "batches").to_pylist(), key=lambda row: row["begun_ts"])
    return [
        Unfinished(
            row["batch_id"], row["run_id"], row["captures"], from_json(row["options"]), row["state_version"], row["streams_version"],
            row["again"] or (), row["slice"], row["raw_version"], row["anew"] is not False,
        )
        for row in rows if names is None or row["batch_id"] in names
    ]  # fmt: skip


def open_prefixes(lake: str) -> dict[str, tuple[str, bool]]:
    """By batch, in the order in which they were begun: the prefix of its files of open streams, and whether none later has the same."""
    rows = sorted(lakes.small(lake, "batches", ["batch_id", "begun_ts", "options"]).to_pylist(), key=lambda row: row["begun_ts"])
    prefixes = {row["batch_id"]: open_files(from_json(row["options"])) for row in rows}
    latest = {prefix: batch for batch, prefix in prefixes.items()}
    return {batch: (prefix, latest[prefix] == batch) for batch, prefix in prefixes.items()}


def latest_unfinished(lake: str, options: Options) -> Unfinished | None:
    """The batch begun last, of those that go on with the same open streams, where it was not finished."""
    left = {batch.batch_id: batch for batch in unfinished(lake)}
    last = [name for name, (prefix, latest) in (open_prefixes(lake) if left else {}).items() if latest and prefix == open_files(options)]
    return next((left[name] for name in last if name in left), None)


def partly_in(lake: str, batch: Unfinished) -> list[str]:
    """The tables that have rows of a batch."""

    def has_some(table: str) -> bool:
        return lakes.has_committed(lake, table, batch.batch_id) or batch.batch_id in half_brought(lake, table)

    return [table for table in TABLES if table != "batches" and has_some(table)]


def taken_back(lake: str, batch: Unfinished, run_id: str) -> list[str]:
    """Take out rows of a batch that cannot be finished where a table has only the final ones; the tables that have rows of it still."""
    for table in TABLES:
        take_back(lake, table, batch.batch_id, run_id)
    return partly_in(lake, batch)


def examined_again(batch: Unfinished, known: Sequence[dict[str, Any]]) -> tuple[list[Survey], list[str]]:
    """The captures of a batch as they were then, and the errors of those that cannot be read again."""
    before = beginnings(known, batch.options.source)

    def examine(capture: Mapping[str, Any]) -> Survey | str:
        path = capture["path"]
        found = examined(path, batch.options, before(path), size=capture["size_octets"])
        if isinstance(found, CaptureError):
            return str(found)
        if found is None or found.row["capture_id"] != capture["capture_id"]:
            return f"{path}: no longer begins with the bytes that were read"
        return found

    with ThreadPoolExecutor(READERS) as pool:
        answers = list(pool.map(examine, batch.captures))
    return [one for one in answers if not isinstance(one, str)], [one for one in answers if isinstance(one, str)]


def _named(captures: Iterable[Survey]) -> list[dict[str, Any]]:
    """Captures as table batches has them."""
    rows = (one.row for one in captures)
    return [{"capture_id": row["capture_id"], "path": _absolute(row["path"]), "size_octets": row["size_octets"]} for row in rows]


def _absolute(path: str) -> str:
    """A path that means the same file in any working directory."""
    return path if uris.is_uri(path) else os.path.abspath(path)
