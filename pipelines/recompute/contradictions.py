"""Finds what a batch contradicts in the lake: its captures came late, or have connections that the lake has already.

A capture comes late if it has packets from before the latest packet of its source. That does no harm to an open connection whose segments
are kept: they are sorted by time together with the late ones. It contradicts
- an open connection of many packets, which goes on from its state (`pipelines.recompute.unresumable`);
- a connection that the lake has as final, which the late packets may continue, precede or repeat.

A connection that a second capture point has seen is in the lake and in the batch (`pipelines.recompute.duplicates`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.recompute import connection_groups
from pipelines.recompute.duplicates import duplicates
from pipelines.recompute.unresumable import NONE, unresumable
from stompcap.lake import data_files, open_tables
from stompcap.lake.data_files import File, Files
from stompcap.lake.paths import location, open_files

if TYPE_CHECKING:
    from pipelines.ingest.baseline import Baseline
    from pipelines.ingest.extract import Extracted
    from pipelines.job import Job
    from pipelines.recompute.connection_groups import Connections

DUPLICATE = "stream_id IN (SELECT stream_id FROM duplicates)"
WHEN_LATE = "EXISTS (SELECT 1 FROM late WHERE first_ns <= late.until AND last_ns >= late.since)"
STREAMS = "streams"


@dataclass(frozen=True)
class Contradictions:
    """What may be wrong in a batch that was extracted."""

    late: Sequence[Mapping[str, Any]]
    """The captures that came late, rows of table captures."""

    unresumable: pa.Table
    """Open connections that cannot go on from their saved state, rows of table streams."""

    duplicates: pa.Table
    """Connections of the lake that the batch may have too, DUPLICATES."""

    def __bool__(self) -> bool:
        return bool(self.late) or self.reads_more

    @property
    def reads_more(self) -> bool:
        """Whether earlier captures must be read again for another reason than late ones."""
        found: bool = self.unresumable.num_rows + self.duplicates.num_rows > 0
        return found

    @property
    def late_ones(self) -> Contradictions:
        """The contradictions of late captures alone."""
        return Contradictions(self.late, NONE, self.duplicates.slice(0, 0))

    def without_flows_of(self, streams: pa.Array) -> Contradictions:
        """The same, without the open connections whose flows have one of these streams."""
        rows = self.unresumable
        flows = rows.filter(pc.is_in(rows.column("stream_id"), value_set=streams)).column("endpoints")
        return replace(self, unresumable=rows.filter(pc.invert(pc.is_in(rows.column("endpoints"), value_set=flows.combine_chunks()))))


def contradictions(job: Job, made: Extracted, baseline: Baseline) -> Contradictions:
    """What a batch that was extracted contradicts."""
    late = [one.row for one in made.captures if one.row["first_ns"] is not None and one.row["first_ns"] <= baseline.last_ns]
    new, open_streams, final = _streams(job, made, baseline)
    twice = duplicates(new, [*open_streams, *final], job.options.source)
    if baseline.superseded:
        return Contradictions(late, NONE, twice)
    return Contradictions(late, unresumable(job, made, baseline, Files.of(STREAMS, open_streams), new, twice), twice)


def _streams(job: Job, made: Extracted, baseline: Baseline) -> tuple[Files, list[File], list[File]]:
    """The files of table streams: of the batch, with rows of open connections, and the others, which have bounds of their times."""
    where = location(job.lake, STREAMS)
    files = data_files.of(open_tables.table(where, baseline.streams_version), ["first_ns", "last_ns"])
    of_open = [file for file in files if file.name.startswith(open_files(job.options))]
    new = tuple(f"{where}/{file.path}" for file in made.files if file.table == STREAMS)
    return Files(STREAMS, new), of_open, [file for file in files if file not in of_open]


def contradicted(job: Job, made: Extracted, baseline: Baseline, found: Contradictions) -> Connections:
    """The groups of connections that must be computed again because one of them is contradicted.

    A group with final connections is contradicted if the lake and the batch both have connections of it and one of the batch is from the
    time of a late capture, or if the batch has a connection of the lake once more. A group with open connections, whose rows the batch
    replaces, is contradicted if one of them is in `found.unresumable`.
    """
    new, _, final = _streams(job, made, baseline)
    late, open_ones, twice, idle_ns = found.late, found.unresumable, found.duplicates, job.options.idle_ns
    times = {name: pa.array([row[column] for row in late], pa.int64()) for name, column in (("since", "first_ns"), ("until", "last_ns"))}
    tables = {
        "new_streams": new, "open_streams": open_ones, "sources": connection_groups.named(job.options.source), "late": pa.table(times),
        "duplicates": twice,
    }  # fmt: skip
    begin = pc.min(pa.concat_arrays([times["since"], *open_ones.column("first_ns").chunks, *twice.column("first_ns").chunks])).as_py()
    end = pc.max(pa.concat_arrays([times["until"], *open_ones.column("last_ns").chunks, *twice.column("last_ns").chunks])).as_py()
    read: list[File] = []
    groups = None
    while True:  # a group that is found may reach into files of other times, and these may have more of it
        window = (begin - idle_ns, end + idle_ns + 1)
        near = data_files.overlapping(final, ["first_ns", "last_ns"], [window], timeless=window[0] <= 0)
        if groups is not None and len(near) == len(read):
            return groups
        read = near
        lives = tables | {STREAMS: Files.of(STREAMS, read)}
        groups = connection_groups.together(lives, DUPLICATE, idle_ns, came=WHEN_LATE, both=True)
        if not (read or open_ones.num_rows) or not len(groups):
            return groups
        begin, end = min(begin, pc.min(groups.rows.column("first_ns")).as_py()), max(end, pc.max(groups.rows.column("last_ns")).as_py())
