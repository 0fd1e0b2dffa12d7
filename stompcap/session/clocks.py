"""Which times of a session can be compared: the clocks of its directions may differ, and each may step (stompcap.tcp.clocks).

A step lies before the first frame that was complete behind it; between two steps the clocks differ or do not, by what was acknowledged
there. A duration is known where no step of a clock that it was measured by lies between its ends, and, where both clocks measured it, these
do not differ. A frame of which a part came before a step and a part behind it is torn: no duration begins or ends there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, FRAME, SERVER, STALL_CLOCK_STEP
from stompcap.columns import I64, Bools, first_above, flat, integers
from stompcap.session.dialogue import Dialogue
from stompcap.session.layout import KEY_BITS, Field, Layout, Records, keys, opened
from stompcap.session.wire import directions
from stompcap.tables import words


class ClockStep(NamedTuple):
    """The steps of clocks and the torn frames, as columns of numbers."""

    session: I64
    place: Annotated[I64, Field()]  # in wire order
    ordinal: Annotated[I64, Field()]  # of the first frame behind a step, -1 so far; of a torn frame
    sides: Annotated[I64, Field(0)]  # whose clocks stepped, as bits 1 << side
    differed: Annotated[I64, Field(0)]  # whether the clocks differed until then; UNKNOWN: a clock stepped somewhere before
    torn: Annotated[I64, Field(0)]  # no step but a torn frame


LAYOUT = Layout(ClockStep)
STEP = words.STALLS[STALL_CLOCK_STEP]
NEVER = (1 << KEY_BITS) - 2  # the ordinal of a frame behind all that came
LAST = NEVER + 1  # and behind all steps
BOTH = None
UNKNOWN = 2
FAR_US = 2**52
FAR_NS = FAR_US * 1000


@dataclass(frozen=True)
class Moment:
    """When something was."""

    ordinal: I64  # of the frame that shows it; LAST for the end of the connection
    ns: I64  # in nanoseconds; -1 where it was not, 0 in captures without times


@dataclass(frozen=True)
class Clocks:
    """The clocks of sessions."""

    rows: Records
    least_ns: I64  # per session, how far the server's clock is at least ahead of the client's, behind the last step
    most_ns: I64  # and at most
    unmeasured: I64  # per session, durations that were not measurable so far

    @cached_property
    def ahead_ns(self) -> I64:
        """Per session the least that the server's clock must be ahead of the client's, below 0 if behind; 0 where they may agree."""
        return np.where(self.least_ns > 0, self.least_ns, np.minimum(self.most_ns, 0))

    @cached_property
    def differ(self) -> Bools:
        """Sessions whose clocks do not agree behind the last step."""
        found: Bools = (self.least_ns > 0) | (self.most_ns < 0)
        return found

    def read_by(self, side: I64 | int, session: I64, client_ns: I64 | None = None, server_ns: I64 | None = None) -> I64:
        """Times read off one side's clock, as the clock of `side` would have shown them; they are off by less than a round trip."""
        ahead = self.ahead_ns[session]
        read, by = (client_ns, CLIENT) if client_ns is not None else (server_ns, SERVER)
        assert read is not None
        return np.where((side == by) | (read < 0), read, read + ahead if by == CLIENT else read - ahead)

    def order(self, session: I64, client: Moment, server: Moment) -> tuple[Bools, Bools]:
        """Whether a moment of the client surely came before one of the server; and whether surely not."""
        timed = (client.ns > 0) & (server.ns > 0)
        compared = timed & self.comparable(session, client.ordinal, server.ordinal)
        bounded = timed & ~compared & self.together(session, client.ordinal, np.full(len(session), LAST))
        bounded &= self.together(session, server.ordinal, np.full(len(session), LAST))
        passed = server.ns - client.ns
        before = np.where(compared, passed > 0, bounded & (passed > self.most_ns[session]))
        behind = np.where(compared, passed <= 0, bounded & (passed <= self.least_ns[session]))
        return before, behind

    def together(self, session: I64, first: I64, second: I64) -> Bools:
        """Whether no clock stepped between frames of these ordinals."""
        found: Bools = self.comparable(session, first, second, CLIENT) & self.comparable(session, first, second, SERVER)
        return found

    def comparable(self, session: I64, first: I64, second: I64, side: int | None = BOTH) -> Bools:
        """Whether times at frames of these ordinals can be compared, those of one side or of both sides' clocks."""
        known: Bools
        if len(self.rows) == 0:
            known = np.ones(len(session), np.bool_) if side is not BOTH else ~self.differ[session]
            return known
        torn = self.rows["torn"] == 1
        steps = self.rows.take(np.flatnonzero(~torn))
        at = keys(steps["session"], np.where(steps["ordinal"] < 0, NEVER, steps["ordinal"]))
        begin, end = (np.searchsorted(at, keys(session, ordinal), side="right") for ordinal in (first, second))
        behind = np.append(steps["session"], -1)[end] == session
        until = np.append(steps["differed"], 0)[end]
        if side is BOTH:
            known = (begin == end) & ~np.where(behind, until > 0, self.differ[session])
        else:
            own = np.append(0, np.cumsum(steps["sides"] >> side & 1))
            known = (own[begin] == own[end]) & ~(behind & (until >= UNKNOWN))
        of_torn = self.rows.key[torn]
        known &= ~np.isin(keys(session, first), of_torn) & ~np.isin(keys(session, second), of_torn)
        return known

    def steps_before(self, direction: I64, place: I64) -> I64:
        """How often the clock of a direction (session * 2 + side) had stepped before a place in wire order."""
        return self._steps(direction, place, "place")

    def steps_until(self, direction: I64, ordinal: I64) -> I64:
        """How often the clock of a direction had stepped before the frame with an ordinal was complete, or (LAST) in all."""
        return self._steps(direction, ordinal, "ordinal")

    def _steps(self, direction: I64, at: I64, name: str) -> I64:
        steps = self.rows.take(np.flatnonzero(self.rows["torn"] == 0))
        if len(steps) == 0:
            return np.zeros(len(direction), np.int64)
        where = np.where(steps["ordinal"] < 0, NEVER, steps["ordinal"]) if name == "ordinal" else steps["place"]
        both = [(steps["session"] * 2 + side)[steps["sides"] >> side & 1 == 1] for side in (CLIENT, SERVER)]
        of, where = np.concatenate(both), np.concatenate([where[steps["sides"] >> side & 1 == 1] for side in (CLIENT, SERVER)])
        order = np.lexsort((where, of))
        of, where = of[order], where[order]
        behind, first = first_above(np.maximum(direction, 0), at, of, where), np.searchsorted(of, direction)
        return np.where(behind < 0, np.searchsorted(of, direction, side="right"), behind) - first

    def elapsed(self, session: I64, begin: Moment, end: Moment, side: int | None = BOTH, *, counts: bool = True) -> pa.Array:
        """Microseconds between two moments, null where one is not, and where it is not measurable; that `counts` in `unmeasured`."""
        there = (begin.ns >= 0) & (end.ns >= 0)
        known = self.comparable(session, begin.ordinal, end.ordinal, side) & (end.ns >= begin.ns) & (begin.ns > 0)
        if counts:
            np.add.at(self.unmeasured, session[there & ~known], 1)
        return pa.array((end.ns - begin.ns) // 1000, pa.int64(), mask=~(there & known))


def _bounds(table: pa.Table) -> tuple[I64, I64]:
    """The bounds of the clocks' difference that rows of streams or stalls have, in nanoseconds; far apart where they are not known."""
    if "clock_difference_min_us" not in table.column_names:
        return np.full(table.num_rows, -FAR_NS), np.full(table.num_rows, FAR_NS)
    least, most = integers(table.column("clock_difference_min_us"), -FAR_US), integers(table.column("clock_difference_max_us"), FAR_US)
    return least * 1000, most * 1000


def follow_clocks(dialogue: Dialogue, stalls: pa.Table, before: pa.Table, unmeasured: I64) -> Clocks:
    """The clocks of a step's sessions: `stalls` has the steps of clocks that are new, `before` is the state table."""
    d = dialogue
    least, most = _bounds(d.streams)
    rows = opened(LAYOUT, before, d.ids, _new(stalls, d.ids), {})
    if len(rows) == 0:
        return Clocks(rows, least, most, unmeasured)
    rows = rows.take(np.lexsort((rows["place"], rows["session"])))
    waiting = np.flatnonzero((rows["torn"] == 0) & (rows["ordinal"] < 0))
    fresh = np.flatnonzero(~d.earlier)
    frame = first_above(rows["session"][waiting], rows["place"][waiting] - 1, d.session[fresh], d.wire_order[fresh])
    rows["ordinal"][waiting] = np.where(frame < 0, -1, d.ordinal[fresh[frame]]) if len(fresh) else -1
    torn = _torn(d, rows)
    more = {"session": d.session[torn], "ordinal": d.ordinal[torn], "place": d.wire_order[torn], "torn": np.ones(len(torn), np.int64)}
    none = np.zeros(len(torn), np.int64)
    rows = Records(LAYOUT, {name: np.concatenate([values, more.get(name, none)]) for name, values in rows.numbers.items()}, {})
    order = np.lexsort((rows["place"], np.where(rows["ordinal"] < 0, NEVER, rows["ordinal"]), rows["session"]))
    return Clocks(rows.take(order), least, most, unmeasured)


def without_steps(stalls: pa.Table) -> pa.Table:
    """The stalls alone."""
    return stalls.filter(pc.not_equal(flat(stalls.column("kind")), STEP))


def _new(stalls: pa.Table, ids: pa.Array) -> Mapping[str, I64]:
    """Steps as numbers of LAYOUT, by session and place; a step of both clocks has a row of either in the table."""
    steps = stalls.filter(pc.equal(flat(stalls.column("kind")), STEP))
    if not steps.num_rows:
        return dict.fromkeys(("session", "place", "sides", "differed"), np.empty(0, np.int64))
    direction, place = directions(steps, ids), integers(steps.column("place"))
    found, which = np.unique(np.stack([direction // 2, place]), axis=1, return_inverse=True)
    sides, differed = np.zeros(found.shape[1], np.int64), np.zeros(found.shape[1], np.int64)
    np.bitwise_or.at(sides, which.reshape(-1), 1 << (direction % 2))
    least, most = _bounds(steps)
    np.bitwise_or.at(differed, which.reshape(-1), np.where(least > most, UNKNOWN, (least > 0) | (most < 0)).astype(np.int64))
    own = found[0] >= 0
    return {"session": found[0][own], "place": found[1][own], "sides": sides[own], "differed": differed[own]}


def _torn(d: Dialogue, rows: Records) -> I64:
    """The new frames of which a part came before a step, and a part behind it."""
    raw = d.rows
    frame = np.flatnonzero((raw.kind == FRAME) & ~raw.context)
    steps = rows.take(np.flatnonzero(rows["torn"] == 0))
    first, last = (
        first_above(raw.session[frame], octet[frame], steps["session"], steps["place"]) for octet in (raw.first_wire_order, raw.wire_order)
    )
    found = np.zeros(len(raw), np.bool_)
    found[frame] = first != last
    return np.flatnonzero(d.of_rows(found))
