"""The results of the last validation of a lake, valid until the next one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stompcap.lake import data_files, open_tables
from stompcap.lake.paths import filesystem, location


def last(lake: str) -> list[dict[str, Any]]:
    """Its rows of `quality_results`; none without a validation.

    A validation covers all tables and is one file, of which the newest is read; in a compacted file the latest run counts.
    """
    delta = open_tables.table(location(lake, "quality_results"))
    entered = pa.table(delta.get_add_actions()).column("modification_time").to_pylist()
    if not entered:
        return []
    _, uri = max(zip(entered, data_files.uris(delta), strict=True))
    system, path = filesystem(uri)
    with pq.ParquetFile(path, filesystem=system) as file:
        rows = file.read()
    latest = rows.sort_by([("checked_ts", "descending")]).column("run_id")[0]
    found: list[dict[str, Any]] = rows.filter(pc.equal(rows.column("run_id"), latest)).to_pylist()
    return found
