"""Trust: which raw rows are surely what they seem.

Behind a gap the delimiter finds the next frame by its looks. Where the gap took the head of a frame with a body, the body's own octets
may look like frames, so no rule fails by a frame behind a gap until a frame that can only be one: it begins where a packet
begins and ends, its line end included, where a packet ends. The same goes for a frame that is shorter than it declares: where the
capture ends inside its body, what seems to follow it may be a quotation.
"""

from __future__ import annotations

import numpy as np

from stompcap.codes import EOL, FRAME, GAP
from stompcap.columns import I64, Bools
from stompcap.session.dialogue import RawRows
from stompcap.stomp.syntax import Syntax


def anchors(raw: RawRows) -> Bools:
    """Rows of kind frame that begin and end with packets of their own."""
    count = len(raw)
    if count == 0:
        return np.zeros(0, bool)
    direction = raw.direction
    joined = np.zeros(count + 1, bool)  # row i begins in the packet in which the row before it ends
    same = (direction[1:] == direction[:-1]) & (raw.offset[:-1] + raw.length[:-1] == raw.offset[1:])
    octets = (raw.kind[1:] != GAP) & (raw.kind[:-1] != GAP)
    joined[1:-1] = same & octets & raw.joined[1:]
    met = raw.offset == 0  # the octets before it are known, or there are none
    met[1:] |= same & (raw.kind[:-1] != GAP)
    trailed = joined[1:] & (np.append(raw.kind[1:], FRAME) == EOL)
    ends = ~joined[1:] | (trailed & ~np.append(joined[2:], False))
    found: Bools = (raw.kind == FRAME) & met & ~joined[:-1] & ends
    return found


def broken(raw: RawRows) -> Bools:
    """Gaps, rows directly behind one or behind the beginning of a capture that starts mid-stream, and frames cut short."""
    gap: Bools = (raw.kind == GAP) | ((raw.syntax & int(Syntax.AFTER_GAP)) != 0) | raw.shortened
    return gap


def _latest(marked: Bools, raw: RawRows) -> I64:
    """Per row the latest marked one at or before it in its direction, -1 where there is none."""
    count = len(raw)
    if count == 0:
        return np.zeros(0, np.int64)
    direction = raw.direction
    found = np.maximum.accumulate(np.where(marked, np.arange(count), -1))
    return np.where((found >= 0) & (direction[found] == direction), found, -1)


def trusted(raw: RawRows, at_start: Bools) -> Bools:
    """Rows that have no gap before them in their direction, or an anchor since, themselves included.

    `at_start`, shape (sessions, 2): the octets before the first row that is new are trusted.
    """
    fresh = ~raw.context
    anchor, gap = _latest(anchors(raw) & fresh, raw), _latest(broken(raw) & fresh, raw)
    sure: Bools = (anchor >= gap) & ((anchor >= 0) | at_start[raw.session, raw.side])
    return sure


def at_end(raw: RawRows, at_start: Bools) -> Bools:
    """`at_start` of the rows to come: whether the last row that is new is `trusted`, shape (sessions, 2)."""
    after = at_start.copy()
    fresh = np.flatnonzero(~raw.context)
    after[raw.session[fresh], raw.side[fresh]] = raw.trusted[fresh]  # of several rows the last counts
    return after
