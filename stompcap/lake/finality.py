"""Column `final` of the tables with a stream_id: whether a row stays as it is, or the next run may replace it.

Whoever reads a table, and whoever puts its files together, finds so the rows of open connections, in whatever file they are. Rows get it
as they are written: what goes into the files of open connections is not final, all else is. Table streams has it of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.lake.paths import OPEN

if TYPE_CHECKING:
    from stompcap.tables import Table

FINAL = "final"
COMMENT = (
    "False: the connection goes on, and a later run may replace the row; true: no run does. Null where an older version wrote it"
)
ALWAYS_OPEN = ("stream_state",)
"""Tables of which no row is final."""


def has_mark(table: Table) -> bool:
    """Whether the rows of a table get the column as they are written."""
    return "stream_id" in table.arrow.names and FINAL not in table.arrow.names and table.name not in ALWAYS_OPEN


def stored(table: Table) -> pa.Schema:
    """The schema of a table of the lake as it is stored: what the machines compute, and the mark."""
    if not has_mark(table):
        return table.arrow
    return table.arrow.append(pa.field(FINAL, pa.bool_(), metadata={"comment": COMMENT}))


def marked(table: Table, rows: pa.Table, file: str) -> pa.Table:
    """Rows of the table's own columns as a file of that name has them."""
    if not has_mark(table):
        return rows
    return rows.append_column(stored(table).field(FINAL), pa.repeat(not file.startswith(OPEN), rows.num_rows))
