"""Wire order: from tables of frames and raw rows to the dialogue.

A row has the wire order of its last octet (`wire_order` of table raw_frames). It never falls within a direction, because TCP delivers
in order. Sorting is linear where the tables come in the order of their keys, as the pipeline gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import GAP, SERVER
from stompcap.columns import I64, Bools, by_key, coded, flat, integers, rising, truth
from stompcap.kernel import kernel
from stompcap.session.dialogue import COMMANDS, Dialogue, RawRows
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words
from stompcap.wire_order import END, PACKET_BITS

SHORTENED = pa.array(["content_length_shortened"])
EARLIER = "earlier"  # column of rows and frames of an earlier step, 1 there
WIRE_ORDER = "wire_order"
PLACE = "place"  # column of states: where a row of an earlier step stands, never falling in its direction


def sides(column: pa.Array | pa.ChunkedArray) -> I64:
    """Directions as side codes."""
    return cast(I64, flat(pc.equal(flat(column), words.DIRECTIONS[SERVER])).to_numpy(zero_copy_only=False).astype(np.int64))


def directions(table: pa.Table, streams: pa.Array) -> I64:
    """Direction of each row: session * 2 + side, the session being an index in `streams`; -1 for other streams."""
    session = coded(table.column("stream_id"), streams)
    return np.where(session >= 0, session * 2 + sides(table.column("direction")), -1)


def wire_order(table: pa.Table, which: str, order: Mapping[str, int]) -> I64:
    """Where each row stands in wire order; a row that an older version wrote without it stands by the packet of its octet `which`."""
    if WIRE_ORDER not in table.column_names:
        return capture_order(table, which, order)
    found = integers(table.column(WIRE_ORDER))
    missing = found < 0
    return np.where(missing, capture_order(table, which, order), found) if missing.any() else found


def capture_order(table: pa.Table, which: str, order: Mapping[str, int]) -> I64:
    """The packet of each row as one number that grows in order of capture; `order` ranks the captures.

    That of its first or last octet, as `which` begins the columns' names (`first_`, `last_`), or of its only one.
    """
    packet = integers(table.column(f"{which}packet"), 0)
    found: I64 = (_ranks(table.column(f"{which}capture_id"), order) << PACKET_BITS) | packet
    return found


def _ranks(captures: pa.ChunkedArray, order: Mapping[str, int]) -> I64:
    """The rank of each row's capture, 0 where it has none. Each capture is looked up once: `order` may have very many."""
    ids = flat(captures)
    if len(ids) == 0:
        return np.zeros(0, np.int64)
    runs = pc.run_end_encode(ids.fill_null("") if ids.null_count else ids)
    names = runs.values.dictionary_encode()
    ranks = np.array([order.get(name, 0) for name in names.dictionary.to_pylist()], np.int64)
    return np.repeat(ranks[names.indices.to_numpy()], np.diff(runs.run_ends.to_numpy(), prepend=0))


def raw_rows(rows: pa.Table, streams: pa.Array, order: Mapping[str, int]) -> RawRows:
    """The raw rows of these streams, as numbers sorted by session, side and offset; `order` ranks the captures."""
    direction, offset = directions(rows, streams), integers(rows.column("stream_offset"))
    own = np.flatnonzero(direction >= 0)
    sort = by_key(direction[own], offset[own])
    row = own if sort is None else own[sort]
    direction, kind = direction[row], coded(rows.column("kind"), words.RAW_KINDS)[row]

    first, last = (capture_order(rows, which, order)[row] for which in ("first_", "last_"))
    at = _rows_in_order(rows, order, direction, kind == GAP, first, row)
    begun = integers(rows.column("first_wire_order"))[row] if "first_wire_order" in rows.column_names else np.full(len(row), -1)
    joined = np.zeros(len(row), np.bool_)
    joined[1:] = (direction[1:] == direction[:-1]) & (first[1:] == last[:-1])

    def column(name: str, missing: int = -1) -> I64:
        return integers(rows.column(name), missing)[row]

    return RawRows(
        session=direction // 2,
        side=direction % 2,
        offset=offset[row],
        length=column("length_octets"),
        kind=kind,
        syntax=column("syntax", 0),
        shortened=coded(rows.column("delimited_by"), SHORTENED)[row] == 0,
        first_ns=column("first_ns"),
        last_ns=column("last_ns"),
        leaky=truth(rows.column("redacted"))[row] & (column("syntax", 0) & int(Syntax.TORN | Syntax.PASSCODE) != int(Syntax.TORN)),
        first_wire_order=np.where(begun < 0, first, begun),
        wire_order=at,
        rising_order=_rising(rows, direction, np.where(kind == GAP, -1, at), row),
        has_order=integers(rows.column(WIRE_ORDER))[row] >= 0 if WIRE_ORDER in rows.column_names else np.zeros(len(row), np.bool_),
        joined=joined,
        row=row,
        context=earlier(rows)[row],
        peer_unseen=np.zeros(len(row), np.bool_),
        trusted=np.ones(len(row), np.bool_),
    )


def _rows_in_order(rows: pa.Table, order: Mapping[str, int], direction: I64, gap: Bools, first: I64, row: I64) -> I64:
    """Where rows stand; a gap of which the table does not say it, where the row behind it begins."""
    known = np.full(len(row), -1, np.int64) if WIRE_ORDER not in rows.column_names else integers(rows.column(WIRE_ORDER))[row]
    found = np.where(gap, known, wire_order(rows, "last_", order)[row])
    unknown = np.flatnonzero(gap & (known < 0))
    behind = np.minimum(unknown + 1, max(len(row) - 1, 0))
    follows = (behind > unknown) & (direction[behind] == direction[unknown])
    found[unknown] = np.where(follows, first[behind], END)
    return found


def _rising(rows: pa.Table, direction: I64, at: I64, row: I64) -> I64:
    """Places that do not fall in a direction; those of rows of earlier steps stand in the table."""
    if PLACE in rows.column_names:
        known = integers(rows.column(PLACE))[row]
        at = np.where(known >= 0, known, at)
    return rising(direction, at)


def earlier(table: pa.Table) -> Bools:
    """Rows of an earlier step."""
    if EARLIER not in table.column_names:
        return np.zeros(table.num_rows, np.bool_)
    found: Bools = integers(table.column(EARLIER), 0) == 1
    return found


@kernel
def _interleave(direction: I64, at: I64, merged: I64, starts: I64) -> None:
    """Merge the two directions of each session by at; `direction` = 2 * session + side, ascending.

    Raises ats to the running maximum of their direction, fills `merged` with indices into the rows and `starts`.
    """
    count = len(direction)
    i = 0
    for session in range(len(starts) - 1):
        starts[session] = i
        a = b = i
        for side in range(2):
            begin = i
            while i < count and direction[i] == 2 * session + side:
                if i > begin and at[i] < at[i - 1]:
                    at[i] = at[i - 1]
                i += 1
            if side == 0:
                b = i
        k, x, y = a, a, b
        while x < b or y < i:
            if y >= i or (x < b and at[x] <= at[y]):
                merged[k] = x
                x += 1
            else:
                merged[k] = y
                y += 1
            k += 1
    starts[len(starts) - 1] = i


def _frames_in_order(frames: pa.Table, rows: RawRows, order: Mapping[str, int], direction: I64, offset: I64) -> I64:
    """Where frames stand: as their raw rows, those of an earlier step as the table says."""
    line = max(int(offset.max(initial=0)), int(rows.offset.max(initial=0))) + 1
    keys = rows.direction * line + rows.offset
    at = np.minimum(np.searchsorted(keys, direction * line + offset), max(len(rows) - 1, 0))
    found = rows.wire_order[at] if len(rows) else np.zeros(len(offset), np.int64)
    if not (len(rows) and rows.has_order[at].all()):
        found = np.where(rows.has_order[at], found, capture_order(frames, "last_", order))
    if PLACE in frames.column_names:
        known = integers(frames.column(PLACE))
        found = np.where(known >= 0, known, found)
    return found


def build(streams: pa.Table, rows: RawRows, frames: pa.Table, order: Mapping[str, int], before: I64) -> Dialogue:
    """The dialogue of the frames given; `before` counts the frames of each session that earlier steps had."""
    known = flat(streams.column("stream_id"))
    direction, offset = directions(frames, known), integers(frames.column("stream_offset"))
    sort = by_key(direction, offset)
    if sort is None:
        sort = np.arange(len(direction))
    at = _frames_in_order(frames, rows, order, direction, offset)[sort]
    merged, starts = np.empty(len(sort), np.int64), np.zeros(len(known) + 1, np.int64)
    _interleave(direction[sort], at, merged, starts)
    row = sort[merged]
    old, session = earlier(frames)[row], direction[row] // 2
    ordinal = np.arange(len(row)) - starts[session] + before[session]
    if old.any():
        passed = np.cumsum(old)
        ordinal -= passed - np.append(0, passed)[starts[session]]
        ordinal[old] = integers(frames.column("ordinal"))[row[old]]

    def column(name: str, missing: int = -1) -> I64:
        return integers(frames.column(name), missing)[row]

    command = integers(pc.index_in(flat(frames.column("command")), value_set=pa.array(COMMANDS)), len(COMMANDS))
    return Dialogue(
        session=session,
        side=direction[row] % 2,
        command=command[row],
        version=coded(frames.column("version"), words.VERSIONS)[row],
        offset=offset[row],
        length=column("length_octets"),
        body_octets=column("body_octets", 0),
        first_ns=column("first_ns"),
        last_ns=column("last_ns"),
        acked_ns=column("acked_ns") if "acked_ns" in frames.column_names else np.full(len(row), -1),
        syntax=column("syntax", 0),
        wire_order=at[merged],
        row=row,
        ordinal=ordinal,
        earlier=old,
        starts=starts,
        streams=streams,
        frames=frames,
        rows=rows,
    )


def speaking(streams: pa.Table, frames: pa.Table) -> pa.Table:
    """The streams that speak STOMP: by the streams table's word, or because they have frames."""
    speaks = pc.or_(
        pc.equal(flat(streams.column("protocol")), "stomp"),
        pc.is_in(flat(streams.column("stream_id")), value_set=pc.unique(flat(frames.column("stream_id")))),
    )
    return streams.filter(speaks).combine_chunks()
