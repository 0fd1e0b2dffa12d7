"""The octets of segments that may be reassembled again in a later run, as tables show them: passcodes masked.

They stand in for those of the capture where it is gone by then. They have the same lengths, so that they are reassembled, delimited and
decoded as the ones captured.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stompcap import tcp
from stompcap.capture.files import Source
from stompcap.columns import I64, Bools, Octets, column
from stompcap.tcp.octets import captured_twice, copy_repeated, copy_runs
from stompcap.tcp.results import Extents, Reassembly
from stompcap.transport.stretches import Stretches


class KeptOctets:
    """Room for the octets of the rows of `segments` that are `held`; filled as they are shown.

    Rows that are `elsewhere` are held without them.
    """

    def __init__(self, segments: pa.Table, held: Bools, elsewhere: Bools | None = None) -> None:
        self.segments, self.held = segments, held
        here = held if elsewhere is None else held & ~elsewhere
        self._lengths: I64 = np.where(here, column(segments, "captured_octets"), 0)
        ends = np.cumsum(self._lengths)
        self._place: I64 = np.where(here, ends - self._lengths, -1)
        self._octets = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
        self._known = np.zeros(segments.num_rows, np.bool_)  # rows with an octet that was shown

    def take(self, stretches: Stretches, octets: Octets) -> None:
        """Take the octets of some stretches, back to back, as tables show them. Those that layers have opened lie in no segment."""
        begins = np.cumsum(stretches.length) - stretches.length
        within = np.flatnonzero(stretches.at < self._place.size)
        mine = within[self._place[stretches.at[within]] >= 0]
        targets = self._place[stretches.at[mine]] + stretches.skip[mine]
        copy_runs(octets, begins[mine], stretches.length[mine], targets, self._octets)
        self._known[stretches.at[mine]] = True

    def complete(self, reassembly: Reassembly, sources: Mapping[int, Source]) -> Extents:
        """Take what no table shows, octets captured again; returns those of them that equal the ones shown."""
        if not len(reassembly.overlaps):
            return reassembly.overlaps
        one, two = captured_twice(reassembly)
        both = np.flatnonzero((self._place[one.row] >= 0) & (self._place[two.row] >= 0))
        one, two = one.take(both), two.take(both)
        kept, repeated = (tcp.gather(part, self.segments, sources) for part in (one, two))
        at = np.cumsum(one.length) - one.length
        copy_repeated(self._octets, self._place[one.row] + one.skip, self._place[two.row] + two.skip, kept, repeated, at, one.length)
        self._known[two.row] = True
        return two.take(np.logical_and.reduceat(kept == repeated, at) if len(at) else both)

    def drop(self, rows: Bools) -> None:
        """Some rows are held without their octets."""
        self._known[rows] = False

    def payload(self, rows: I64) -> pa.Array:
        """The octets of rows, ascending and all between them that are held; null where none was shown: strays, copies, rows not held."""
        places = self._place[rows]
        begin = next(iter(places[places >= 0].tolist()), 0)
        offsets = begin + np.append(0, np.cumsum(self._lengths[rows])).astype(np.int32)
        validity = pa.array((self.held & self._known)[rows]).buffers()[1] if len(rows) else None
        return pa.Array.from_buffers(pa.binary(), len(rows), [validity, pa.py_buffer(offsets), pa.py_buffer(self._octets)])
