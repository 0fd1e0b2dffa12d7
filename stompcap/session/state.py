"""The state of sessions that go on: a few tables, each with a column stream_id, so that sessions can be put together and taken apart.

What waits for the queue, the last row and frame of each direction, the sessions' counters and first frames, and what is open or was so
lately. No other frame is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session import clocks, firsts
from stompcap.session.counters import COUNTERS
from stompcap.session.deliveries import records as deliveries
from stompcap.session.heartbeats import records as heartbeats
from stompcap.session.layout import Layout
from stompcap.session.receipts import records as receipts
from stompcap.session.sends import records as sends
from stompcap.session.subscriptions import records as subscriptions
from stompcap.session.transactions import records as transactions
from stompcap.session.wire import EARLIER, PLACE
from stompcap.tables import TABLES

NAME = b"stompcap.state"
"""What a table is called, in the metadata of its schema; `FIRST_VERSION` where tables had no names."""

FIRST_VERSION = b"1"


def _without_raw(table: str, *numbers: str) -> pa.Schema:
    """The columns of a table without its octets, and numbers."""
    columns = [field.with_nullable(True) for field in TABLES[table].arrow if field.name != "raw"]
    return pa.schema([*columns, *(pa.field(name, pa.int64()) for name in numbers)])


FRAMES = _without_raw("frames", PLACE, "ordinal", EARLIER)
ROWS = _without_raw("raw_frames", PLACE, EARLIER)
SEGMENTS = _without_raw("segments")
RECORDS: Mapping[str, Layout[Any]] = {
    "counters": COUNTERS, "subscriptions": subscriptions.LAYOUT, "transactions": transactions.LAYOUT, "receipts": receipts.LAYOUT,
    "deliveries": deliveries.LAYOUT, "sends": sends.LAYOUT, "heartbeats": heartbeats.LAYOUT, "clocks": clocks.LAYOUT,
}
SCHEMAS: Mapping[str, pa.Schema] = {
    "frames": FRAMES, "rows": ROWS, "segments": SEGMENTS, "stalls": TABLES["stalls"].arrow, "first": firsts.SCHEMA,
    **{name: layout.schema for name, layout in RECORDS.items()},
}
"""Frames and rows that wait, and the last one of each direction that does not (`earlier`); segments by which heart-beats are not judged
yet, and stalls; steps of clocks.
"""


@dataclass(frozen=True)
class State:
    """State tables by name, of the schemas of SCHEMAS."""

    tables: Mapping[str, pa.Table]

    def __getitem__(self, name: str) -> pa.Table:
        return self.tables[name]

    def of(self, streams: pa.Array) -> State:
        """The part that belongs to these streams."""
        return State({name: _of(table, streams) for name, table in self.tables.items()})

    @property
    def size(self) -> int:
        """Rows of all tables together."""
        return sum(table.num_rows for table in self.tables.values())


def _of(table: pa.Table, streams: pa.Array) -> pa.Table:
    if table.num_rows == 0:
        return table
    return table.filter(pc.is_in(table.column("stream_id"), value_set=streams)).combine_chunks()


EMPTY = State({name: schema.empty_table() for name, schema in SCHEMAS.items()})


def joined(schema: pa.Schema, *tables: pa.Table) -> pa.Table:
    """Tables one behind the other in a schema; columns a table lacks are null."""
    return pa.concat_tables([_in(schema, table) for table in tables])


def _in(schema: pa.Schema, table: pa.Table) -> pa.Table:
    there = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type) if field.name in there else pa.nulls(table.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def in_schema(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """A table in a schema of the state, in one piece."""
    return _in(schema, table).combine_chunks()


def unpacked(octets: bytes, order: Sequence[str] = ()) -> dict[str, pa.Table]:
    """The tables by name that older versions wrote, as Arrow streams one behind the other; the oldest did not name them, see `order`.

    Raises pyarrow.ArrowInvalid for other octets, ValueError where a table has no name.
    """
    source, found = pa.BufferReader(octets), dict[str, pa.Table]()
    while source.tell() < len(octets):
        table = pa.ipc.open_stream(source).read_all()
        name = (table.schema.metadata or {}).get(NAME, b"")
        if name == FIRST_VERSION and len(found) < len(order):
            name = order[len(found)].encode()
        if not name or name == FIRST_VERSION:
            raise ValueError("these octets are no tables of a state")
        found[name.decode()] = table.replace_schema_metadata(None)
    return found


def of_tables(tables: Mapping[str, pa.Table]) -> State:
    """The state of these tables, among others."""
    return State({name: tables[name] for name in SCHEMAS})


def together(states: Sequence[State]) -> State:
    """The state of all sessions of some states."""
    return State({name: pa.concat_tables([state[name] for state in states]) for name in SCHEMAS})

