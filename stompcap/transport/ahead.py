"""Octets of many streams that a layer takes one after the other, read for several at once: each reading has its price."""

from __future__ import annotations

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.transport.carried import Carried

AHEAD = 1 << 23
"""Octets that are read at once."""


class Ahead:
    """The octets of these streams, taken about in the order of their stretches. What is given may be written to: it is given once."""

    def __init__(self, below: Carried, streams: I64) -> None:
        self._below = below
        theirs = np.zeros(len(below), np.bool_)
        theirs[streams] = True
        self._others = np.flatnonzero(~theirs[below.stretches.stream])
        self._ends = np.concatenate(([0], np.cumsum(below.stretches.length)))
        self._first = self._stop = 0
        self._octets: Octets = np.empty(0, np.uint8)

    def read(self, first: int, stop: int, *, alone: bool = False) -> Octets:
        """The octets of the stretches from `first` up to `stop`, back to back; `alone`: those behind them will hardly be asked for."""
        if alone:
            return self._below.read(self._below.stretches.take(slice(first, stop)))
        if first < self._first or stop > self._stop:
            most = int(np.searchsorted(self._ends, self._ends[first] + AHEAD, "right")) - 1
            other = int(np.searchsorted(self._others, first))
            most = min(most, int(self._others[other])) if other < self._others.size else most
            self._first, self._stop = first, max(stop, most)
            self._octets = self._below.read(self._below.stretches.take(slice(self._first, self._stop)))
        base = self._ends[self._first]
        return self._octets[self._ends[first] - base : self._ends[stop] - base]
