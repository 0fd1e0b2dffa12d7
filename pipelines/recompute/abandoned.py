"""Open connections that end with the run before, because nothing can go on with them: their rows stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.forgetting.forget import KEYED
from stompcap.lake import commits, data_files, open_tables
from stompcap.lake.paths import location, open_files

if TYPE_CHECKING:
    from pipelines.job import Job
    from stompcap.lake.paths import DataFile


def ended(job: Job, streams: pa.Array) -> list[DataFile]:
    """The rows of these open streams as files of streams that have ended, which no commit names yet.

    The commit that replaces the rows of open streams is to add them. What earlier blocks of such a stream gave is in other files already.
    """
    found, prefix = list["DataFile"](), open_files(job.options)
    for table in KEYED:
        if table == "stream_state":
            continue
        files = [file for file in data_files.of(open_tables.table(location(job.lake, table))) if file.name.startswith(prefix)]
        rows = commits.read(table, files)
        rows = rows.filter(pc.is_in(rows.column("stream_id"), value_set=streams))
        if table == "streams":
            rows = rows.set_column(rows.schema.get_field_index("final"), "final", pa.repeat(True, rows.num_rows))
        found += commits.written(job.lake, table, rows)
    return found
