"""Sessions in pieces: what was carried and what has come, analysed together, and what is carried on.

`advance` takes a piece and gives the analysis of what can be told now. Which rows are final, and what the state for the next piece
is, tells stompcap.session.keeping.

Pieces may end anywhere. A frame takes its place on the wire only when nothing can come before it any more: `Piece.upto` says up to
which place that is so; what lies behind is carried unlooked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.session import carry as state
from stompcap.session import progress, sums
from stompcap.session.analyse import examine
from stompcap.session.analysis import Analysis, Options
from stompcap.session.carry import Carry, chosen, joined
from stompcap.session.dialogue import CLIENT, FRAME, GAP, I64, Bools
from stompcap.session.lookup import flat
from stompcap.session.wire import build, integers, place, repeated_codes, sides
from stompcap.tables import words


@dataclass(frozen=True)
class Piece:
    """What has come of some streams. Tables as for `analyse`; `rows` need not have their octets.

    streams   one row per stream, by what is known of it now; of its close, all that was captured before `upto`
    upto      per row of `streams`, a place on the wire: what comes later of either direction has its place there or behind;
              END where nothing more comes
    closing   per row of `streams`: it is over, or is to be told as it stands
    """

    streams: pa.Table
    rows: pa.Table
    frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    upto: I64
    closing: Bools


@dataclass(frozen=True)
class Advance:
    """The analysis of a piece with what was carried, the tables it was made from, and rows and frames it did not look at yet."""

    analysis: Analysis
    rows: pa.Table
    segments: pa.Table
    stalls: pa.Table
    ready: Bools
    waiting_rows: pa.Table
    waiting_frames: pa.Table


def _held(rows: pa.Table, session: I64, side: I64, upto: I64) -> tuple[Bools, I64]:
    """Rows behind the first whose place is not settled, direction by direction; and the offset of that one, END where there is none."""
    offset, kind = integers(rows.column("stream_offset")), repeated_codes(rows.column("kind"), pa.array(words.RAW_KINDS))
    first, last = integers(rows.column("first_place")), integers(rows.column("last_place"))
    where = np.where((kind == FRAME) & (side == CLIENT), first, last)
    late = (where >= upto[session]) & (kind != GAP)
    way = session * 2 + side
    cut = np.full(2 * len(upto), END, np.int64)
    np.minimum.at(cut, way[late], offset[late])
    held: Bools = offset >= cut[way]
    return held, cut


def _keys(table: pa.Table, known: pa.Array) -> tuple[I64, I64]:
    """Session and side of each row."""
    return repeated_codes(table.column("stream_id"), known), sides(table.column("direction")).astype(np.int64)


def _placed(rows: pa.Table, order: Mapping[str, int]) -> pa.Table:
    """Raw rows with their places."""
    gap = np.asarray(pc.equal(flat(rows.column("kind")), words.RAW_KINDS[GAP]))
    for which in ("first_", "last_"):
        found = np.where(gap, -1, place(rows, which, order))
        rows = rows.set_column(rows.schema.get_field_index(f"{which}place"), f"{which}place", pa.array(found))
    return rows


def advance(piece: Piece, carried: Carry, order: Mapping[str, int], options: Options) -> Advance:
    """Analyse what has come with what was carried of the same streams; `order` ranks captures behind those of earlier pieces."""
    known = flat(piece.streams.column("stream_id"))
    mine = carried.of(known)
    frames = joined(state.FRAMES, mine.waiting_frames, piece.frames)
    rows = _placed(joined(state.ROWS, mine.waiting_rows, piece.rows), order)
    segments = joined(state.SEGMENTS, mine.segments, piece.segments)
    stalls = joined(state.STALLS, mine.stalls, piece.stalls)

    held, cut = _held(rows, *_keys(rows, known), np.where(piece.closing, END, piece.upto))
    session, side = _keys(frames, known)
    waits = integers(frames.column("stream_offset")) >= cut[session * 2 + side]
    waiting_rows, waiting_frames = rows.filter(pa.array(held)), frames.filter(pa.array(waits))
    rows = joined(state.ROWS, mine.rows, chosen(rows, ~held))
    frames = joined(state.FRAMES, mine.frames, chosen(frames, ~waits))
    segments, ready = _ready(segments, rows, cut, piece, known, order)

    counts = {row["stream_id"]: row["frames_c2s"] + row["frames_s2c"]
              for row in mine.sums.select(["stream_id", "frames_c2s", "frames_s2c"]).to_pylist()}
    dialogue = build(piece.streams, rows, frames, order, counts or {"": 0})
    ending = pc.is_in(flat(dialogue.streams.column("stream_id")), value_set=known.filter(pa.array(piece.closing)))
    before = sums.of(mine.sums, dialogue.streams)
    told = progress.of(dialogue, rows, np.asarray(ending), before, options.memory)
    analysis = examine(dialogue, rows, segments, ready, order, stalls, mine.sums, told, options)
    return Advance(analysis, rows, segments, stalls, ready, waiting_rows, waiting_frames)


def _ready(
    segments: pa.Table, rows: pa.Table, cut: I64, piece: Piece, known: pa.Array, order: Mapping[str, int]
) -> tuple[pa.Table, Bools]:
    """Segments with their places, and which of them heart-beats may be judged by: rows tell what they brought, none is missing before."""
    where = place(segments, "", order)
    segments = segments.set_column(segments.schema.get_field_index("place"), "place", pa.array(where))

    ends = np.zeros(len(cut), np.int64)
    session, side = _keys(rows, known)
    np.maximum.at(ends, session * 2 + side, integers(rows.column("stream_offset")) + integers(rows.column("length_octets")))
    session, side = _keys(segments, known)
    end = integers(segments.column("stream_offset")) + integers(segments.column("new_octets"))
    covered = end <= np.minimum(cut, ends)[session * 2 + side]
    limit = piece.upto.copy()
    np.minimum.at(limit, session[~covered], where[~covered])
    ready: Bools = piece.closing[session] | (covered & (where < limit[session]))
    return segments, ready
