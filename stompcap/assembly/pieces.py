"""Sessions that come in pieces: the session machine and the rules, and what both keep from one piece to the next.

A session of days is given piece by piece and each row comes out once, as soon as nothing to come can change it; sums, and what is
undecided, come out when the session is over. What is kept is bounded by what the session leaves open and by the memory for names
(stompcap.session.Options), and may be stored as octets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules import engine
from stompcap.session import carry
from stompcap.session.analysis import Options
from stompcap.session.carry import Carry
from stompcap.session.keeping import keep, news
from stompcap.session.resume import Piece, advance
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
    mine = state.of(piece.streams.column("stream_id").combine_chunks())
    done = advance(piece, mine.carry, order, options)
    tables, marks = news(done.analysis)
    judged = engine.follow(replace(done.analysis, tables=tables | {"sessions": done.analysis.tables["sessions"]}), mine.counts, settings)
    kept = keep(done, marks, options, judged.holds, judged.row_holds, judged.counted, judged.row_counted)
    return tables | judged.tables, State(kept, judged.counts)
