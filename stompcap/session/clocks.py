"""Which times of a session can be compared: the clocks of its directions may differ, and each may step (stompcap.tcp.clocks).

A step lies before the first frame that was complete behind it; between two steps the clocks differ or do not, by what was acknowledged
there. A duration is known where no step of a clock that it was measured by lies between its ends, and, where both clocks measured it, these
do not differ. A frame of which a part came before a step and a part behind it is torn: no duration begins or ends there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session.columns import I64, Bools, first_above, flat, integers
from stompcap.session.dialogue import FRAME, Dialogue
from stompcap.session.records import KEY_BITS, Layout, Records, keys, opened
from stompcap.session.wire import directions
from stompcap.tables import words

LAYOUT = Layout({"place": -1, "ordinal": -1, "sides": 0, "differed": 0, "torn": 0})
"""One row per step: its place, the ordinal of the first frame behind it (-1: none so far), whose clocks stepped (1 << side), whether they
differed until then. And one per torn frame, by its ordinal.
"""
STEP = words.STALLS[2]
NEVER = (1 << KEY_BITS) - 2  # the ordinal of a frame behind all that came
LAST = NEVER + 1  # and behind all steps
BOTH = None


@dataclass(frozen=True)
class Moment:
    """When something was, in nanoseconds, -1 where it was not; and the ordinal of the frame that shows it, LAST for the session's end."""

    ordinal: I64
    ns: I64


@dataclass(frozen=True)
class Clocks:
    """The clocks of sessions. `differ` per session: now, behind the last step; `unmeasured`: durations that could not be told, so far."""

    rows: Records
    differ: Bools
    unmeasured: I64

    def comparable(self, session: I64, first: I64, second: I64, side: int | None = BOTH) -> Bools:
        """Whether times at frames of these ordinals can be compared, those of one side or of both sides' clocks."""
        if len(self.rows) == 0:
            return np.ones(len(session), np.bool_) if side is not BOTH else ~self.differ[session]
        torn = self.rows["torn"] == 1
        steps = self.rows.take(np.flatnonzero(~torn))
        at = keys(steps["session"], np.where(steps["ordinal"] < 0, NEVER, steps["ordinal"]))
        begin, end = (np.searchsorted(at, keys(session, ordinal), side="right") for ordinal in (first, second))
        if side is BOTH:
            behind = np.append(steps["session"], -1)[end] == session
            differed = np.where(behind, np.append(steps["differed"], 0)[end] == 1, self.differ[session])
            known = (begin == end) & ~differed
        else:
            own = np.append(0, np.cumsum(steps["sides"] >> side & 1))
            known = own[begin] == own[end]
        of_torn = self.rows.key[torn]
        known &= ~np.isin(keys(session, first), of_torn) & ~np.isin(keys(session, second), of_torn)
        return known

    def elapsed(self, session: I64, begin: Moment, end: Moment, side: int | None = BOTH, *, counts: bool = True) -> pa.Array:
        """Microseconds between two moments, null where one is not, and where it cannot be told; that `counts` in `unmeasured`."""
        there = (begin.ns >= 0) & (end.ns >= 0)
        known = self.comparable(session, begin.ordinal, end.ordinal, side) & (end.ns >= begin.ns)
        if counts:
            np.add.at(self.unmeasured, session[there & ~known], 1)
        return pa.array((end.ns - begin.ns) // 1000, pa.int64(), mask=~(there & known))


def differing(table: pa.Table) -> Bools:
    """Rows of which 0 is outside the bounds of the clocks' difference."""
    least, most = (integers(table.column(f"clock_difference_{name}_us"), 0) for name in ("min", "max"))
    found: Bools = (least > 0) | (most < 0)
    return found


def follow(dialogue: Dialogue, stalls: pa.Table, before: pa.Table, unmeasured: I64) -> Clocks:
    """The clocks of a step's sessions: `stalls` has the steps of clocks that are new, `before` is the state table."""
    d = dialogue
    differ = differing(d.streams) if "clock_difference_min_us" in d.streams.column_names else np.zeros(d.sessions, np.bool_)
    rows = opened(LAYOUT, before, d.ids, _new(stalls, d.ids), {})
    if len(rows) == 0:
        return Clocks(rows, differ, unmeasured)
    rows = rows.take(np.lexsort((rows["place"], rows["session"])))
    waiting = np.flatnonzero((rows["torn"] == 0) & (rows["ordinal"] < 0))
    fresh = np.flatnonzero(~d.earlier)
    frame = first_above(rows["session"][waiting], rows["place"][waiting] - 1, d.session[fresh], d.position[fresh])
    rows["ordinal"][waiting] = np.where(frame < 0, -1, d.ordinal[fresh[frame]]) if len(fresh) else -1
    torn = _torn(d, rows)
    more = {"session": d.session[torn], "ordinal": d.ordinal[torn], "place": d.position[torn], "torn": np.ones(len(torn), np.int64)}
    none = np.zeros(len(torn), np.int64)
    rows = Records(LAYOUT, {name: np.concatenate([values, more.get(name, none)]) for name, values in rows.numbers.items()}, {})
    order = np.lexsort((rows["place"], np.where(rows["ordinal"] < 0, NEVER, rows["ordinal"]), rows["session"]))
    return Clocks(rows.take(order), differ, unmeasured)


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
    np.bitwise_or.at(differed, which.reshape(-1), differing(steps).astype(np.int64))
    own = found[0] >= 0
    return {"session": found[0][own], "place": found[1][own], "sides": sides[own], "differed": differed[own]}


def _torn(d: Dialogue, rows: Records) -> I64:
    """The new frames of which a part came before a step, and a part behind it."""
    raw = d.rows
    frame = np.flatnonzero((raw.kind == FRAME) & ~raw.beside)
    steps = rows.take(np.flatnonzero(rows["torn"] == 0))
    first, last = (
        first_above(raw.session[frame], places[frame], steps["session"], steps["place"]) for places in (raw.first_place, raw.last_place)
    )
    found = np.zeros(len(raw), np.bool_)
    found[frame] = first != last
    return np.flatnonzero(d.of_rows(found))
