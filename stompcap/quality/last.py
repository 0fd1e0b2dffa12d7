"""What the last validation of a lake has found: it stands until another one finds otherwise."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from stompcap.spark import contents, opening
from stompcap.spark.places import location


def last(lake: str) -> tuple[int, list[dict[str, Any]]]:
    """When its results were entered (milliseconds since the epoch), and they, rows of `quality_results`; 0 and none where there was none.

    A validation judges all tables and is one file, of which the newest is read; in one that was compacted the latest run counts.
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
