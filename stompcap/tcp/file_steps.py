"""Where a flow passes from one capture of a rotation to another between which the clock is known to have stepped.

No packet of the flow need show it: the files do (stompcap.capture.rotation). The flow's first packet behind each such step is marked
STEPPED, so that no time before it is compared with one behind it (stompcap.tcp.clocks). Captures that were taken at once have packets of
the flow in turns, or the same ones: between these nothing stepped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from stompcap.capture.rotation import SAME_CLOCK, STEPS
from stompcap.capture.segment_columns import ELSEWHERE, STEPPED
from stompcap.columns import I32, I64, Bools, column
from stompcap.kernel import allocating

MOST = 64  # rotations of a flow
NO_CLOCKS: I64 = np.empty(0, np.int64)


def by_rank(clocks: Sequence[int] | I64, captures: int) -> I64:
    """The clock of each of so many captures, by rank; those of which none is given never stepped."""
    found = np.full(captures + 1, SAME_CLOCK, np.int64)
    found[: len(clocks)] = clocks
    return found


@allocating
def first_behind(begins: I64, capture: I32, flags: I32, clocks: I64) -> Bools:
    """Whether a row is its flow's first behind a step; rows in the order in which they crossed the wire, flows by `begins`."""
    found = np.zeros(len(capture), np.bool_)
    latest, last_row = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    for flow in range(len(begins) - 1):
        rotations = 0
        for row in range(begins[flow], begins[flow + 1]):
            clock = clocks[capture[row]] if capture[row] >= 0 else SAME_CLOCK
            if clock == SAME_CLOCK:
                continue
            at = 0
            while at < rotations and latest[at] >> STEPS != clock >> STEPS:
                at += 1
            if at == rotations:
                if rotations < MOST and not flags[row] & ELSEWHERE:
                    latest[at], last_row[at] = clock, -1
                    rotations += 1
            elif flags[row] & ELSEWHERE or clock < latest[at]:
                if last_row[at] >= 0:
                    found[last_row[at]] = False
                    last_row[at] = -1
            elif clock > latest[at]:
                found[row] = True
                latest[at], last_row[at] = clock, row
    return found


def marked(segments: pa.Table, begins: I64, clocks: I64) -> pa.Table:
    """The segments with those marked that are the first behind a step; `begins` are the rows where flows begin, and one past all."""
    if not (clocks >= 0).any():
        return segments
    flags = column(segments, "flags")
    return with_flags(segments, np.flatnonzero(first_behind(begins, column(segments, "capture"), flags & ~STEPPED, clocks)))


def with_flags(segments: pa.Table, rows: I64) -> pa.Table:
    """The segments with these rows marked, and no others."""
    flags = column(segments, "flags")
    if not len(rows) and not (flags & STEPPED).any():
        return segments
    flags = flags & ~STEPPED
    flags[rows] |= STEPPED
    at = segments.schema.get_field_index("flags")
    return segments.set_column(at, segments.schema.field(at), pa.array(flags))


class Passed:
    """Of one flow that is read in parts, or of which an earlier run left a state: the clocks up to now of its rotations."""

    def __init__(self, clocks: I64) -> None:
        self._clocks = clocks
        self._latest: dict[int, int] = {}

    def took(self, ranks: I64) -> None:
        """Packets of these captures came, or may have."""
        for clock in self._clocks[ranks[ranks >= 0]].tolist():
            if clock != SAME_CLOCK:
                self._latest[clock >> STEPS] = max(clock, self._latest.get(clock >> STEPS, clock))

    def marked(self, segments: pa.Table) -> pa.Table:
        """The next segments, with the first behind a step marked, too."""
        if not (self._clocks >= 0).any():
            return segments
        flags, capture = column(segments, "flags"), column(segments, "capture")
        clock = np.where((capture >= 0) & (flags & ELSEWHERE == 0), self._clocks[capture], SAME_CLOCK)
        rows = np.flatnonzero(flags & STEPPED)
        rotation, first = np.unique(np.where(clock < 0, SAME_CLOCK, clock >> STEPS), return_index=True)
        behind = zip(rotation.tolist(), first.tolist(), strict=True)
        more = [at for one, at in behind if clock[at] > self._latest.get(one, clock[at])]
        self.took(capture)
        return with_flags(segments, np.append(rows, np.array(more, np.int64)))
