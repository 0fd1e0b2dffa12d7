"""Where rows stand on the wire, and which of them wait because something that stands before them may still come.

A frame of the client stands at its first octet, whatever else there is at its last (stompcap.session.wire). Rows can be looked at
when nothing can come before them any more. So a frame that has begun and not ended holds back what the other side sends meanwhile;
but not for ever: a client's frame during which more than Options.memory rows and segments of the server came stands at its last octet.
Both are told by what was captured alone, so that sessions come to the same whole and in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.session.dialogue import CLIENT, FRAME, GAP, I64, Bools
from stompcap.session.lookup import flat
from stompcap.session.sums import Sums
from stompcap.session.wire import integers, place, repeated_codes, sides
from stompcap.tables import words

WAY = np.int64(2**44)  # no direction has so many octets


def ways(table: pa.Table, known: pa.Array) -> I64:
    """Direction of each row: session * 2 + side, the session being an index in `known`, -1 for other streams."""
    session = repeated_codes(table.column("stream_id"), known)
    return np.where(session >= 0, session * 2 + sides(table.column("direction")), -1)


def with_values(table: pa.Table, name: str, values: I64) -> pa.Table:
    """A table with a column of integers, be it there already or not."""
    column, index = pa.array(values), table.schema.get_field_index(name)
    return table.append_column(name, column) if index < 0 else table.set_column(index, name, column)


@dataclass(frozen=True)
class Rows:
    """Raw rows as numbers: direction, kind, offsets of the first octet and of the one behind the last, places of first and last octet."""

    way: I64
    kind: I64
    offset: I64
    end: I64
    first: I64
    last: I64

    @property
    def begins(self) -> Bools:
        """Frames of the client."""
        found: Bools = (self.kind == FRAME) & (self.way % 2 == CLIENT)
        return found


def rows_of(table: pa.Table, known: pa.Array) -> Rows:
    """Raw rows with the columns `first_place` and `last_place`."""
    offset = integers(table.column("stream_offset"))
    return Rows(
        ways(table, known), repeated_codes(table.column("kind"), pa.array(words.RAW_KINDS)), offset,
        offset + integers(table.column("length_octets")), integers(table.column("first_place")), integers(table.column("last_place")),
    )


def lengthy(rows: Rows, way: I64, came_at: I64, memory: int) -> Bools:
    """Frames of the client during which more than `memory` rows and segments of the server came.

    `way` and `came_at` are the segments'; what came between the first and last octets of a frame must be there.
    """
    found = np.zeros(len(rows.way), np.bool_)
    spread = np.flatnonzero(rows.begins & (rows.first < rows.last))
    most = int(max(rows.way.max(initial=-1), way.max(initial=-1))) + 2
    came = np.bincount(rows.way[rows.way >= 0], minlength=most) + np.bincount(way[way >= 0], minlength=most)
    spread = spread[came[rows.way[spread] + 1] > memory]
    for mine in np.unique(rows.way[spread]):
        of = spread[rows.way[spread] == mine]
        other = np.sort(np.concatenate([rows.last[rows.way == mine + 1], came_at[way == mine + 1]]))
        between = np.searchsorted(other, rows.last[of], "left") - np.searchsorted(other, rows.first[of], "right")
        found[of] = between > memory
    return found


def moved(frames: pa.Table, rows: Rows, late: Bools, known: pa.Array, where: I64) -> pa.Table:
    """Frames, those of the rows `late` with the place `where` of their row for their `position`."""
    keys, at = rows.way[late] * WAY + rows.offset[late], where[late]
    position = integers(frames.column("position")) if "position" in frames.column_names else np.full(frames.num_rows, -1, np.int64)
    of = integers(pc.index_in(pa.array(ways(frames, known) * WAY + integers(frames.column("stream_offset"))), pa.array(keys)))
    position = np.where(of >= 0, at[of], position)
    return with_values(frames, "position", position)


@dataclass(frozen=True)
class Standing:
    """Where rows of a piece stand, up to where nothing is missing, and what is known of frames that have not ended.

    rows    their places, those of lengthy frames as they count
    late    rows whose places were changed
    until   per session, the place before which all is there
    passed  per direction: the frame under way there holds back nothing any more
    lengthy, freed  per direction, as in stompcap.session.sums
    """

    rows: Rows
    late: Bools
    until: I64
    passed: Bools
    lengthy: I64
    freed: I64

    @property
    def where(self) -> I64:
        """The place each row stands at."""
        return np.where(self.rows.begins, self.rows.first, self.rows.last)

    def held(self, until: I64) -> tuple[Bools, I64]:
        """Rows that wait where those before a place, per session, are looked at; and per direction the offset from which on they do."""
        rows = self.rows
        waits = (self.where >= until[rows.way // 2]) & (rows.kind != GAP)
        cut = np.full(len(self.passed), END, np.int64)
        np.minimum.at(cut, rows.way[waits], rows.offset[waits])
        held: Bools = rows.offset >= cut[rows.way]
        return held, cut


def stand(
    rows: Rows, ends: I64, segments: tuple[I64, I64, I64], before: Sums, upto: I64, closing: Bools, memory: int
) -> Standing:
    """Where rows that were not looked at yet stand.

    `ends` per direction: behind its last octet among them and those before. `segments`: way, end offset and place of all that are not
    judged yet. `upto` and `closing` per session, as in stompcap.session.resume.Piece.
    """
    way, end, came_at = segments
    marked, freed = before.lengthy.reshape(-1).copy(), before.freed.reshape(-1).copy()
    marks = rows.offset == marked[rows.way]
    limit = np.repeat(np.where(closing, END, upto), 2)
    begun = np.full(len(ends), END, np.int64)  # the place of the first octet that no row has yet
    open_ended = (way >= 0) & ~np.repeat(closing, 2)[way]
    open_ended &= end > ends[way]
    np.minimum.at(begun, way[open_ended], came_at[open_ended])
    passed = (marked == ends) & (begun < END)
    begun[passed] = END

    came = np.zeros(len(ends), np.int64)
    for ways_, places in ((rows.way, rows.last), (way, came_at)):
        other = np.where(ways_ >= 0, ways_ ^ 1, 0)
        np.add.at(came, other[(ways_ >= 0) & (places > begun[other]) & (places < limit[other])], 1)
    now = came > memory
    marked[now], freed[now] = ends[now], limit[now]
    passed, begun = passed | now, np.where(now, END, begun)
    until = np.minimum(limit, begun).reshape(-1, 2).min(axis=1)

    session = rows.way // 2
    unsure = rows.begins & ~marks & (rows.last > until[session])  # whether it is lengthy shows later
    np.minimum.at(until, session[unsure], rows.first[unsure])
    late = marks | (lengthy(rows, way, came_at, memory) & ~unsure)
    at_last = np.where(marks, np.maximum(rows.last, freed[rows.way]), rows.last)
    first, last = np.where(late, at_last, rows.first), np.where(late, at_last, rows.last)
    placed = Rows(rows.way, rows.kind, rows.offset, rows.end, first, last)
    return Standing(placed, late, until, passed, marked.reshape(-1, 2), freed.reshape(-1, 2))


def whole(
    streams: pa.Table, rows: pa.Table, frames: pa.Table, segments: pa.Table, order: Mapping[str, int], memory: int
) -> tuple[pa.Table, pa.Table]:
    """Raw rows and frames of whole streams, lengthy frames with the places they count by; `order` ranks captures."""
    known = flat(streams.column("stream_id"))
    way = ways(segments, known)
    came = np.bincount(np.concatenate([ways(rows, known), way]) + 1)[1:]
    if came.max(initial=0) <= memory:
        return rows, frames
    last = place(rows, "last_", order)
    found = rows_of(with_values(with_values(rows, "first_place", place(rows, "first_", order)), "last_place", last), known)
    late = lengthy(found, way, place(segments, "", order), memory)
    if not late.any():
        return rows, frames
    return with_values(rows, "first_place", np.where(late, last, -1)), moved(frames, found, late, known, last)
