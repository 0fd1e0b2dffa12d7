"""Where the frames of a connection that give secrets stand in the captures: later runs find them there again, and none is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from stompcap.transport import layers, proxy
from stompcap.transport.carried import Carried
from stompcap.transport.keys import KeyLog, no_keys
from stompcap.transport.octets import read
from stompcap.transport.state import Stack
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

    def beginning(self, more: Stretches, segments: pa.Table, given: frozenset[bytes] | None) -> Connects:
        """These and what TCP has of a connection with layers, until it has `given` secrets: later runs read it through the layers again.

        Of more octets than a frame may have that is read again nothing is kept.
        """
        if not len(more) or int(self.stretches.length.sum() + more.length.sum()) > LARGEST:
            return self
        return replace(self.followed_by(replace(_of_frame(more, segments), frames=0)), frames=int(bool(given)))

    def passcodes(
        self, sources: Mapping[int, Source], names: stomp.SecretNames, stack: Stack = (), keys: Callable[[], KeyLog] = no_keys
    ) -> frozenset[bytes]:
        """The secrets given in them, where the captures are still there; what was kept of the octets of others has none.

        `stack` are the connection's layers, which are read with `keys`.
        """
        there = column(self.segments, "earlier") == NEW
        if not self.frames or not there.all():
            return frozenset()
        if layered(stack):
            return self._inside(sources, names, stack, keys)
        octets = read(self.stretches, self.segments, sources)
        rows = stomp.delimit(octets, Runs.whole(octets), names=names)
        return stomp.passcodes_of(octets, rows, names=names).get(0, frozenset())


    def _inside(
        self, sources: Mapping[int, Source], names: stomp.SecretNames, stack: Stack, keys: Callable[[], KeyLog]
    ) -> frozenset[bytes]:
        """The secrets in what the layers give."""
        stretches, lengths = self.stretches.in_order(), np.zeros((1, 2), np.int64)
        np.maximum.at(lengths, (stretches.stream, stretches.side), stretches.offset + stretches.length)
        found = Carried(stretches, lengths, np.ones((1, 2), np.bool_), np.zeros(1, np.bool_), self.segments, sources, keys=keys)
        stacks = dict[int, Stack]()
        for one in stack:
            found = layers.opened(found, np.zeros(1, np.int64), layers.of_kind(one.kind), stacks)
        secrets = frozenset[bytes]()
        for side in (0, 1):
            octets = found.read(found.stretches.take(found.stretches.side == side))
            rows = stomp.delimit(octets, Runs.whole(octets), names=names)
            secrets |= stomp.passcodes_of(octets, rows, names=names).get(0, frozenset())
        return secrets


def layered(stack: Stack) -> bool:
    """Whether what a connection says lies in no row of its segments."""
    return any(one.kind != proxy.KIND for one in stack)


def is_sealed(stack: Stack) -> bool:
    """Whether all that a connection says lies in TLS, behind headers of PROXY at most."""
    outermost = next((one.kind for one in stack if one.kind != proxy.KIND), None)
    return outermost == "tls"


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
