"""Where a task's rows go: one Parquet file a table, and a manifest of them back to the driver."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from stompcap.spark.files import TableWriter
from stompcap.spark.lake import DataFile

MANIFEST = "table STRING, path STRING, size BIGINT, rows BIGINT, statistics STRING"
_ARROW = pa.schema(
    [("table", pa.string()), ("path", pa.string()), ("size", pa.int64()), ("rows", pa.int64()), ("statistics", pa.string())]
)


class Sink:
    """Writes rows of the named tables below a lake; rows of other tables are not wanted and go nowhere."""

    def __init__(self, lake: str, tables: Iterable[str]) -> None:
        self._writers = {name: TableWriter(lake, name) for name in tables}

    def wants(self, table: str) -> bool:
        """Whether rows of that table are written."""
        return table in self._writers

    def write(self, table: str, rows: pa.Table) -> None:
        """Append rows of the table's schema."""
        if table in self._writers:
            self._writers[table].write(rows)

    def manifest(self) -> pa.RecordBatch:
        """Close the files and name them."""
        files = [file for writer in self._writers.values() if (file := writer.close()) is not None]
        return pa.RecordBatch.from_pylist([vars(file) for file in files], schema=_ARROW)


def collected(manifest: Iterable[object]) -> list[DataFile]:
    """The driver's view of what tasks wrote: Spark rows of MANIFEST as data files."""
    return [DataFile(row["table"], row["path"], row["size"], row["rows"], row["statistics"]) for row in manifest]  # type: ignore[index]  # Row
