"""What becomes of the rows of open streams when a table takes in a batch: those of streams computed again go, those that are over stay.

A table that has not been through some stages has rows of such a stream that an earlier batch gave. They wait for the batch that the stream
is of now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.lake import commits, data_files, open_tables
from stompcap.lake import tables as lakes
from stompcap.lake.open_rows import OpenRows
from stompcap.lake.paths import location, open_files
from stompcap.lake.query import all_files, opened

if TYPE_CHECKING:
    from pipelines.ingest.baseline import Baseline
    from pipelines.ingest.extract import Extracted
    from pipelines.job import Job

COLUMNS = ["stream_id", "batch_id", "final"]


def of_pass(job: Job, made: Extracted, abandoned: pa.Array, baseline: Baseline) -> Callable[[str], OpenRows]:
    """By table, for a batch from captures; `abandoned` are open streams that nothing can go on with."""
    prefix, over = open_files(job.options), pa.concat_arrays([made.over, abandoned])
    if len(over):
        files = data_files.of(open_tables.table(location(job.lake, "streams"), baseline.streams_version))
        rows = commits.read("streams", [file for file in files if file.name.startswith(prefix)], COLUMNS)
        rows = rows.filter(pc.is_in(rows.column("stream_id"), value_set=over))
    return lambda table: OpenRows(prefix, made.again, _in_step(job.lake, table, rows) if len(over) else over, baseline.anew)


def of_stage(job: Job, batch: str, prefix: str) -> Callable[[str], OpenRows]:
    """By table, for a stage that takes a batch from the rows of bronze."""
    lake = job.lake

    def wanted(table: str) -> OpenRows:
        files = [file for file in data_files.of(open_tables.table(location(lake, table))) if file.name.startswith(prefix)]
        if not files:
            return OpenRows(prefix)
        held = pc.unique(commits.read(table, files, ["stream_id"]).column("stream_id"))
        with opened({"streams": all_files(lake, "streams")}) as database:
            database.register("held", pa.table({"stream_id": held}))
            sql = f"SELECT {', '.join(COLUMNS)} FROM streams WHERE stream_id IN (SELECT stream_id FROM held)"  # noqa: S608  our own names
            rows = database.sql(sql).to_arrow_table()
        others = rows.filter(pc.not_equal(rows.column("batch_id"), batch))
        again = held.filter(pc.invert(pc.is_in(held, value_set=others.column("stream_id").combine_chunks())))
        return OpenRows(prefix, again, _in_step(lake, table, others.filter(others.column("final"))))

    return wanted


def _in_step(lake: str, table: str, streams: pa.Table) -> pa.Array:
    """The ids of those streams that a table has as table streams has them."""
    lacking = lakes.lacking(lake, table, frozenset(streams.column("batch_id").unique().to_pylist()))
    left = pc.is_in(streams.column("batch_id"), value_set=pa.array(sorted(lacking), pa.string()))
    return streams.column("stream_id").filter(pc.invert(left)).combine_chunks().cast(pa.string())
