"""Where the frames of a connection that give secrets stand in the captures: later runs find them there again, and none is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import stomp, tcp
from stompcap.assembly.windows import Window
from stompcap.capture.columns import NEW, SEGMENTS
from stompcap.capture.files import Source
from stompcap.columns import I32, column
from stompcap.stomp.given import MOST, giving
from stompcap.stomp.rows import Runs
from stompcap.tcp.join import end_to_end
from stompcap.tcp.results import NO_EXTENTS, Extents

LARGEST = 1 << 16
"""Octets of a frame that is read again."""


@dataclass(frozen=True)
class Connects:
    """Extents, frame by frame, of rows of `segments`; `frames` of them."""

    extents: Extents
    segments: pa.Table
    frames: int

    def followed_by(self, more: Connects) -> Connects:
        """These and those that came later; of more than are searched for the last are left out."""
        if self.frames >= MOST:
            return self
        extents = replace(more.extents, row=more.extents.row + self.segments.num_rows)
        segments = pa.concat_tables([self.segments, more.segments]).combine_chunks()
        return Connects(end_to_end([self.extents, extents]), segments, self.frames + more.frames)

    def passcodes(self, sources: Mapping[int, Source], names: stomp.SecretNames) -> frozenset[bytes]:
        """The secrets given in them, where the captures are still there; what was kept of the octets of others has none."""
        there = column(self.segments, "earlier") == NEW
        if not self.frames or not there.all():
            return frozenset()
        octets = tcp.gather(self.extents, self.segments, sources)
        length, yes = np.array([octets.size]), np.ones(1, np.bool_)
        none = np.zeros(1, np.int64)
        rows = stomp.delimit(octets, Runs(none.astype(np.int32), none, length, none, yes, yes, length), names=names)
        return stomp.passcodes_of(octets, rows, names=names).get(0, frozenset())


NO_CONNECTS = Connects(NO_EXTENTS, SEGMENTS.empty_table(), 0)


def connects_of(window: Window, segments: pa.Table, known: Mapping[int, Connects]) -> dict[int, Connects]:
    """Those among the rows of a window, by stream, of streams of which no more than can be used are known.

    `segments` is what the extents of the window are of.
    """
    rows, e = window.rows, window.extents
    found: dict[int, Connects] = {}
    wanted = [number for number, stream in enumerate(window.streams.tolist()) if known.get(stream, NO_CONNECTS).frames < MOST]
    if not wanted:
        return found
    which = giving(window.octets, rows)
    which = which[np.isin(rows.direction[which] // 2, wanted) & (rows.length[which] <= LARGEST)]
    which = which[np.argsort(rows.direction[which] // 2, kind="stable")]
    of = window.streams[rows.direction[which] // 2]
    among_first = np.arange(which.size) - np.searchsorted(rows.direction[which] // 2, rows.direction[which] // 2) < MOST
    for row, stream in zip(which[among_first].tolist(), of[among_first].tolist(), strict=True):
        side = int(rows.direction[row] % 2)
        begin, end = int(rows.offset[row]), int(rows.offset[row] + rows.length[row])
        mine = e.take(np.flatnonzero((e.stream == stream) & (e.side == side) & (e.offset < end) & (e.offset + e.length > begin)))
        one = _of_frame(mine, begin, end, segments)
        found[stream] = found[stream].followed_by(one) if stream in found else one
    return found


def _of_frame(e: Extents, begin: int, end: int, segments: pa.Table) -> Connects:
    """The octets of a frame from `begin` to `end`, of extents that have them."""
    start, stop = np.maximum(e.offset, begin), np.minimum(e.offset + e.length, end)
    used, row = np.unique(e.row, return_inverse=True)
    stream: I32 = np.zeros(len(e), np.int32)
    found = replace(e, stream=stream, offset=start, length=stop - start, row=row, skip=e.skip + start - e.offset)
    return Connects(found, segments.take(pa.array(used)), 1)
