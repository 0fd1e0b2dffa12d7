"""The results of the last validation of a lake, valid until the next one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from stompcap.spark import contents, opening
from stompcap.spark.places import location


def last(lake: str) -> tuple[int, list[dict[str, Any]]]:
    """When its results were written (milliseconds since the epoch), and the rows of `quality_results`; 0 and none without a validation.

    A validation covers all tables and is one file, of which the newest is read; in a compacted file the latest run counts.
    """
    delta = opening.table(location(lake, "quality_results"))
    entered = pa.table(delta.get_add_actions()).column("modification_time").to_pylist()
    if not entered:
        return 0, []
    when, uri = max(zip(entered, contents.uris(delta), strict=True))
    filesystem, path = fs.FileSystem.from_uri(uri) if "://" in uri else (fs.LocalFileSystem(), uri)
    with pq.ParquetFile(path, filesystem=filesystem) as file:
        rows = file.read()
    latest = rows.sort_by([("checked_ts", "descending")]).column("run_id")[0]
    return when, rows.filter(pc.equal(rows.column("run_id"), latest)).to_pylist()
