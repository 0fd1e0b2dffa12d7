"""Sessions that come in pieces: a step of the session machine and of the rules for each, and the state of both between them.

Each row comes out once, as soon as nothing to come can change it; sums, and what is undecided, come out when the session is over. What is
kept is bounded by what the session leaves open and by how long names are known (stompcap.session.Options), and may be stored as octets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap import session
from stompcap.assembly.parts import split
from stompcap.assembly.resume import older_states, packing, state_layout
from stompcap.columns import I64, U8, coded, flat
from stompcap.rules import engine
from stompcap.rules.engine import RuleState
from stompcap.session import state as tables_of
from stompcap.settings import Settings


@dataclass(frozen=True)
class State:
    """What is kept of sessions between two pieces of them: that of the session machine, and that of the rules."""

    session: session.State
    rules: RuleState

    def of(self, streams: pa.Array) -> State:
        """The part that belongs to these streams."""
        return State(self.session.of(streams), self.rules.of(streams))

    def each(self, streams: pa.Array) -> list[State]:
        """The part of each of these streams."""
        tables = [split(table, streams) for table in (*self.session.tables.values(), self.rules.counts, self.rules.pending)]
        names = list(self.session.tables)
        return [State(session.State(dict(zip(names, own, strict=False))), RuleState(*own[-2:])) for own in zip(*tables, strict=True)]

    def sizes(self, streams: pa.Array) -> I64:
        """How many rows the session machine keeps of each of these streams."""
        found = np.zeros(len(streams), np.int64)
        for table in self.session.tables.values():
            codes = coded(table.column("stream_id"), streams)
            found += np.bincount(codes[codes >= 0], minlength=len(streams))
        return found

    def arrays(self, prefix: str = "") -> dict[str, U8]:
        """The state as arrays whose names begin with `prefix` (stompcap.assembly.resume.packing)."""
        tables = {**self.session.tables, "counts": self.rules.counts, "pending": self.rules.pending}
        parts = older_states.PARTS_OF_SESSION
        return packing.of_tables({parts[name]: table for name, table in tables.items()}, state_layout.now().schemas, prefix)

    def to_bytes(self) -> bytes:
        """The state as octets."""
        return packing.pack({older_states.LAYOUT: older_states.layout(), **self.arrays()})


def from_bytes(octets: bytes) -> State:
    """The state that `State.to_bytes` of any version wrote; raises pyarrow.ArrowInvalid for other octets.

    Raises stompcap.assembly.resume.older_states.StateError where it lacks what cannot be known any more.
    """
    return of_arrays(packing.unpack(octets) if packing.is_packed(octets) else {older_states.STATE: np.frombuffer(octets, np.uint8)})


def of_arrays(arrays: packing.Arrays, prefix: str = "") -> State:
    """The state that `State.arrays` of any version gave, among other arrays."""
    tables = older_states.of_session(arrays, prefix)
    return State(tables_of.of_tables(tables), RuleState(tables["counts"], tables["pending"]))


def together(states: Sequence[State]) -> State:
    """The state of all sessions of some states."""
    counts, waiting = ([getattr(state.rules, name) for state in states] for name in ("counts", "pending"))
    return State(tables_of.together([state.session for state in states]), RuleState(pa.concat_tables(counts), pa.concat_tables(waiting)))


EMPTY = State(session.EMPTY, RuleState.empty())


def resume(
    batch: session.StepInput, state: State, order: Mapping[str, int], options: session.Options, settings: Settings | None = None
) -> tuple[dict[str, pa.Table], State]:
    """The rows that a piece makes final, by table, and the state of the sessions of its streams that go on.

    To get sessions as they stand without ending them, give an empty piece in which all are closing, and keep the old state.
    """
    mine = state.of(flat(batch.streams.column("stream_id")))
    done = session.step(batch, mine.session, order, options)
    analysis = done.analysis
    judged = engine.follow(analysis, mine.rules, settings)
    tables = analysis.tables | {"sessions": analysis.tables["sessions"].filter(pa.array(analysis.closing, pa.bool_()))}
    return tables | judged.tables, State(session.carry(done, options), judged.state)
