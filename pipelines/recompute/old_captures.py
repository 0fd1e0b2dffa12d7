"""Captures of the lake that are read again to compute connections again, if their files have not changed."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stompcap.capture import Known
from stompcap.capture.checkpoint import NO_END
from stompcap.errors import CaptureError
from stompcap.lake import tables as lakes
from stompcap.spark.workers.survey import examined
from stompcap.units import count

if TYPE_CHECKING:
    from pipelines.job import Job
    from stompcap.capture import Survey
    from stompcap.options import Options
    from stompcap.progress import Progress

Row = Mapping[str, Any]
MOST_NAMED = 3


@dataclass
class OldCaptures:
    """The captures of a source, rows of table captures, each examined once when it is first asked for.

    `allowed` are the ids of those that may be read; None for all. `files` are paths that are good in any working directory, by id.
    """

    rows: Sequence[Row]
    options: Options
    files: Mapping[str, str]
    progress: Progress
    allowed: Container[str] | None = None

    def __post_init__(self) -> None:
        self._found: dict[str, Survey | str] = {}
        self._by_id = {row["capture_id"]: row for row in self.rows}

    def examine(self, wanted: Iterable[Row]) -> None:
        """Examine captures that were not examined yet: each file is read once, for its digest and for the parts to read it in."""
        new = [row for row in wanted if row["capture_id"] not in self._found]
        if new:
            self.progress.begin("looking at captures again")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self._found.update(zip((row["capture_id"] for row in new), pool.map(self._examined, new), strict=True))

    def exclude(self, why: Mapping[str, str]) -> None:
        """Count captures, by id, as not readable, because a task failed at them."""
        self._found |= why

    def surveys(self, wanted: Iterable[Row]) -> list[Survey]:
        """Of the captures wanted, those that can be read."""
        return [one for row in wanted if not isinstance(one := self._found[row["capture_id"]], str)]

    def missing(self, wanted: Iterable[Row]) -> list[Row]:
        """Of the captures wanted, those that cannot be read."""
        return [row for row in wanted if isinstance(self._found[row["capture_id"]], str)]

    def reasons(self, rows: Sequence[Row]) -> str:
        """Which captures cannot be read and why, for people."""
        named = [f"{row['path']} {self._found[row['capture_id']]}" for row in rows[:MOST_NAMED]]
        return "; ".join(named) + (f"; and {count(len(rows) - MOST_NAMED)} more" if len(rows) > MOST_NAMED else "")

    def _examined(self, row: Row) -> Survey | str:
        name = row["capture_id"]
        if self.allowed is not None and name not in self.allowed:
            return "could not be read"
        earlier = self._by_id.get(row["continues"])
        known = [Known(earlier["capture_id"], earlier["used_octets"], earlier["used_sha256"])] if earlier else []
        options = replace(self.options, max_decompressed=NO_END)  # it was within the limit when it was read first
        found = examined(self.files.get(name, row["path"]), options, known, size=row["size_octets"])
        if isinstance(found, CaptureError):
            return f"({found.remedy})"
        if found is None or found.row["capture_id"] != name:
            return "is not the file that the lake has read from here"
        return found if found.readable else f"({found.row['damage']})"


def of_source(job: Job, rows: Iterable[Row], allowed: Container[str] | None = None) -> OldCaptures:
    """The captures of the job's source among rows of table captures; `allowed` are the ids of those that may be read, None for all."""
    batches = lakes.small(job.lake, "batches", ["captures"]).column("captures").to_pylist()
    files = {capture["capture_id"]: capture["path"] for captures in batches for capture in captures or ()}
    of_source = [row for row in rows if row["source"] == job.options.source]
    return OldCaptures(of_source, job.options, files, job.progress, allowed)
