"""Sessions in pieces: what was carried and what has come, analysed together, and what is carried on.

`advance` takes a piece and gives the analysis of what can be told now. Which rows are final, and what the state for the next piece
is, tells stompcap.session.keeping.

Pieces may end anywhere. A frame takes its place on the wire only when nothing can come before it any more (stompcap.session.placing);
what may not be looked at yet is carried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.session import carry as state
from stompcap.session import progress, sums
from stompcap.session.analyse import examine
from stompcap.session.analysis import Analysis, Options
from stompcap.session.carry import Carry, chosen, joined
from stompcap.session.dialogue import GAP, I64, Bools
from stompcap.session.lookup import flat
from stompcap.session.placing import moved, rows_of, stand, ways, with_values
from stompcap.session.turns import next_turn
from stompcap.session.wire import build, integers, place
from stompcap.tables import words


@dataclass(frozen=True)
class Piece:
    """What has come of some streams. Tables as for `analyse`; `rows` need not have their octets.

    streams   one row per stream, by what is known of it now; of its close, all that was captured before `upto`
    upto      per row of `streams`, a place on the wire: segments before it are here or came earlier, what comes later has its place
              there or behind; END where nothing more comes. Rows come as soon as they are delimited
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
    """The analysis of a piece with what was carried, the tables it was made from, and rows and frames it did not look at yet.

    `turned`, per row of the piece's streams: it was looked at up to a turn only (stompcap.session.turns) and must go on from there.
    """

    analysis: Analysis
    rows: pa.Table
    segments: pa.Table
    stalls: pa.Table
    ready: Bools
    waiting_rows: pa.Table
    waiting_frames: pa.Table
    turned: Bools


def _placed(rows: pa.Table, order: Mapping[str, int]) -> pa.Table:
    """Raw rows with their places."""
    gap = np.asarray(pc.equal(flat(rows.column("kind")), words.RAW_KINDS[GAP]))
    for which in ("first_", "last_"):
        found = np.where(gap, -1, place(rows, which, order))
        rows = with_values(rows, f"{which}place", found)
    return rows


def advance(piece: Piece, carried: Carry, order: Mapping[str, int], options: Options) -> Advance:
    """Analyse what has come with what was carried of the same streams; `order` ranks captures behind those of earlier pieces."""
    known = flat(piece.streams.column("stream_id"))
    mine = carried.of(known)
    frames = joined(state.FRAMES, mine.waiting_frames, piece.frames)
    rows = _placed(joined(state.ROWS, mine.waiting_rows, piece.rows), order)
    segments = joined(state.SEGMENTS, mine.segments, piece.segments)
    segments = with_values(segments, "place", place(segments, "", order))
    stalls = joined(state.STALLS, mine.stalls, piece.stalls)

    before = sums.of(mine.sums, piece.streams)
    found, ends = rows_of(rows, known), _ends(mine.rows, rows, known)
    way, where = ways(segments, known), integers(segments.column("place"))
    end = integers(segments.column("stream_offset")) + integers(segments.column("new_octets"))
    standing = stand(found, ends, (way, end, where), before, piece.upto, piece.closing, options.memory)
    told, turns, every = before.frames.sum(axis=1), before.turns[:, 0], max(options.open // 2, 1)
    held, _ = standing.held(standing.until)
    turn = next_turn(standing.rows, standing.where, held, _reached(mine.frames, known), told, turns, every)
    turned, until = turn < END, np.minimum(standing.until, turn)
    held, cut = standing.held(until)
    closing = piece.closing & ~turned

    rows = with_values(with_values(rows, "first_place", standing.rows.first), "last_place", standing.rows.last)
    if standing.late.any():
        frames = moved(frames, standing.rows, standing.late, known, standing.where)
    waits = integers(frames.column("stream_offset")) >= cut[ways(frames, known)]
    waiting_rows, waiting_frames = rows.filter(pa.array(held)), frames.filter(pa.array(waits))
    rows = joined(state.ROWS, mine.rows, chosen(rows, ~held))
    frames = joined(state.FRAMES, mine.frames, chosen(frames, ~waits))
    covered = (end <= np.minimum(cut, ends)[way]) | standing.passed[way]
    ready = _ready(way // 2, where, covered, until, closing)

    counts = {row["stream_id"]: row["frames_c2s"] + row["frames_s2c"]
              for row in mine.sums.select(["stream_id", "frames_c2s", "frames_s2c"]).to_pylist()}
    dialogue = build(piece.streams, rows, frames, order, counts or {"": 0})
    ending = pc.is_in(flat(dialogue.streams.column("stream_id")), value_set=known.filter(pa.array(closing)))
    now = replace(before, lengthy=standing.lengthy, freed=standing.freed, turns=before.turns + turned[:, None])
    earlier = sums.table(now, piece.streams)
    state_of = progress.of(dialogue, rows, np.asarray(ending), sums.of(earlier, dialogue.streams), options.memory)
    analysis = examine(dialogue, rows, segments, ready, order, stalls, earlier, state_of, options)
    return Advance(analysis, rows, segments, stalls, ready, waiting_rows, waiting_frames, turned)


def _reached(frames: pa.Table, known: pa.Array) -> I64:
    """Per direction the place of the last frame that was looked at, -1 where there was none."""
    reached = np.full(2 * len(known), -1, np.int64)
    np.maximum.at(reached, ways(frames, known), integers(frames.column("position")))
    return reached


def _ends(analysed: pa.Table, rows: pa.Table, known: pa.Array) -> I64:
    """Per direction the offset behind the last octet that raw rows have."""
    ends = np.zeros(2 * len(known), np.int64)
    for table in (analysed, rows):
        np.maximum.at(ends, ways(table, known), integers(table.column("stream_offset")) + integers(table.column("length_octets")))
    return ends


def _ready(session: I64, where: I64, covered: Bools, until: I64, closing: Bools) -> Bools:
    """Segments that heart-beats may be judged by: rows tell what they brought, none is missing before."""
    limit = until.copy()
    np.minimum.at(limit, session[~covered], where[~covered])
    ready: Bools = closing[session] | (covered & (where < limit[session]))
    return ready
