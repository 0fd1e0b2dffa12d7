"""Records: the rows of a state table as columns, integers in numpy and texts in Arrow.

The tables of the state (stompcap.session.state) name a session by its stream_id; records name it by its index in the streams of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, coded, integers

KEY_BITS = 40  # no session has so many frames


@dataclass(frozen=True)
class Layout:
    """The columns of one state table beside `session`: integers with the value each begins with, and texts."""

    integers: Mapping[str, int]
    texts: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The state table's Arrow schema."""
        return pa.schema([
            ("stream_id", pa.string()), *((name, pa.int64()) for name in self.integers), *((name, pa.string()) for name in self.texts)
        ])


class Records:
    """Rows of one table; `records[name]` is an integer column, which may be written to, `records.text[name]` a text column."""

    def __init__(self, layout: Layout, numbers: dict[str, I64], text: dict[str, pa.Array]) -> None:
        self.layout, self.numbers, self.text = layout, numbers, text

    def __len__(self) -> int:
        return len(self.numbers["session"])

    def __getitem__(self, name: str) -> I64:
        return self.numbers[name]

    def __setitem__(self, name: str, values: I64) -> None:
        self.numbers[name] = values

    @property
    def final(self) -> Bools:
        """Rows that are given out in this step: nothing to come can change them."""
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
        columns += [pa.array(rows[name]) for name in self.layout.integers]
        columns += [rows.text[name] for name in self.layout.texts]
        return pa.Table.from_arrays(columns, schema=self.layout.schema)


def keys(session: I64, ordinal: I64) -> I64:
    """Session and frame number in one number."""
    return (session << KEY_BITS) + ordinal


def opened(
    layout: Layout, before: pa.Table, streams: pa.Array, numbers: Mapping[str, I64], text: Mapping[str, pa.Array]
) -> Records:
    """The rows of the state table `before`, of the sessions of `streams`, and new ones; by session, the old ones first.

    `numbers` of the new ones has `session` and what does not begin as the layout says; sessions ascend in it.
    """
    count = len(numbers["session"])
    given = {"session": numbers["session"]} | {
        name: numbers[name] if name in numbers else np.full(count, initial, np.int64) for name, initial in layout.integers.items()
    }
    texts = {name: text[name].cast(pa.string()) for name in layout.texts}
    if before.num_rows == 0:
        return Records(layout, {name: values.astype(np.int64) for name, values in given.items()}, texts)
    session = coded(before.column("stream_id"), streams)
    session = np.concatenate([session, given["session"]])
    order = np.argsort(session, kind="stable")
    order = order[session[order] >= 0]
    index = pa.array(order)
    columns = {
        name: np.concatenate([integers(before.column(name)), given[name]])[order].astype(np.int64) for name in layout.integers
    }
    merged = {
        name: pa.concat_arrays([before.column(name).combine_chunks(), values]).take(index) for name, values in texts.items()
    }
    return Records(layout, {"session": session[order], **columns}, merged)
