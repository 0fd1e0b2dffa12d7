"""Tables that an older version made, brought to what this version declares: columns, constraints, comments, settings.

A table that has all this costs a comparison with what was read to open it. What it lacks comes in commits of its own, which change no
row: new columns are null in the rows that are there. Only table stream_state is rewritten, where its columns had other names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema
from deltalake.transaction import AddAction, RemoveAction

from stompcap.lake import damage, data_files, open_tables
from stompcap.lake.finality import stored
from stompcap.lake.paths import filesystem, location
from stompcap.lake.table_writer import PART, TableWriter
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from stompcap.tables import Table

CHECKPOINT_COMMITS = "10"
"""Commits after which a writer makes a checkpoint: opening a table reads no more than these."""

CONSTRAINT = "delta.constraints."


def configuration(table: Table) -> dict[str, str]:
    """A table's settings as Delta keeps them, and the constraint of each column that has words."""
    words = {f"{CONSTRAINT}{column.name}_words": column.check for column in table.enumerations if column.check is not None}
    made = {damage.MADE: ",".join(TABLES)} if table.name == "runs" else {}
    return _settings(table) | words | made


def _settings(table: Table) -> dict[str, str]:
    bounded = [name for name in table.statistics if table.column(name).type != pa.bool_()]  # for Spark alters no table with others
    return {
        "delta.checkpointInterval": CHECKPOINT_COMMITS,
        "delta.dataSkippingStatsColumns": ",".join(bounded),
        "delta.enableChangeDataFeed": "true",
    }


def older(lake: str) -> str | None:
    """What a lake of an older version lacks first, a table or a column of one, in words; None where it has all of them."""
    for table in TABLES.values():
        where = location(lake, table.name)
        if not open_tables.is_there(where):
            return f"table {table.name}"
        lacking = set(stored(table).names) - {field.name for field in open_tables.seen(where).schema().fields}
        if lacking:
            return f"column {min(lacking)} of table {table.name}"
    return None


def bring_up(lake: str, table: Table) -> None:
    """Bring a table to its declaration."""
    where = location(lake, table.name)
    if _lacks(table, open_tables.seen(where)):
        _columns(lake, table, open_tables.table(where))
        _nullable(table, open_tables.table(where))
        _configure(table, open_tables.table(where))
        _comment(table, open_tables.table(where))


def _lacks(table: Table, delta: DeltaTable) -> bool:
    """Whether anything is to be done; what a table was once given, it keeps."""
    metadata, fields = delta.metadata(), {field.name: field for field in delta.schema().fields}
    named = {name for name in metadata.configuration if name.startswith(CONSTRAINT)}
    wanted = configuration(table)
    return (
        metadata.description != table.comment
        or not wanted.items() <= metadata.configuration.items()
        or not named <= wanted.keys()
        or any(name not in fields or fields[name].metadata.get("comment") != comment for name, comment in _comments(table).items())
        or any(one.formerly in fields for one in table.columns)
        or any(one.nullable and not fields[one.name].nullable for one in table.columns)
    )


def _columns(lake: str, table: Table, delta: DeltaTable) -> None:
    """The columns that it has not; where some have other names, all rows under the present ones."""
    there = {field.name for field in delta.schema().fields}
    if there & {one.formerly for one in table.columns} or (there - set(stored(table).names) and not delta.file_uris()):
        _rewrite(lake, table, delta)
    elif lacking := [column.with_nullable(True) for column in stored(table) if column.name not in there]:
        delta.alter.add_columns(Schema.from_arrow(pa.schema(lacking)).fields)


def _nullable(table: Table, delta: DeltaTable) -> None:
    """Columns that could not be null, and now can."""
    fields = {field.name: field for field in delta.schema().fields}
    for column in table.columns:
        if column.nullable and not fields[column.name].nullable:
            delta.alter.drop_column_not_null(column.name)


def _configure(table: Table, delta: DeltaTable) -> None:
    """Settings and constraints, in one commit; constraints of columns without words go."""
    wanted, found = configuration(table), delta.metadata().configuration
    if not wanted.items() <= found.items():
        delta.alter.set_table_properties(wanted, raise_if_not_exists=False)
        if not _settings(table).items() <= found.items():
            delta.create_checkpoint()  # which has the statistics of the columns that are named now
    for name in found:
        if name.startswith(CONSTRAINT) and name not in wanted:
            delta.alter.drop_constraint(name.removeprefix(CONSTRAINT), raise_if_not_exists=False)


def _comment(table: Table, delta: DeltaTable) -> None:
    """The comments of the table and of its columns."""
    if delta.metadata().description != table.comment:
        delta.alter.set_table_description(table.comment)
    fields = {field.name: field for field in delta.schema().fields}
    for name, comment in _comments(table).items():
        if fields[name].metadata.get("comment") != comment:
            delta.alter.set_column_metadata(name, {"comment": comment})


def _comments(table: Table) -> dict[str, str]:
    """The comment of each column."""
    return {field.name: field.metadata[b"comment"].decode() for field in stored(table)}


def _rewrite(lake: str, table: Table, delta: DeltaTable) -> None:
    """The rows of a table in the columns that it has now, file by file under the prefix that its name had."""
    added: list[AddAction | RemoveAction] = []
    for file in data_files.of(delta):
        system, path = filesystem(file.uri)
        writer = TableWriter(lake, table.name, file.name.rpartition("/")[2].partition(PART)[0])
        with pq.ParquetFile(path, filesystem=system) as held:
            for number in range(held.num_row_groups):
                writer.write(table.now(held.read_row_group(number)))
        if (made := writer.close()) is not None:
            added.append(AddAction(made.path, made.size, {}, file.added_ms, True, made.statistics))
    delta.create_write_transaction(added, mode="overwrite", schema=Schema.from_arrow(stored(table)))
