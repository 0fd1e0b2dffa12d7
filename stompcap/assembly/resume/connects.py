"""Where the frames of a connection that give secrets stand in the captures: later runs find them there again, and none is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap import stomp
from stompcap.assembly.windows import Window
from stompcap.capture.files import Source
from stompcap.capture.segment_columns import NEW, SEGMENTS
from stompcap.columns import column
from stompcap.stomp.delimiter_io import Runs
from stompcap.stomp.passcodes import MOST, giving
from stompcap.tcp.join import end_to_end
from stompcap.transport.octets import read
from stompcap.transport.stretches import NO_STRETCHES, Stretches

LARGEST = 1 << 16
"""Octets of a frame that is read again."""


@dataclass(frozen=True)
class Connects:
    """Stretches, frame by frame, of rows of `segments`; `frames` of them."""

    stretches: Stretches
    segments: pa.Table
    frames: int

    def followed_by(self, more: Connects) -> Connects:
        """These and those that came later; of more than are searched for the last are left out."""
        if self.frames >= MOST:
            return self
        moved = more.stretches.moved(0, np.arange(more.segments.num_rows) + self.segments.num_rows)
        segments = pa.concat_tables([self.segments, more.segments]).combine_chunks()
        return Connects(end_to_end([self.stretches, moved]), segments, self.frames + more.frames)

    def passcodes(self, sources: Mapping[int, Source], names: stomp.SecretNames) -> frozenset[bytes]:
        """The secrets given in them, where the captures are still there; what was kept of the octets of others has none."""
        there = column(self.segments, "earlier") == NEW
        if not self.frames or not there.all():
            return frozenset()
        octets = read(self.stretches, self.segments, sources)
        rows = stomp.delimit(octets, Runs.whole(octets), names=names)
        return stomp.passcodes_of(octets, rows, names=names).get(0, frozenset())


NO_CONNECTS = Connects(NO_STRETCHES, SEGMENTS.empty_table(), 0)


def connects_of(window: Window, segments: pa.Table, known: Mapping[int, Connects]) -> dict[int, Connects]:
    """Those among the rows of a window, by stream, of streams of which no more than can be used are known.

    `segments` is what the stretches of the window are of.
    """
    rows, all_of = window.rows, window.stretches
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
        there = (all_of.offset < end) & (all_of.offset + all_of.length > begin)
        mine = all_of.take(np.flatnonzero((all_of.stream == stream) & (all_of.side == side) & there)).between(begin, end)
        one = _of_frame(mine, segments)
        found[stream] = found[stream].followed_by(one) if stream in found else one
    return found


def _of_frame(mine: Stretches, segments: pa.Table) -> Connects:
    """A frame that consists of these stretches."""
    found, rows = mine.with_own_rows()
    return Connects(replace(found, stream=np.zeros(len(mine), np.int32)), segments.take(pa.array(rows)), 1)
