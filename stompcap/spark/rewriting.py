"""Commits that take files out of a table and put others in, as one transaction: parts of it replaced, small files put together.

Such a commit costs what the files cost that it names, whatever else the table holds; a reader sees the table before it or after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, Transaction
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import parquet

from stompcap.spark import contents, opening
from stompcap.spark.places import DataFile, location
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltalake import DeltaTable

    from stompcap.spark.contents import File

UNIT, SOURCE = "stompcap:", "stompcap-source:"
"""How the application ids begin (Delta protocol, Transaction Identifiers) of a unit of work, and of a table that this one was made from,
whose version is noted."""

FILE_ROWS = 100_000
"""Rows of a file of a table that is replaced in parts: what a change of one of them costs at most."""

SMALL_OCTETS = 1 << 20
MOST_SMALL = 32
"""Files smaller than this that a table may have before a writer puts them together."""


@dataclass(frozen=True)
class Note:
    """What a commit says of itself: the run, the units of work it takes in, the versions of the tables it was made from."""

    run_id: str
    units: tuple[str, ...] = ()
    sources: Mapping[str, int] = field(default_factory=dict)

    @property
    def properties(self) -> CommitProperties:
        """As deltalake takes it."""
        noted = [Transaction(UNIT + unit, 1) for unit in self.units]
        noted += [Transaction(SOURCE + table, version) for table, version in self.sources.items()]
        return CommitProperties(custom_metadata={"userMetadata": json.dumps({"run_id": self.run_id})}, app_transactions=noted)


def exchange(delta: DeltaTable, added: Iterable[DataFile], removed: Iterable[File], note: Note, *, rows_stay: bool = False) -> None:
    """Commit files in the place of others. `rows_stay`: they hold the same rows, and count as added when the latest of those was."""
    gone, now = list(removed), int(time.time() * 1000)
    when = max((file.added_ms for file in gone), default=now) if rows_stay else now
    actions: list[AddAction | RemoveAction] = [AddAction(f.path, f.size, {}, when, not rows_stay, f.statistics) for f in added]
    actions += [RemoveAction(file.name, not rows_stay, now, file.size) for file in gone]
    delta.create_write_transaction(actions, mode="append", schema=delta.schema(), commit_properties=note.properties)


def written(lake: str, table: str, rows: pa.Table) -> list[DataFile]:
    """The rows as files that no commit names yet, in their order."""
    from stompcap.spark.files import write

    return [write(lake, table, rows.slice(begin, FILE_ROWS)) for begin in range(0, rows.num_rows, FILE_ROWS)]


def read(table: str, files: Iterable[File]) -> pa.Table:
    """The rows of some files, with the table's columns: of an older file those that it lacks are null."""
    schema = TABLES[table].arrow
    parts = [schema.empty_table()]
    for file in files:
        filesystem, path = contents.place(file.uri)
        with parquet.ParquetFile(path, filesystem=filesystem) as held:
            parts.append(held.read([name for name in schema.names if name in held.schema_arrow.names]))
    return pa.concat_tables(parts, promote_options="permissive").select(schema.names).cast(schema)


def replace_where(lake: str, table: str, column: str, values: pa.Array | None, rows: pa.Table, note: Note) -> int:
    """Put rows in the place of those whose `column` has one of `values`, or of all where these are None; rows written.

    Only files that may hold such rows are read and written anew.
    """
    delta = opening.table(location(lake, table))
    held = contents.files(delta, [column])
    mine = held if values is None else [file for file in held if may_hold(file, column, values)]
    before = read(table, mine)
    stay = before.slice(0, 0) if values is None else before.filter(pc.invert(pc.is_in(before.column(column), value_set=values)))
    after = ordered(table, pa.concat_tables([stay, rows.select(before.column_names).cast(before.schema)]))
    if ordered(table, before).equals(after):
        exchange(delta, [], [], note)
        return 0
    exchange(delta, written(lake, table, after), mine, note)
    tidy(lake, table)
    return int(rows.num_rows)


def may_hold(file: File, column: str, values: pa.Array) -> bool:
    """Whether a file may have a row whose column has one of the values, null among them, by its statistics."""
    bounds = file.bounds[column]
    if not bounds.known or (values.null_count and bounds.nulls):
        return True
    if bounds.least is None:
        return False
    least, most = (pa.scalar(bound).cast(values.type) for bound in (bounds.least, bounds.most))
    within = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    return bool(pc.any(within).as_py())


def ordered(table: str, rows: pa.Table) -> pa.Table:
    """Rows in the order of the table's key."""
    return rows.sort_by([(name, "ascending") for name in TABLES[table].key])


def tidy(lake: str, table: str) -> int:
    """Put a table's small files together where it has more than `MOST_SMALL` of them; how many these were.

    A commit of a run adds a file or two to a table: without this, whatever reads the table would cost more with every run.
    """
    delta = opening.table(location(lake, table))
    small = [file for file in contents.files(delta) if file.size < SMALL_OCTETS]
    if len(small) <= MOST_SMALL:
        return 0
    from stompcap.spark.files import write

    rows = read(table, small)  # a megabyte of each at most
    exchange(delta, [write(lake, table, rows)] if rows.num_rows else [], small, Note("tidy"), rows_stay=True)
    return len(small)
