"""What comes of the sides of TLS connections, in pieces: between holes, and of a size that is held at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stompcap.columns import I64
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried

FIRST = 1 << 14
"""Octets of a side that are read for its hello, where the others may not be asked for."""

AT_ONCE = 1 << 20
"""Octets of a side that are held at a time."""


class Coming:
    """The octets of these streams, side by side, taken in the order of the streams."""

    def __init__(self, below: Carried, streams: I64) -> None:
        found = below.stretches
        self._bounds, self._offset = below.bounds, found.offset
        self._ahead = Ahead(below, streams)
        ends = found.offset + found.length
        holes = found.offset[1:] - ends[:-1]
        self._behind_holes = 1 + np.flatnonzero((holes != 0) | found.unsure[1:])
        """Stretches that do not follow the one before them; the first of a direction mostly is one."""
        self._holes = holes[self._behind_holes - 1]
        self._unsure = found.unsure
        self._ends = np.cumsum(found.length)

    def of(self, stream: int, side: int, came: int, *, all_of_it: bool) -> Iterator[tuple[int, bytes]]:
        """The octets of a side behind those that came: how many are missing, and some of them; without `all_of_it` first few."""
        at, end = self._bounds[2 * stream + side : 2 * stream + side + 2].tolist()
        if at == end:
            return
        hole, most = int(self._offset[at]) - came, AT_ONCE if all_of_it else FIRST
        if self._unsure[at]:
            hole = max(hole, 1)
        next_ = int(np.searchsorted(self._behind_holes, at, "right"))
        while at < end:
            stop = min(int(self._behind_holes[next_]), end) if next_ < self._behind_holes.size else end
            before = int(self._ends[at - 1]) if at else 0
            if self._ends[stop - 1] - before > most:
                stop = max(int(np.searchsorted(self._ends, before + most, "right")), at + 1)
            yield hole, self._ahead.read(at, stop, alone=not all_of_it).tobytes()
            at, most, hole = stop, AT_ONCE, 0
            if at < end and next_ < self._behind_holes.size and self._behind_holes[next_] == at:
                hole = int(self._holes[next_])
                hole = max(hole, 1) if self._unsure[at] else hole
                next_ += 1
