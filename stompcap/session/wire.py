"""Wire order: from tables of frames and raw rows to the dialogue.

A frame's place on the wire is the place (rank of the capture, packet) of its first octet for a client's frame, of its last for a
server's and for one that took very long (stompcap.session.placing); inside a direction it never falls, because TCP delivers in
order. Sorting is linear where the tables come in the order of their keys, as the pipeline gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.kernel import kernel
from stompcap.places import PACKET_BITS
from stompcap.session.dialogue import CLIENT, COMMANDS, FRAME, GAP, I8, I32, I64, SERVER, Dialogue, RawRows
from stompcap.session.horizon import rising
from stompcap.session.lookup import flat
from stompcap.tables import words

SHORTENED = pa.array(["content_length_shortened"])


def integers(column: pa.Array | pa.ChunkedArray, missing: int = -1) -> I64:
    """An integer column as numpy, nulls as `missing`."""
    array = flat(column)
    if array.null_count:
        array = array.fill_null(missing)
    return cast(I64, array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False))


def repeated_codes(column: pa.Array | pa.ChunkedArray, known: pa.Array) -> I64:
    """Index in `known` of each value, -1 where it is not there; cheap for columns in which a value stands many times in a row."""
    array = flat(column)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.null_count:
        return integers(pc.index_in(array, value_set=known))
    runs = pc.run_end_encode(array)
    ends = runs.run_ends.to_numpy()
    codes = integers(pc.index_in(runs.values, value_set=known))
    return np.repeat(codes, np.diff(ends, prepend=0))


def sides(column: pa.Array | pa.ChunkedArray) -> I8:
    """Directions as side codes."""
    return cast(I8, flat(pc.equal(flat(column), words.DIRECTIONS[SERVER])).to_numpy(zero_copy_only=False).astype(np.int8))


def place(table: pa.Table, which: str, order: Mapping[str, int]) -> I64:
    """Place on the wire (stompcap.places) of each row's first or last octet, as `which` begins the columns' names; or of its only one.

    `order` ranks the captures.
    """
    captures, ranks = pa.array(list(order), pa.string()), np.array(list(order.values()), np.int64)
    capture = repeated_codes(table.column(f"{which}capture_id"), captures)
    packet = integers(table.column(f"{which}packet"), 0)
    rank = np.where(capture >= 0, ranks[capture], 0) if len(ranks) else np.zeros(len(capture), np.int64)
    where: I64 = (rank << PACKET_BITS) | packet
    return remembered(table, f"{which}place", where)


def remembered(table: pa.Table, name: str, otherwise: I64) -> I64:
    """A column of what is known from earlier pieces of a session (stompcap.session.carry), where there is one."""
    if name not in table.column_names:
        return otherwise
    known = integers(table.column(name))
    return np.where(known >= 0, known, otherwise)


def by_key(session: I64, side: I8, offset: I64) -> I64 | None:
    """The order of rows by session, side and offset; None where they have it already."""
    direction = session * 2 + side
    step = np.diff(direction)
    if bool(np.all((step > 0) | ((step == 0) & (np.diff(offset) >= 0)))):
        return None
    order: I64 = np.lexsort((offset, direction)).astype(np.int64)
    return order


@kernel
def _interleave(direction: I64, position: I64, order: I64, merged: I64, starts: I64) -> None:
    """Merge the two directions of each session by position; `direction` = 2 * session + side, ascending.

    Raises positions to the running maximum of their direction, fills `merged` with indices into the rows and `starts`.
    """
    count = len(direction)
    i = 0
    for session in range(len(starts) - 1):
        starts[session] = i
        a = i
        while i < count and direction[i] == 2 * session:
            if i > a and position[i] < position[i - 1]:
                position[i] = position[i - 1]
            i += 1
        b = i
        while i < count and direction[i] == 2 * session + 1:
            if i > b and position[i] < position[i - 1]:
                position[i] = position[i - 1]
            i += 1
        k, x, y = a, a, b
        while x < b or y < i:
            if y >= i or (x < b and position[x] <= position[y]):
                merged[k] = x
                x += 1
            else:
                merged[k] = y
                y += 1
            k += 1
    starts[len(starts) - 1] = i


def raw_rows(rows: pa.Table, known: pa.Array, ranks: Mapping[str, int]) -> RawRows:
    """The raw rows of the streams in `known`, as numbers sorted by session, side and offset; `ranks` of the captures."""
    session = repeated_codes(rows.column("stream_id"), known)
    side, offset = sides(rows.column("direction")), integers(rows.column("stream_offset"))
    kept = np.flatnonzero(session >= 0)
    order = by_key(session[kept], side[kept], offset[kept])
    row = kept if order is None else kept[order]
    kind = repeated_codes(rows.column("kind"), pa.array(words.RAW_KINDS))
    begins = (kind == FRAME) & (side == CLIENT)
    where = np.where(kind == GAP, -1, np.where(begins, place(rows, "first_", ranks), place(rows, "last_", ranks)))

    def column(name: str, missing: int = -1) -> I64:
        return integers(rows.column(name), missing)[row]

    return RawRows(
        session=session[row].astype(np.int32),
        side=side[row],
        offset=offset[row],
        length=column("length_octets"),
        kind=kind[row].astype(np.int8),
        syntax=column("syntax", 0),
        shortened=repeated_codes(rows.column("delimited_by"), SHORTENED)[row] == 0,
        first_ns=column("first_ns"),
        last_ns=column("last_ns"),
        redacted=flat(rows.column("redacted")).to_numpy(zero_copy_only=False)[row],
        place=rising(session[row] * 2 + side[row], where[row]),
        row=row,
    )


def build(
    streams: pa.Table, rows: pa.Table, frames: pa.Table, order: Mapping[str, int], before: Mapping[str, int] | None = None
) -> Dialogue:
    """The dialogue of all streams that speak STOMP: by the streams table's word, or because they have frames.

    `before`: how many frames of a stream came in earlier pieces, by stream_id.
    """
    speaks = pc.or_(
        pc.equal(flat(streams.column("protocol")), "stomp"),
        pc.is_in(flat(streams.column("stream_id")), value_set=pc.unique(flat(frames.column("stream_id")))),
    )
    streams = streams.filter(speaks).combine_chunks()
    known = flat(streams.column("stream_id"))

    session, side = repeated_codes(frames.column("stream_id"), known), sides(frames.column("direction"))
    if len(session) and int(session.min()) < 0:
        raise ValueError("a frame belongs to none of the streams given")
    offset = integers(frames.column("stream_offset"))
    position = np.where(side == SERVER, place(frames, "last_", order), place(frames, "first_", order))

    sort = by_key(session, side, offset)
    if sort is None:
        sort = np.arange(len(session))
    position = remembered(frames, "position", position)[sort]
    merged, starts = np.empty(len(sort), np.int64), np.zeros(len(known) + 1, np.int64)
    _interleave((session * 2 + side)[sort], position, sort, merged, starts)
    row = sort[merged]

    def column(name: str, missing: int = -1) -> I64:
        return integers(frames.column(name), missing)[row]

    command = integers(pc.index_in(flat(frames.column("command")), value_set=pa.array(COMMANDS)), len(COMMANDS))
    version = repeated_codes(frames.column("version"), pa.array(words.VERSIONS))
    return Dialogue(
        session=session[row].astype(np.int32),
        side=side[row],
        command=command[row].astype(np.int8),
        version=version[row].astype(np.int8),
        offset=offset[row],
        length=column("length_octets"),
        body_octets=column("body_octets", 0),
        first_ns=column("first_ns"),
        last_ns=column("last_ns"),
        syntax=column("syntax", 0),
        position=position[merged],
        row=row,
        ordinal=_ordinals(session[row], starts, frames, row, known, before or {}),
        starts=starts,
        streams=streams,
        frames=frames,
        rows=raw_rows(rows, known, order),
    )


def _ordinals(
    session: I64, starts: I64, frames: pa.Table, row: I64, known: pa.Array, before: Mapping[str, int]
) -> I64:
    """How many frames of its session came before each frame."""
    place = np.arange(len(row)) - starts[session]
    if not before:
        return place
    told = integers(frames.column("ordinal"))[row]
    fresh = np.concatenate([[0], np.cumsum(told < 0)])
    base = np.array([before.get(name, 0) for name in known.to_pylist()], np.int64)
    return np.where(told >= 0, told, base[session] + fresh[:-1] - fresh[starts[session]])


def codes(*columns: pa.Array) -> list[I32]:
    """Dense codes of several text columns in one code space: equal text, equal code; -1 for null."""
    both = pa.concat_arrays([c.cast(pa.string()) for c in columns])
    indices = integers(both.dictionary_encode().indices).astype(np.int32)
    return list(np.split(indices, np.cumsum([len(c) for c in columns])[:-1]))


def spread(count: int, at: npt.NDArray[np.int64], values: I32) -> I32:
    """`values` at the places `at` of an array of `count` entries that is -1 elsewhere."""
    column = np.full(count, -1, np.int32)
    column[at] = values
    return column
