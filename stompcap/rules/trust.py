"""Trust: which raw rows are surely what they seem.

Behind a gap the delimiter finds the next frame by its looks. Where the gap took the head of a frame with a body, the body's own octets
may look like frames, so nothing behind a gap is held against anyone until a frame that can only be one: it begins where a packet
begins and ends, its line end included, where a packet ends. (Packets are told apart by their times.) The same goes for a frame that
is shorter than it declares: where the capture ends inside its body, what seems to follow it may be a quotation.
"""

from __future__ import annotations

import numpy as np

from stompcap.session.dialogue import EOL, FRAME, GAP, I64, Bools, RawRows
from stompcap.stomp.syntax import Syntax


def anchors(raw: RawRows) -> Bools:
    """Rows of kind frame that begin and end with packets of their own."""
    count = len(raw)
    if count == 0:
        return np.zeros(0, bool)
    way = raw.session.astype(np.int64) * 2 + raw.side
    joined = np.zeros(count + 1, bool)  # row i is met by the row before it, in the same packet
    same = (way[1:] == way[:-1]) & (raw.offset[:-1] + raw.length[:-1] == raw.offset[1:])
    joined[1:-1] = same & (raw.first_ns[1:] == raw.last_ns[:-1]) & (raw.first_ns[1:] >= 0)
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
    place = np.maximum.accumulate(np.where(marked, np.arange(count), -1)) if count else np.zeros(0, np.int64)
    way = raw.session.astype(np.int64) * 2 + raw.side
    return np.where((place >= 0) & (way[place] == way), place, -1) if count else place


def trusted(raw: RawRows) -> Bools:
    """Rows that have no gap before them in their direction, or an anchor since, themselves included."""
    found: Bools = _latest(anchors(raw), raw) >= _latest(broken(raw), raw)
    return found


def proofs(raw: RawRows) -> Bools:
    """The first anchor behind the last gap of each direction, which proves what follows."""
    sure, gap = anchors(raw), _latest(broken(raw), raw)
    way = raw.session.astype(np.int64) * 2 + raw.side
    last = np.full(int(way.max(initial=-1)) + 1, -1, np.int64)
    np.maximum.at(last, way, gap)
    candidates = np.flatnonzero(sure & (gap >= 0) & (gap == last[way]))
    chosen = np.zeros(len(raw), bool)
    chosen[candidates[np.unique(way[candidates], return_index=True)[1]]] = True
    return chosen
