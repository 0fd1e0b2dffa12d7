"""Sessions that come in pieces: the session machine and the rules, and what both keep from one piece to the next.

A session of days is given piece by piece and each row comes out once, as soon as nothing to come can change it; sums, and what is
undecided, come out when the session is over. What is kept is bounded by what the session leaves open and by the memory for names
(stompcap.session.Options), and may be stored as octets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly.parts import joined
from stompcap.rules import engine
from stompcap.session import carry
from stompcap.session.analysis import Options
from stompcap.session.carry import Carry
from stompcap.session.dialogue import I64, Bools
from stompcap.session.keeping import keep, news
from stompcap.session.lookup import flat
from stompcap.session.resume import Piece, advance
from stompcap.session.turns import left_open, with_losses
from stompcap.session.wire import integers
from stompcap.settings import Settings


@dataclass(frozen=True)
class State:
    """What is kept of sessions between two pieces of them: what the session machine needs, and the rules' counts so far."""

    carry: Carry
    counts: pa.Table

    def of(self, streams: pa.Array) -> State:
        """The part that belongs to these streams."""
        return State(self.carry.of(streams), self.counts.filter(pc.is_in(self.counts.column("stream_id"), value_set=streams)))

    def to_bytes(self) -> bytes:
        """The state as octets."""
        return carry.packed([*self.carry.tables, self.counts])


def from_bytes(octets: bytes) -> State:
    """The state that `State.to_bytes` wrote; raises pyarrow.ArrowInvalid for other octets."""
    *tables, counts = carry.unpacked(octets)
    return State(Carry(*tables), counts)


def nothing() -> State:
    """The state before the first piece."""
    return State(carry.nothing(), engine.COUNTS.empty_table())


def resume(
    piece: Piece, state: State, order: Mapping[str, int], options: Options, settings: Settings | None = None
) -> tuple[dict[str, pa.Table], State]:
    """The rows that a piece makes final, by table, and the state of the sessions of its streams that go on.

    To tell sessions as they stand without ending them, give an empty piece in which all are closing, and keep the old state.
    """
    mine, told, kept = state.of(_ids(piece.streams)), [], []
    none = np.zeros(0, np.bool_)
    while True:
        step = _step(piece, mine, none, order, options, settings)
        told.append(step.tables)
        kept.append(step.state.of(_ids(piece.streams.filter(pa.array(~step.turned)))))
        if not step.turned.any():
            return joined(told), kept[0] if len(kept) == 1 else _together(kept)
        piece, many = _rest(piece, step.turned), step.open[step.turned] > options.open
        mine = step.state.of(_ids(piece.streams))
        if many.any():
            names = _ids(piece.streams.filter(pa.array(many)))
            mine = replace(mine, carry=replace(mine.carry, rows=with_losses(mine.carry.rows, names)))
            step = _step(_standing(piece), mine, many, order, options, settings)
            told.append(step.tables)
            mine = step.state


@dataclass(frozen=True)
class _Step:
    """What a step gives; per row of the piece's streams, whether it ended at a turn and how much is open there."""

    tables: dict[str, pa.Table]
    state: State
    turned: Bools
    open: I64


def _step(
    piece: Piece, mine: State, many: Bools, order: Mapping[str, int], options: Options, settings: Settings | None
) -> _Step:
    """Sessions up to the end of a piece or to their next turn; those that leave `many` open are told and forget them."""
    done = advance(piece, mine.carry, order, options)
    at = integers(pc.index_in(_ids(done.analysis.dialogue.streams), _ids(piece.streams)))
    forgets = many[at] if len(many) else np.zeros(len(at), np.bool_)
    tables, marks = news(done.analysis, forgets)
    given = replace(done.analysis, tables=tables | {"sessions": done.analysis.tables["sessions"]})
    judged = engine.follow(given, mine.counts, settings, forgets)
    kept = keep(done, marks, options, judged.holds, judged.row_holds, judged.counted, judged.row_counted, forgets)
    left = np.zeros(piece.streams.num_rows, np.int64)
    if done.turned.any():
        left[at] = left_open(done.analysis.machine)
    return _Step(tables | judged.tables, State(kept, judged.counts), done.turned, left)


def _rest(piece: Piece, which: Bools) -> Piece:
    """Some streams of a piece, of which nothing more comes with it."""
    rows, frames, segments, stalls = (table.slice(0, 0) for table in (piece.rows, piece.frames, piece.segments, piece.stalls))
    return Piece(piece.streams.filter(pa.array(which)), rows, frames, segments, stalls, piece.upto[which], piece.closing[which])


def _standing(piece: Piece) -> Piece:
    """The same streams as they are in the middle: open, and nothing more is looked at."""
    streams = piece.streams
    for name, value in (("close_kind", "open"), ("closed_by", None)):
        index = streams.schema.get_field_index(name)
        streams = streams.set_column(index, streams.schema.field(index), pa.repeat(pa.scalar(value, pa.string()), streams.num_rows))
    return replace(piece, streams=streams, upto=np.zeros_like(piece.upto), closing=np.zeros_like(piece.closing))


def _ids(streams: pa.Table) -> pa.Array:
    """The stream_id of each row."""
    return flat(streams.column("stream_id"))


def _together(states: Sequence[State]) -> State:
    """The state of all sessions of some states."""
    tables = (pa.concat_tables(one) for one in zip(*(state.carry.tables for state in states), strict=True))
    return State(Carry(*tables), pa.concat_tables([state.counts for state in states]))
