"""Where a task's rows go: a Parquet file a table, others for rows of open streams, and a manifest of them back to the driver."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.columns import coded, filtered
from stompcap.lake.manifest import as_manifest
from stompcap.lake.open_rows import OpenWriter
from stompcap.lake.table_writer import TableWriter, fitted

if TYPE_CHECKING:
    from collections import Counter

    from stompcap.tasks.failures import Failures


class Sink:
    """Writes rows of the named tables below a lake; rows of other tables are not wanted and go nowhere.

    Rows of open streams go to files whose names begin with `prefix`. A thread of its own encodes them.
    """

    def __init__(self, lake: str, tables: Iterable[str], prefix: str) -> None:
        names, thread = list(tables), ThreadPoolExecutor(1, "parquet")
        self._writers = {name: TableWriter(lake, name, thread=thread) for name in names}
        self._open = {name: OpenWriter(lake, name, prefix, thread) for name in names}

    def wants(self, table: str) -> bool:
        """Whether rows of that table are written."""
        return table in self._writers

    def write(self, table: str, rows: pa.Table, going_on: pa.Array | None = None) -> None:
        """Append rows of the table's schema; `going_on` are the ids of open streams."""
        if table not in self._writers:
            return
        if going_on is not None and len(going_on):
            is_open = coded(rows.column("stream_id"), going_on) >= 0
            self._open[table].write(filtered(rows, is_open))
            rows = filtered(rows, ~is_open)
        self._writers[table].write(rows)

    def check(self, table: str, rows: pa.Table) -> None:
        """Raise what `write` would raise of such rows, and write nothing."""
        if rows.num_rows and table in self._writers:
            fitted(table, rows)

    def manifest(
        self, failures: Failures | None = None, shared: Counter[tuple[int, int]] | None = None, again: Iterable[str] = ()
    ) -> pa.RecordBatch:
        """Close the files and name them, and say what else `as_manifest` takes."""
        files = [file for writer in self._writers.values() if (file := writer.close()) is not None]
        files += [file for writer in self._open.values() for file in writer.close()]
        return as_manifest(files, failures, shared, again)
