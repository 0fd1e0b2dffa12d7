"""What is kept of sessions between two pieces of them: the rows that may still matter, without octets, and sums.

Rows have the columns of the lake's tables and marks behind them. Those that were analysed lack what nothing looks at again (BEHIND).
Those that wait were not analysed yet: something that crossed the wire before them may still come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session import sums
from stompcap.session.dialogue import Bools
from stompcap.tables import TABLES

BEHIND = (
    "first_ts", "first_capture_id", "first_packet", "last_capture_id", "last_packet", "batch_id", "eol", "decode_errors"
)


def _marked(table: str, *marks: str) -> pa.Schema:
    """The columns of a table without its octets, and marks."""
    columns = [field.with_nullable(True) for field in TABLES[table].arrow if field.name != "raw"]
    return pa.schema([*columns, *(pa.field(mark, pa.int64()) for mark in marks)])


def _kept(schema: pa.Schema) -> pa.Schema:
    """The columns of those that were analysed."""
    return pa.schema([field for field in schema if field.name not in BEHIND])


FRAMES = _marked(
    "frames", "position", "ordinal", "told", "counted", "heard_c2s", "heard_s2c",
    "under",  # see stompcap.session.subscriptions.carried
    "meant", "since_ack", "since_message", "since_pair",  # see stompcap.session.settling.carried, and for these of deliveries
    "same_ack", "settled", "state", "how", "latest", "aborts", "loss",
    "named", "within",  # see stompcap.session.transactions.carried
    "preview",  # see stompcap.session.previews
    "delivered", "acked", "nacked", "voided", "most",  # of SUBSCRIBEs
    "sends", "octets", "touched",  # these, "acked" and "nacked" of the first frame of a transaction
)
ROWS = _marked("raw_frames", "first_place", "last_place", "ordinal", "told", "counted")
SEGMENTS = _marked("segments", "place", "eol")
STALLS = TABLES["stalls"].arrow
KEPT_FRAMES, KEPT_ROWS = _kept(FRAMES), _kept(ROWS)


@dataclass(frozen=True)
class Carry:
    """The state of sessions that go on; each table has a column stream_id, so that sessions can be put together and taken apart."""

    frames: pa.Table
    rows: pa.Table
    waiting_frames: pa.Table
    waiting_rows: pa.Table
    segments: pa.Table
    stalls: pa.Table
    sums: pa.Table

    def of(self, streams: pa.Array) -> Carry:
        """The part that belongs to these streams."""
        return Carry(*(chosen(table, np.asarray(pc.is_in(table.column("stream_id"), value_set=streams))) for table in self.tables))

    @property
    def tables(self) -> list[pa.Table]:
        """The tables, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


def packed(tables: Sequence[pa.Table]) -> bytes:
    """Tables as octets: Arrow IPC streams, one behind the other."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    octets: bytes = sink.getvalue().to_pybytes()
    return octets


def unpacked(octets: bytes) -> list[pa.Table]:
    """The tables that `packed` wrote; raises pyarrow.ArrowInvalid for other octets."""
    source, found = pa.BufferReader(octets), []
    while source.tell() < len(octets):
        found.append(pa.ipc.open_stream(source).read_all())
    return found


def nothing() -> Carry:
    """The state before the first piece."""
    return Carry(*(schema.empty_table() for schema in (KEPT_FRAMES, KEPT_ROWS, FRAMES, ROWS, SEGMENTS, STALLS, sums.SCHEMA)))


def chosen(table: pa.Table, which: Bools) -> pa.Table:
    """The rows chosen; the table itself, for its copy may be large, where they are all."""
    return table if which.all() else table.filter(pa.array(which))


def joined(schema: pa.Schema, *tables: pa.Table) -> pa.Table:
    """Tables one behind the other in a schema; columns a table lacks are null."""
    return pa.concat_tables([_in(schema, table) for table in tables])


def _in(schema: pa.Schema, table: pa.Table) -> pa.Table:
    there = set(table.column_names)
    columns = [
        _as(field.type, table.column(field.name)) if field.name in there else pa.nulls(table.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _as(kind: pa.DataType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind)
