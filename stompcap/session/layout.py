"""Layouts: the fields of records, declared once, a line each.

A family of the session machine (subscriptions, deliveries, ...) keeps one record per SUBSCRIBE, MESSAGE and so on. The declaration of its
fields is a NamedTuple of columns of integers, which kernels take as it is, and a list of texts. What a field begins with, where its value
comes from, which column of the lake's table it is, and whether states have it, stands beside its name; the state's table, the new rows
and the lake's columns are derived from that.

State tables (stompcap.session.state) name a session by its stream_id; records name it by its index in the streams of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, coded, integers, timestamps, worded
from stompcap.session.dialogue import Dialogue
from stompcap.tables.schema import TIMESTAMP, Table

KEY_BITS = 40  # no session has so many frames


@dataclass(frozen=True)
class Field:
    """What is declared of one field.

    default  what it is in a new record; one below 0 says that there is nothing, and is null in the lake
    frame    the column of the frame that opens the record, where the value is that
    columns  the columns of the lake's table that have the value as it is
    before   what it is in states that were saved when there was no such field; `...`: nothing can be said, they are not taken up
    stored   whether states have it; one that is not stored is of a single step
    """

    default: int = -1
    frame: str = ""
    columns: tuple[str, ...] = ()
    before: int | str | EllipsisType | None = ...
    stored: bool = True


@dataclass(frozen=True)
class Text:
    """A field that is a text: as Field, null in a new record; `header` where the value is that of a header of the frame."""

    name: str
    frame: str = ""
    header: str = ""
    columns: tuple[str, ...] = ()
    before: str | EllipsisType | None = ...


C = TypeVar("C", bound=tuple[I64, ...])


class Layout(Generic[C]):
    """The fields of one kind of record: the columns of a NamedTuple, of which the first is `session`, and texts.

    `alike` are fields that kernels do not take by their names, as the counts of a histogram.
    """

    def __init__(self, columns: type[C], *texts: Text, alike: Mapping[str, Field] | None = None) -> None:
        self.columns, self.texts = columns, texts
        self.fields: dict[str, Field] = {}
        for name, hint in get_type_hints(columns, include_extras=True).items():
            if name != "session":
                self.fields[name] = next((one for one in get_args(hint) if isinstance(one, Field)), Field())
        self._taken = ("session", *self.fields)
        self.fields |= alike or {}

    @property
    def stored(self) -> list[str]:
        """The integer fields that states have."""
        return [name for name, field in self.fields.items() if field.stored]

    @property
    def schema(self) -> pa.Schema:
        """The state table's Arrow schema."""
        numbers = [(name, pa.int64()) for name in self.stored]
        return pa.schema([("stream_id", pa.string()), *numbers, *((text.name, pa.string()) for text in self.texts)])

    @property
    def before(self) -> dict[str, int | str | None]:
        """What fields are in states that were saved without them, of those of which it can be said."""
        declared = {name: field.before for name, field in self.fields.items()} | {text.name: text.before for text in self.texts}
        return {name: before for name, before in declared.items() if not isinstance(before, EllipsisType)}

    def kernel(self, records: Records) -> C:
        """The columns as kernels take them; what kernels write is written to the records."""
        return self.columns(*(records[name] for name in self._taken))


class Records:
    """Rows of one layout; `records[name]` is an integer column, which may be written to, `records.text[name]` a text column."""

    def __init__(self, layout: Layout[Any], numbers: dict[str, I64], text: dict[str, pa.Array]) -> None:
        self.layout, self.numbers, self.text = layout, numbers, text

    def __len__(self) -> int:
        return len(self.numbers["session"])

    def __getitem__(self, name: str) -> I64:
        return self.numbers[name]

    def __setitem__(self, name: str, values: I64) -> None:
        self.numbers[name] = values

    @property
    def final(self) -> Bools:
        """Rows that this step emits: nothing to come can change them."""
        found: Bools = self.numbers["final"] == 1
        return found

    @property
    def key(self) -> I64:
        """Session and `ordinal` in one number, ascending."""
        return keys(self["session"], self["ordinal"])

    def of(self, session: I64, ordinal: I64) -> I64:
        """The rows of these ordinals in these sessions, -1 where there is none; rows stand by session and ordinal."""
        if len(self) == 0:
            return np.full(len(session), -1, np.int64)
        own, wanted = self.key, keys(session, ordinal)
        at = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        return np.where((own[at] == wanted) & (ordinal >= 0), at, -1)

    def at(self, name: str, rows: I64) -> I64:
        """An integer column at these rows, -1 for row -1."""
        if len(self) == 0:
            return np.full(len(rows), -1, np.int64)
        return np.where(rows < 0, -1, self.numbers[name][rows])

    def take(self, at: I64) -> Records:
        """Some rows."""
        index = pa.array(at)
        return Records(
            self.layout, {name: values[at] for name, values in self.numbers.items()},
            {name: values.take(index) for name, values in self.text.items()},
        )

    def table(self, streams: pa.Array, which: Bools) -> pa.Table:
        """The rows of a mask as a state table; `streams` are the ids of the sessions."""
        rows = self.take(np.flatnonzero(which))
        columns = [streams.take(pa.array(rows["session"]))]
        columns += [pa.array(rows[name]) for name in self.layout.stored]
        columns += [rows.text[text.name] for text in self.layout.texts]
        return pa.Table.from_arrays(columns, schema=self.layout.schema)

    def columns(self, table: Table, streams: pa.Array) -> dict[str, pa.Array]:
        """The columns of one of the lake's tables that are declared with the fields, and the stream_id."""
        found = {"stream_id": streams.take(pa.array(self["session"]))}
        for name, field in self.layout.fields.items():
            for column in field.columns:
                found[column] = _shaped(self[name], field.default, table.column(column).type, table.column(column).words)
        return found | {column: self.text[text.name] for text in self.layout.texts for column in text.columns}


def _shaped(values: I64, default: int, kind: pa.DataType, words: Sequence[str]) -> pa.Array:
    """Numbers as a column of the lake."""
    if words:
        return worded(values, words)
    if kind == TIMESTAMP:
        return timestamps(values)
    if kind == pa.bool_():
        return pa.array(values == 1)
    return pa.array(values, mask=values == default if default < 0 else None)


def keys(session: I64, ordinal: I64) -> I64:
    """Session and frame number in one number."""
    return (session << KEY_BITS) + ordinal


def of_frames(layout: Layout[Any], dialogue: Dialogue, at: I64) -> tuple[dict[str, I64], dict[str, pa.Array]]:
    """The numbers and texts of new records that the frames which open them have, as declared with the fields."""
    numbers = {"session": dialogue.session[at]}
    numbers |= {name: getattr(dialogue, field.frame)[at] for name, field in layout.fields.items() if field.frame}
    texts = {text.name: dialogue.some(text.frame, at) for text in layout.texts if text.frame}
    return numbers, texts | {text.name: dialogue.some_header(text.header, at) for text in layout.texts if text.header}


def opened(
    layout: Layout[Any], before: pa.Table, streams: pa.Array, numbers: Mapping[str, I64], text: Mapping[str, pa.Array]
) -> Records:
    """The rows of the state table `before`, of the sessions of `streams`, and new ones; by session, the old ones first.

    `numbers` of the new ones has `session` and what does not begin as the layout says; sessions ascend in it.
    """
    count = len(numbers["session"])
    new = {
        name: numbers[name].astype(np.int64) if name in numbers else np.full(count, field.default, np.int64)
        for name, field in layout.fields.items()
    }
    texts = {one.name: text[one.name].cast(pa.string()) for one in layout.texts}
    if before.num_rows == 0:
        return Records(layout, {"session": numbers["session"].astype(np.int64), **new}, texts)
    session = np.concatenate([coded(before.column("stream_id"), streams), numbers["session"]])
    order = np.argsort(session, kind="stable")
    order = order[session[order] >= 0]
    index = pa.array(order)
    columns = {
        name: np.concatenate([_of_state(before, name, field), new[name]])[order].astype(np.int64) for name, field in layout.fields.items()
    }
    merged = {
        name: pa.concat_arrays([before.column(name).combine_chunks(), values]).take(index) for name, values in texts.items()
    }
    return Records(layout, {"session": session[order], **columns}, merged)


def _of_state(before: pa.Table, name: str, field: Field) -> I64:
    """A field of records of earlier steps."""
    return integers(before.column(name)) if field.stored else np.full(before.num_rows, field.default, np.int64)
