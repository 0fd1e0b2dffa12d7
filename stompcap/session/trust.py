"""Which raw rows are certainly what the delimiter took them for.

Behind a gap the delimiter resynchronises at the next octets that look like a frame. If the gap hid the head of a frame, these may be part
of its body. So no rule fails by a frame behind a gap until an anchor: a frame that begins where a packet begins and ends, with the EOL
behind it, where a packet ends. The same holds behind a frame that is shorter than its content-length: the frames that seem to follow it
may be part of its body.
"""

from __future__ import annotations

import numpy as np

from stompcap.codes import EOL, FRAME, GAP
from stompcap.columns import I64, Bools
from stompcap.session.dialogue import RawRows
from stompcap.stomp.syntax import Syntax


def anchors(raw: RawRows) -> Bools:
    """Frames that begin where a packet begins and end where a packet ends."""
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
    """Gaps, rows directly behind a gap or at the beginning of a stream joined midway, and frames shorter than declared."""
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
    """Rows with no gap before them in their direction, or with an anchor since the last gap; the anchor is one of them.

    `at_start`, shape (sessions, 2): the octets before the first new row of the direction are trusted.
    """
    fresh = ~raw.context
    anchor, gap = _latest(anchors(raw) & fresh, raw), _latest(broken(raw) & fresh, raw)
    sure: Bools = (anchor >= gap) & ((anchor >= 0) | at_start[raw.session, raw.side])
    return sure


def at_end(raw: RawRows, at_start: Bools) -> Bools:
    """`at_start` of the next step: whether the last new row of each direction is trusted, shape (sessions, 2)."""
    after = at_start.copy()
    fresh = np.flatnonzero(~raw.context)
    after[raw.session[fresh], raw.side[fresh]] = raw.trusted[fresh]  # of several rows the last counts
    return after
